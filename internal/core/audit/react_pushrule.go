package audit

import (
	"context"

	"tenon/internal/core/namespace"
	"tenon/internal/core/pushrule"
)

// aboutPushRule describes what happened to a push rule; its terms say what it asks for now.
func aboutPushRule(e pushrule.Fact, event, message string) Entry {
	out := aboutProject(e.By, e.Place.Project, e.Place.Name, e.Place.Path, event, message)
	if e.Place.Group != 0 {
		out = group(e.By, &namespace.Group{ID: e.Place.Group, Name: e.Place.Name, FullPath: e.Place.Path}, event, message)
	}
	out.TargetType, out.TargetID = "PushRule", int64(e.Rule.ID)
	t := e.Rule.Terms
	out.Details = map[string]any{
		"commit_message_regex": t.MessageRegex, "commit_message_negative_regex": t.MessageNegative, "branch_name_regex": t.BranchRegex,
		"author_email_regex": t.EmailRegex, "file_name_regex": t.FileRegex, "max_file_size": t.MaxFileSize,
		"deny_delete_tag": t.DenyDeleteTag, "member_check": t.MemberCheck, "prevent_secrets": t.PreventSecrets,
		"commit_committer_check": t.CommitterCheck, "commit_committer_name_check": t.CommitterName,
		"reject_unsigned_commits": t.RejectUnsigned, "reject_non_dco_commits": t.RejectWithoutDCO,
	}
	return out
}

// PushRuleCreated records a new push rule.
func (r *Recorder) PushRuleCreated(ctx context.Context, e pushrule.Created) error {
	return r.Record(ctx, aboutPushRule(e.Fact, "push_rule_created", "Added push rule"))
}

// PushRuleUpdated records what a push rule says now.
func (r *Recorder) PushRuleUpdated(ctx context.Context, e pushrule.Updated) error {
	return r.Record(ctx, aboutPushRule(e.Fact, "push_rule_updated", "Changed push rule"))
}

// PushRuleDeleted records that a push rule is gone.
func (r *Recorder) PushRuleDeleted(ctx context.Context, e pushrule.Deleted) error {
	return r.Record(ctx, aboutPushRule(e.Fact, "push_rule_removed", "Removed push rule"))
}

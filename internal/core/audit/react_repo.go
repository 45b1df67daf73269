package audit

import (
	"context"
	"fmt"
	"strings"

	"tenon/internal/core/protection"
)

// aboutRule describes what happened to a protection rule.
func aboutRule(e protection.Event, kind, event, message string) Entry {
	out := aboutProject(e.By, e.ProjectID, e.Rule.Name, e.FullPath, event, message)
	out.TargetType, out.TargetID = kind, int64(e.Rule.ID)
	return out
}

// roles gives the words for the levels that a rule has for an action.
func roles(r *protection.Rule, action string) []string {
	out := []string{}
	for _, l := range r.Levels {
		switch {
		case l.Action != action:
		case l.UserID != nil:
			out = append(out, fmt.Sprintf("user %d", *l.UserID))
		case l.GroupID != nil:
			out = append(out, fmt.Sprintf("group %d", *l.GroupID))
		case l.DeployKeyID != nil:
			out = append(out, fmt.Sprintf("deploy key %d", *l.DeployKeyID))
		case l.Level != nil:
			out = append(out, protection.LevelWords(*l.Level))
		}
	}
	return out
}

// branchRule adds the state of a rule for branches.
func branchRule(e protection.Event, event, verb string) Entry {
	push, merge := roles(&e.Rule, protection.ActionPush), roles(&e.Rule, protection.ActionMerge)
	out := aboutRule(e, "ProtectedBranch", event, fmt.Sprintf(
		"%s protected branch with [allowed to push: [%s], allowed to merge: [%s], allow force push: %t, code owner approval required: %t]",
		verb, strings.Join(push, ", "), strings.Join(merge, ", "), e.Rule.AllowForcePush, e.Rule.CodeOwners))
	out.Details = map[string]any{
		"push_access_levels": push, "merge_access_levels": merge,
		"allow_force_push": e.Rule.AllowForcePush, "code_owner_approval_required": e.Rule.CodeOwners,
	}
	return out
}

// BranchProtected records a new rule for branches.
func (r *Recorder) BranchProtected(ctx context.Context, e protection.BranchProtected) error {
	return r.Record(ctx, branchRule(e.Event, "protected_branch_created", "Added"))
}

// BranchProtectionUpdated records what a rule for branches says now.
func (r *Recorder) BranchProtectionUpdated(ctx context.Context, e protection.BranchProtectionUpdated) error {
	return r.Record(ctx, branchRule(e.Event, "protected_branch_updated", "Changed"))
}

// BranchUnprotected records that a rule for branches is gone.
func (r *Recorder) BranchUnprotected(ctx context.Context, e protection.BranchUnprotected) error {
	out := branchRule(e.Event, "protected_branch_removed", "")
	out.Message = "Unprotected branch"
	return r.Record(ctx, out)
}

// TagProtected records a new rule for tags.
func (r *Recorder) TagProtected(ctx context.Context, e protection.TagProtected) error {
	out := aboutRule(e.Event, "ProtectedTag", "protected_tag_created", "Added protected tag")
	out.Details = map[string]any{"create_access_levels": roles(&e.Rule, protection.ActionCreateTag)}
	return r.Record(ctx, out)
}

// TagUnprotected records that a rule for tags is gone.
func (r *Recorder) TagUnprotected(ctx context.Context, e protection.TagUnprotected) error {
	return r.Record(ctx, aboutRule(e.Event, "ProtectedTag", "protected_tag_removed", "Unprotected tag"))
}

package audit

import (
	"context"
	"strconv"

	"tenon/internal/core/approval"
)

// ApprovalRuleCreated records a new rule.
func (r *Recorder) ApprovalRuleCreated(ctx context.Context, e approval.RuleCreated) error {
	return r.Record(ctx, approvalRule(e.RuleFact, "approval_rule_created", "Added approval rule with number of required approvals of "+strconv.FormatInt(e.Rule.Required, 10)))
}

// ApprovalRuleUpdated records another name or number of approvals of a rule.
func (r *Recorder) ApprovalRuleUpdated(ctx context.Context, e approval.RuleUpdated) error {
	out := approvalRule(e.RuleFact, "approval_rule_updated", "Changed number of required approvals from "+
		strconv.FormatInt(e.Before.Required, 10)+" to "+strconv.FormatInt(e.Rule.Required, 10))
	out.Details = map[string]any{"change": "number of required approvals", "from": e.Before.Required, "to": e.Rule.Required}
	return r.Record(ctx, out)
}

// ApprovalRuleDeleted records the end of a rule.
func (r *Recorder) ApprovalRuleDeleted(ctx context.Context, e approval.RuleDeleted) error {
	return r.Record(ctx, approvalRule(e.RuleFact, "approval_rule_deleted", "Deleted approval rule"))
}

func approvalRule(e approval.RuleFact, event, message string) Entry {
	out := aboutProject(e.By, e.Project.ID, e.Rule.Name, e.Project.FullPath, event, message)
	out.TargetType, out.TargetID = "ApprovalRule", int64(e.Rule.ID)
	return out
}

// ApprovalSettingsChanged records each setting of approvals that changed.
func (r *Recorder) ApprovalSettingsChanged(ctx context.Context, e approval.SettingsChanged) error {
	for _, c := range []struct {
		what     string
		old, now bool
	}{
		{"prevent merge request approval from authors", !e.Before.AuthorApproval.On, !e.After.AuthorApproval.On},
		{"prevent merge request approval from committers", !e.Before.CommitterApproval.On, !e.After.CommitterApproval.On},
		{"require new approvals when new commits are added to an MR", !e.Before.RetainOnPush.On, !e.After.RetainOnPush.On},
		{"prevent users from modifying MR approval rules in merge requests", !e.Before.Overrides.On, !e.After.Overrides.On},
		{"require user password for approvals", e.Before.RequirePassword.On, e.After.RequirePassword.On},
	} {
		if c.old == c.now {
			continue
		}
		out := Entry{
			By: e.By, EntityType: Project, EntityID: e.Place.ID, EntityPath: e.Place.Path, Event: "project_merge_request_approval_setting_updated",
			TargetType: Project, TargetID: e.Place.ID, TargetDetails: e.Place.Path,
			Message: "Changed " + c.what + " from " + strconv.FormatBool(c.old) + " to " + strconv.FormatBool(c.now),
			Details: map[string]any{"change": c.what, "from": c.old, "to": c.now},
		}
		if e.Place.Group {
			out.EntityType, out.TargetType, out.Event = Group, Group, "group_merge_request_approval_setting_updated"
		}
		if err := r.Record(ctx, out); err != nil {
			return err
		}
	}
	return nil
}

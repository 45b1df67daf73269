package audit

import (
	"context"
	"strconv"

	"tenon/internal/core/approval"
)

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

package audit

import (
	"context"

	"tenon/internal/core/namespace"
)

// GroupShared records that a group was invited into a group or project.
func (r *Recorder) GroupShared(ctx context.Context, e namespace.GroupShared) error {
	out := at(e.Place)
	out.By, out.TargetType, out.TargetID, out.TargetDetails = e.By, Group, int64(e.GroupID), e.GroupName
	out.Event, out.Message = "project_group_link_created", "Added project group link"
	if e.Place.Group {
		out.Event, out.Message = "group_share_with_group_link_created", "Invited "+e.GroupName+" to the group "+e.Place.Name
	}
	out.Details = map[string]any{"add": "group_access", "as": e.Level.Name(), "invite_expiry": e.Expiry}
	return r.Record(ctx, out)
}

// GroupUnshared records that the invitation of a group was taken back.
func (r *Recorder) GroupUnshared(ctx context.Context, e namespace.GroupUnshared) error {
	out := at(e.Place)
	out.By, out.TargetType, out.TargetID, out.TargetDetails = e.By, Group, int64(e.GroupID), e.GroupName
	out.Event, out.Message = "project_group_link_deleted", "Removed project group link"
	if e.Place.Group {
		out.Event, out.Message = "group_share_with_group_link_removed", "Removed "+e.GroupName+" from the group "+e.Place.Name
	}
	out.Details = map[string]any{"remove": "group_access"}
	return r.Record(ctx, out)
}

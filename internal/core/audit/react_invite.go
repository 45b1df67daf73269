package audit

import (
	"context"

	"tenon/internal/core/namespace"
)

// AccessDenied records that a request for membership was turned down or taken back.
func (r *Recorder) AccessDenied(ctx context.Context, e namespace.AccessDenied) error {
	out := at(e.Place)
	out.By, out.TargetID = e.By, int64(e.UserID)
	out.Event, out.Message = "access_request_denied", "Access request denied"
	if e.By.UserID == e.UserID {
		out.Event, out.Message = "access_request_withdrawn", "Access request withdrawn"
	}
	return r.Record(ctx, out)
}

// Invited records that an address was invited, or is invited to something else now.
func (r *Recorder) Invited(ctx context.Context, e namespace.Invited) error {
	out := at(e.Place)
	out.By, out.TargetDetails = e.By, e.Email
	out.Event, out.Message = "member_invited", "Membership offered"
	out.Details = map[string]any{"add": "user_access", "as": e.Level.Name()}
	return r.Record(ctx, out)
}

// InvitationRemoved records that an invitation was taken back.
func (r *Recorder) InvitationRemoved(ctx context.Context, e namespace.InvitationRemoved) error {
	out := at(e.Place)
	out.By, out.TargetDetails = e.By, e.Email
	out.Event, out.Message = "member_invitation_removed", "Invitation taken back"
	return r.Record(ctx, out)
}

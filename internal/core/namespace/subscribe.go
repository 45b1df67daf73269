package namespace

import (
	"context"

	"tenon/internal/base/event"
	"tenon/internal/core/account"
)

// Subscribe registers what happens in groups when something else happens.
func (s *Service) Subscribe(b *event.Bus) {
	const name = "invitations"
	event.On(b, name, func(ctx context.Context, e account.UserCreated) error { return s.AcceptInvitations(ctx, e.Row().ID) })
	event.On(b, name, func(ctx context.Context, e account.UserUpdated) error { return s.AcceptInvitations(ctx, e.Row().ID) })
	event.On(b, name, func(ctx context.Context, e account.AddressAdded) error {
		if !e.Confirmed {
			return nil
		}
		return s.AcceptInvitations(ctx, e.UserID)
	})
}

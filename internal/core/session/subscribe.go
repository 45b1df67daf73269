package session

import (
	"context"

	"tenon/internal/base/event"
	"tenon/internal/core/account"
	"tenon/internal/core/authz"
)

// Subscribe registers when sessions end by themselves: all of a user with a new password,
// with the end of the right to act, and with the account.
func (s *Service) Subscribe(b *event.Bus) {
	const name = "sessions"
	event.On(b, name, func(ctx context.Context, e account.UserUpdated) error {
		if !e.NewPassword {
			return nil
		}
		return s.clear(ctx, e.Row().ID)
	})
	event.On(b, name, func(ctx context.Context, e account.UserStateChanged) error {
		if e.Row().State == account.Active {
			return nil
		}
		return s.clear(ctx, e.Row().ID)
	})
	event.On(b, name, func(ctx context.Context, e account.UserRemoved) error { return s.clear(ctx, e.Row().ID) })
}

// clear ends every session of a user.
func (s *Service) clear(ctx context.Context, user authz.UserID) error {
	_, err := s.DB.Exec(ctx, "DELETE FROM sessions WHERE user_id = ?", user)
	return err
}

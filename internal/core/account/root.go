package account

import (
	"context"
	"fmt"

	"tenon/internal/base/db"
	"tenon/internal/core/authz"
)

// EnsureRoot makes the first administrator, user 1, where there is no user yet, and calls
// also in the same transaction. It reports whether it did; otherwise nothing is changed.
func (s *Service) EnsureRoot(ctx context.Context, password string, also func(ctx context.Context, root authz.UserID) error) (bool, error) {
	if some, err := s.populated(ctx); err != nil || some {
		return false, err
	}
	hash, err := s.Hasher.Hash(ctx, password)
	if err != nil {
		return false, fmt.Errorf("hash password: %w", err)
	}
	input := Input{Email: "admin@example.com", Username: "root", Name: "Administrator", Admin: true}
	made := false
	err = s.DB.InTx(ctx, func(ctx context.Context) error {
		made = false
		if err := s.DB.Lock(ctx, "first administrator"); err != nil {
			return err
		}
		if some, err := s.populated(ctx); err != nil || some {
			return err
		}
		row := s.row(authz.System(), &input)
		row.PasswordHash = hash
		id, err := s.insert(ctx, authz.System(), row, &input, true)
		if err != nil {
			return err
		}
		if err := also(ctx, id); err != nil {
			return err
		}
		made = true
		return nil
	})
	if err != nil {
		return false, fmt.Errorf("create first administrator: %w", err)
	}
	return made, nil
}

func (s *Service) populated(ctx context.Context) (bool, error) {
	some, err := db.Get[bool](ctx, s.DB, "SELECT EXISTS (SELECT 1 FROM users)")
	if err != nil {
		return false, fmt.Errorf("look for users: %w", err)
	}
	return some, nil
}

package account

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/core/authz"
)

// SetAvatar writes down the name of a user's picture, "" for none, in the transaction of
// ctx. It asks for no permission.
func (s *Service) SetAvatar(ctx context.Context, id authz.UserID, name string) error {
	_, err := s.change(ctx, s.userAt(id), func(_ context.Context, row *userRow) error {
		row.Avatar = name
		return nil
	})
	return errs.Wrap(err, "set avatar of user")
}

// WithPublicEmail returns the summary of the user who shows this address to everybody, nil
// where no user does.
func (s *Service) WithPublicEmail(ctx context.Context, as authz.Actor, email string) (*User, error) {
	if err := s.Policy.Require(ctx, as, authz.ListUsers, authz.Subject{}); err != nil {
		return nil, err
	}
	u, err := db.Get[User](ctx, s.DB, "SELECT "+summaryColumns+fromUsers+
		" WHERE u.id = (SELECT MIN(id) FROM users WHERE public_email = ?)", strings.ToLower(strings.TrimSpace(email)))
	if errors.Is(err, db.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("find user by public address: %w", err)
	}
	return &u, nil
}

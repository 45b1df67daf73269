package account

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"tenon/internal/base/db"
	"tenon/internal/core/authz"
)

// Proved returns the addresses that are a user's beyond doubt, folded: the confirmed ones
// and the private one. It asks for no permission.
func (s *Service) Proved(ctx context.Context, id authz.UserID) ([]string, error) {
	list, err := db.Select[string](ctx, s.DB, "SELECT email_fold FROM emails WHERE user_id = ? AND confirmed_at IS NOT NULL ORDER BY id", id)
	if err != nil {
		return nil, fmt.Errorf("confirmed addresses: %w", err)
	}
	username, err := db.Get[string](ctx, s.DB, "SELECT username FROM users WHERE id = ?", id)
	switch {
	case errors.Is(err, db.ErrNotFound):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("read username: %w", err)
	}
	u := User{ID: id, Username: username}
	return append(list, db.Fold(u.PrivateAddress(s.CommitHost()))), nil
}

// ByProved finds the user whose address it is beyond doubt, zero where it is for no user. A
// private address counts whatever the user was called when it was used. It asks for no
// permission.
func (s *Service) ByProved(ctx context.Context, address string) (authz.UserID, error) {
	condition, arg := "id IN (SELECT e.user_id FROM emails e WHERE e.email_fold = ? AND e.confirmed_at IS NOT NULL)", any(db.Fold(address))
	if local, host, ok := strings.Cut(address, "@"); ok && strings.EqualFold(host, s.CommitHost()) {
		digits, _, _ := strings.Cut(local, "-")
		n, err := strconv.ParseInt(digits, 10, 64)
		if err != nil {
			return 0, nil
		}
		condition, arg = "id = ?", authz.UserID(n)
	}
	id, err := db.Get[authz.UserID](ctx, s.DB, "SELECT id FROM users WHERE "+condition+" ORDER BY id LIMIT 1", arg)
	if errors.Is(err, db.ErrNotFound) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("find user by address: %w", err)
	}
	return id, nil
}

package token

import (
	"context"
	"errors"

	"tenon/internal/base/secret"
	"tenon/internal/core/authz"
)

// RootInput is what the first administrator signs on with.
type RootInput struct {
	Password string // at least one character
	Token    string // 20 characters or more; any text will do
}

// ErrRootInput is the answer to a root password or token that cannot be used.
var ErrRootInput = errors.New("the administrator's password must not be empty and the token must have 20 to 512 printable characters")

// EnsureRoot makes the first administrator, user 1, with a token that holds every scope,
// where there is no user yet. It reports whether it did; otherwise nothing is changed.
func (s *Service) EnsureRoot(ctx context.Context, in RootInput) (bool, error) {
	if in.Password == "" || len(in.Password) > secret.MaxPassword || !plausible(in.Token) {
		return false, ErrRootInput
	}
	return s.Accounts.EnsureRoot(ctx, in.Password, func(ctx context.Context, root authz.UserID) error {
		_, err := s.keep(ctx, authz.System(), s.token(Personal, root, "initial root token", authz.AllScopes()), in.Token)
		return err
	})
}

// plausible reports whether a text can be sent as a token at all.
func plausible(token string) bool {
	if len(token) < 20 || len(token) > secret.MaxToken {
		return false
	}
	for i := range len(token) {
		if token[i] <= ' ' || token[i] >= 0x7f {
			return false
		}
	}
	return true
}

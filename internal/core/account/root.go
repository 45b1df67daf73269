package account

import (
	"context"
	"errors"
	"fmt"

	"tenon/internal/base/db"
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
	if some, err := s.populated(ctx); err != nil || some {
		return false, err
	}
	hash, err := s.Hasher.Hash(ctx, in.Password)
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
		token := s.token(PersonalToken, id, "initial root token", authz.AllScopes())
		if _, err := s.keep(ctx, authz.System(), token, in.Token); err != nil {
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

// plausible reports whether a text can be sent as a token at all.
func plausible(token string) bool {
	if len(token) < 20 || len(token) > maxSecret {
		return false
	}
	for i := range len(token) {
		if token[i] <= ' ' || token[i] >= 0x7f {
			return false
		}
	}
	return true
}

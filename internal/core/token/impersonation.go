package token

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/base/page"
	"tenon/internal/core/authz"
)

// ListImpersonations returns the impersonation tokens of the user that the filter names.
// Only administrators may.
func (s *Service) ListImpersonations(ctx context.Context, as authz.Actor, user authz.UserID, f Filter) (page.Page[*Token], error) {
	if err := s.requireUser(ctx, as, user); err != nil {
		return page.Page[*Token]{}, err
	}
	f.UserID, f.impersonation = &user, true
	return s.listTokens(ctx, f)
}

// FindImpersonation returns an impersonation token of a user. Only administrators may.
func (s *Service) FindImpersonation(ctx context.Context, as authz.Actor, user authz.UserID, id ID) (*Token, error) {
	if err := s.requireUser(ctx, as, user); err != nil {
		return nil, err
	}
	t, err := db.Get[Token](ctx, s.DB, "SELECT "+db.Columns[Token]("t")+
		" FROM access_tokens t WHERE t.id = ? AND t.user_id = ? AND t.kind = ?", id, user, Impersonation)
	if errors.Is(err, db.ErrNotFound) {
		return nil, errs.Missing("Impersonation Token")
	}
	if err != nil {
		return nil, fmt.Errorf("read impersonation token: %w", err)
	}
	return s.refreshed(&t), nil
}

// CreateImpersonation makes a token with which administrators act as a user, who does
// not see it. The second result is the secret: it is shown once and not kept.
func (s *Service) CreateImpersonation(ctx context.Context, as authz.Actor, user authz.UserID, in Input) (*Token, string, error) {
	if err := s.requireUser(ctx, as, user); err != nil {
		return nil, "", err
	}
	if problems := s.tokenProblems(&in); len(problems) > 0 {
		return nil, "", problems.Err()
	}
	return s.createToken(ctx, as, Impersonation, user, in)
}

// RevokeImpersonation makes an impersonation token useless at once. Only administrators
// may. One that is revoked already stays so.
func (s *Service) RevokeImpersonation(ctx context.Context, as authz.Actor, user authz.UserID, id ID) error {
	t, err := s.FindImpersonation(ctx, as, user, id)
	if err != nil {
		return err
	}
	err = s.DB.InTx(ctx, func(ctx context.Context) error {
		_, err := s.revoke(ctx, as, t)
		return err
	})
	if err != nil {
		return fmt.Errorf("revoke impersonation token: %w", err)
	}
	return nil
}

// requireUser checks that the actor looks after users, and that there is this one.
func (s *Service) requireUser(ctx context.Context, as authz.Actor, user authz.UserID) error {
	if err := s.Policy.Require(ctx, as, authz.AdminUsers, authz.Subject{}); err != nil {
		return err
	}
	_, err := s.Accounts.ActorFor(ctx, strconv.FormatInt(int64(user), 10))
	return err
}

package token

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/base/page"
	"tenon/internal/core/account"
	"tenon/internal/core/authz"
)

// maxServiceTokens is how many tokens of a service account there may be that are not revoked.
const maxServiceTokens = 1_000

// terms says what holds for a new token of a user: how many tokens there may be, and whether it needs a last day.
func (s *Service) terms(ctx context.Context, as authz.Actor, user authz.UserID) (bounds []db.Bound, expires bool, err error) {
	expires = s.NeedsExpiry()
	if as.Is(user) && !as.Bot {
		return nil, expires, nil // no service account
	}
	users, err := s.Accounts.Load(ctx, []authz.UserID{user})
	if err != nil {
		return nil, false, err
	}
	if u := users[user]; u == nil || u.Type != account.ServiceAccount {
		return nil, expires, nil
	}
	full := errs.New(errs.Unprocessable, fmt.Sprintf("Maximum number of access tokens (%d) exceeded", maxServiceTokens))
	bound := db.Bound{Table: "access_tokens", Most: maxServiceTokens, Full: full}
	bound.Of.And("user_id = ?", user)
	bound.Of.Raw("NOT revoked")
	expires, err = s.serviceTokensExpire(ctx, user)
	return []db.Bound{bound}, expires, err
}

// serviceTokensExpire reports whether the tokens of a service account need a last day: where there is a longest life, where the instance
// asks for it, and where the account's group does.
func (s *Service) serviceTokensExpire(ctx context.Context, user authz.UserID) (bool, error) {
	set := s.Settings.Current()
	if set.ServiceAccessTokensExpirationEnforced || set.MaxPersonalAccessTokenLifetime != nil && *set.MaxPersonalAccessTokenLifetime > 0 {
		return true, nil
	}
	text, err := db.Get[string](ctx, s.DB, `SELECT g.settings FROM users u JOIN groups g ON g.namespace_id = u.provisioned_by_group_id WHERE u.id = ?`, user)
	if errors.Is(err, db.ErrNotFound) || err == nil && text == "" {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("read group of service account: %w", err)
	}
	var group struct {
		Expire bool `json:"service_access_tokens_expiration_enforced"`
	}
	if err := json.Unmarshal([]byte(text), &group); err != nil {
		return false, fmt.Errorf("read settings of group: %w", err)
	}
	return group.Expire, nil
}

// OfServiceAccount lists the tokens of a service account. It asks for no permission.
func (s *Service) OfServiceAccount(ctx context.Context, user authz.UserID, f Filter) (page.Page[*Token], error) {
	f.UserID = &user
	return s.listTokens(ctx, f)
}

// FindOfServiceAccount finds one of OfServiceAccount. It asks for no permission.
func (s *Service) FindOfServiceAccount(ctx context.Context, user authz.UserID, id ID) (*Token, error) {
	t, err := db.Get[Token](ctx, s.DB, "SELECT "+db.Columns[Token]("t")+" FROM access_tokens t WHERE t.id = ? AND t.user_id = ? AND t.kind = ?", id, user, Personal)
	if errors.Is(err, db.ErrNotFound) {
		return nil, errs.Missing("Personal Access Token")
	}
	if err != nil {
		return nil, fmt.Errorf("read token: %w", err)
	}
	return s.refreshed(&t), nil
}

// CreateForServiceAccount makes a token of a service account. It asks for no permission. The second result is the secret: it is shown once and not kept.
func (s *Service) CreateForServiceAccount(ctx context.Context, as authz.Actor, user authz.UserID, in Input) (*Token, string, error) {
	if err := s.checkToken(&in); err != nil {
		return nil, "", err
	}
	return s.createToken(ctx, as, Personal, user, in)
}

// RotateOfServiceAccount is Rotate for one of OfServiceAccount. It asks for no permission.
func (s *Service) RotateOfServiceAccount(ctx context.Context, as authz.Actor, user authz.UserID, id ID, day *string) (*Token, string, error) {
	old, err := s.FindOfServiceAccount(ctx, user, id)
	if err != nil {
		return nil, "", err
	}
	return s.rotate(ctx, as, old, day)
}

// RevokeOfServiceAccount is Revoke for one of OfServiceAccount. It asks for no permission.
func (s *Service) RevokeOfServiceAccount(ctx context.Context, as authz.Actor, user authz.UserID, id ID) error {
	t, err := s.FindOfServiceAccount(ctx, user, id)
	if err != nil {
		return err
	}
	return s.revokeOne(ctx, as, t)
}

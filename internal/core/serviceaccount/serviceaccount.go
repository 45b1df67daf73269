// Package serviceaccount lets administrators and owners of groups look after service accounts: users for programs,
// which sign on with tokens alone.
package serviceaccount

import (
	"context"

	"tenon/internal/base/errs"
	"tenon/internal/base/job"
	"tenon/internal/base/page"
	"tenon/internal/core/account"
	"tenon/internal/core/authz"
	"tenon/internal/core/token"
)

// Deps is what a Service is made of.
type Deps struct {
	Policy   *authz.Policy
	Accounts *account.Service
	Tokens   *token.Service
	Jobs     job.Enqueuer
}

// Service looks after the service accounts of the instance, whose place is the zero value, and of top-level groups.
type Service struct {
	Deps
}

// New builds the service.
func New(d Deps) *Service {
	return &Service{Deps: d}
}

// require asks for an ability of the instance or of a top-level group. Another group is a BadRequest.
func (s *Service) require(ctx context.Context, as authz.Actor, at authz.Place, instance, group authz.Ability) error {
	if !at.Group {
		return s.Policy.Require(ctx, as, instance, authz.Subject{})
	}
	if err := s.Policy.Require(ctx, as, group, at.Subject); err != nil {
		return err
	}
	if at.Parent != nil {
		return errs.Bad("Service accounts belong to top-level groups")
	}
	return nil
}

func (s *Service) mayRead(ctx context.Context, as authz.Actor, at authz.Place) error {
	return s.require(ctx, as, at, authz.ReadServiceAccounts, authz.ReadGroupServiceAccounts)
}

func (s *Service) mayAdmin(ctx context.Context, as authz.Actor, at authz.Place) error {
	return s.require(ctx, as, at, authz.AdminServiceAccounts, authz.AdminGroupServiceAccounts)
}

// of returns the account that an actor may change or sign on as. One that an administrator gave more rights than a
// group has is only for administrators, so that no owner gets these rights with a token.
func (s *Service) of(ctx context.Context, as authz.Actor, at authz.Place, id authz.UserID) (*account.ServiceUser, error) {
	if err := s.mayAdmin(ctx, as, at); err != nil {
		return nil, err
	}
	u, err := s.Accounts.ServiceAccount(ctx, at.Namespace, id)
	if err != nil {
		return nil, err
	}
	if u.Powerful && !as.Admin {
		return nil, errs.Denied("")
	}
	return u, nil
}

// List lists the service accounts of a place, newest first unless the filter says otherwise.
func (s *Service) List(ctx context.Context, as authz.Actor, at authz.Place, f account.ServiceFilter) (page.Page[account.ServiceUser], error) {
	if err := s.mayRead(ctx, as, at); err != nil {
		return page.Page[account.ServiceUser]{}, err
	}
	return s.Accounts.ServiceAccounts(ctx, at.Namespace, f)
}

// Create makes a service account.
func (s *Service) Create(ctx context.Context, as authz.Actor, at authz.Place, in account.ServiceInput) (*account.ServiceUser, error) {
	if err := s.mayAdmin(ctx, as, at); err != nil {
		return nil, err
	}
	return s.Accounts.CreateServiceAccount(ctx, as, at.Namespace, in)
}

// Update changes a service account.
func (s *Service) Update(ctx context.Context, as authz.Actor, at authz.Place, id authz.UserID, c account.ServiceChanges) (*account.ServiceUser, error) {
	if _, err := s.of(ctx, as, at, id); err != nil {
		return nil, err
	}
	return s.Accounts.UpdateServiceAccount(ctx, as, at.Namespace, id, c)
}

// Delete bars a service account at once and removes it in the background.
func (s *Service) Delete(ctx context.Context, as authz.Actor, at authz.Place, id authz.UserID, how account.Removal) error {
	if _, err := s.of(ctx, as, at, id); err != nil {
		return err
	}
	return s.Accounts.RemoveServiceAccount(ctx, as, at.Namespace, id, how)
}

// ListTokens lists the tokens of a service account of a group.
func (s *Service) ListTokens(ctx context.Context, as authz.Actor, at authz.Place, id authz.UserID, f token.Filter) (page.Page[*token.Token], error) {
	if err := s.mayRead(ctx, as, at); err != nil {
		return page.Page[*token.Token]{}, err
	}
	if _, err := s.Accounts.ServiceAccount(ctx, at.Namespace, id); err != nil {
		return page.Page[*token.Token]{}, err
	}
	return s.Tokens.OfServiceAccount(ctx, id, f)
}

// CreateToken makes a token of a service account. The second result is the secret: it is shown once and not kept. Scopes that act
// as an administrator are for administrators.
func (s *Service) CreateToken(ctx context.Context, as authz.Actor, at authz.Place, id authz.UserID, in token.Input) (*token.Token, string, error) {
	if _, err := s.of(ctx, as, at, id); err != nil {
		return nil, "", err
	}
	if !as.Admin && in.Scopes.Has(authz.ScopeSudo, authz.ScopeAdminMode) {
		return nil, "", errs.New(errs.Unprocessable, "Scopes can only contain available scopes")
	}
	return s.Tokens.CreateForServiceAccount(ctx, as, id, in)
}

// RotateToken replaces a token by a new one with the same rights and returns the new secret. day is its last day, nil for a week.
func (s *Service) RotateToken(ctx context.Context, as authz.Actor, at authz.Place, id authz.UserID, which token.ID, day *string) (*token.Token, string, error) {
	if _, err := s.of(ctx, as, at, id); err != nil {
		return nil, "", err
	}
	return s.Tokens.RotateOfServiceAccount(ctx, as, id, which, day)
}

// RevokeToken makes a token of a service account useless at once. One that is revoked already is a BadRequest.
func (s *Service) RevokeToken(ctx context.Context, as authz.Actor, at authz.Place, id authz.UserID, which token.ID) error {
	if _, err := s.of(ctx, as, at, id); err != nil {
		return err
	}
	return s.Tokens.RevokeOfServiceAccount(ctx, as, id, which)
}

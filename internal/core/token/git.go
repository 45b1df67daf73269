package token

import (
	"context"
	"errors"
	"strings"

	"tenon/internal/base/errs"
	"tenon/internal/base/secret"
	"tenon/internal/core/authz"
)

// GitAccess is what a credential allows with repositories, whatever the actor's role.
type GitAccess struct {
	Read  bool
	Write bool
}

// AuthenticateGit judges name and password of HTTP Basic, which came from an address: what AuthenticateGitToken takes,
// or a person's name and password where the settings allow that. Everything that does not
// fit is Unauthorized.
func (s *Service) AuthenticateGit(ctx context.Context, name, password, from string) (authz.Actor, GitAccess, error) {
	as, access, err := s.AuthenticateGitToken(ctx, name, password, from)
	switch {
	case !errs.Is(err, errs.Unauthorized) || known(err) || name == "" || password == "":
		return as, access, err
	case !s.Settings.Current().PasswordAuthenticationEnabledForGit || secret.Has(password, secret.DeployTokenPrefix) || s.looksLikeToken(password):
		return authz.Actor{}, GitAccess{}, err
	}
	as, err = s.Accounts.AuthenticatePassword(ctx, name, password, from)
	if err != nil {
		return authz.Actor{}, GitAccess{}, err
	}
	return as, GitAccess{Read: true, Write: true}, nil
}

// AuthenticateGitToken judges name and secret of HTTP Basic: any name with an access token
// whose scopes reach repositories, or the name that goes with a deploy token which reads
// them. Everything that does not fit is Unauthorized.
func (s *Service) AuthenticateGitToken(ctx context.Context, name, password, _ string) (authz.Actor, GitAccess, error) {
	if name == "" || password == "" {
		return authz.Actor{}, GitAccess{}, errs.New(errs.Unauthorized, "")
	}
	if secret.Has(password, secret.DeployTokenPrefix) {
		as, scopes, err := s.AuthenticateDeploy(ctx, name, password)
		switch {
		case err != nil:
			return authz.Actor{}, GitAccess{}, err
		case !scopes.Has(authz.ScopeReadRepository):
			return authz.Actor{}, GitAccess{}, errs.New(errs.Unauthorized, "")
		}
		return as, GitAccess{Read: true}, nil
	}
	as, t, err := s.Authenticate(ctx, password)
	if err != nil {
		return authz.Actor{}, GitAccess{}, err
	}
	scopes := t.Scopes()
	access := GitAccess{
		Read:  scopes.Has(authz.ScopeAPI, authz.ScopeReadAPI, authz.ScopeReadRepository, authz.ScopeWriteRepository),
		Write: scopes.Has(authz.ScopeAPI, authz.ScopeWriteRepository),
	}
	if !access.Read {
		return authz.Actor{}, GitAccess{}, &errs.Error{Kind: errs.Unauthorized, Err: errScope}
	}
	return as, access, nil
}

// errScope is why a good token is refused that is for something else.
var errScope = errors.New("token does not reach repositories")

// known reports whether a refusal is of a token that exists.
func known(err error) bool {
	return errors.Is(err, errScope) || errors.Is(err, ErrExpired) || errors.Is(err, ErrRevoked) || errors.Is(err, ErrNoImpersonation)
}

// looksLikeToken saves the price of a password's hash for tokens that are of no use.
func (s *Service) looksLikeToken(text string) bool {
	for _, prefix := range []string{s.Settings.Current().AccessTokenPrefix(), secret.AccessTokenPrefix} {
		if prefix != "" && len(text) == len(prefix)+20 && strings.HasPrefix(text, prefix) {
			return true
		}
	}
	return false
}

package account

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/base/secret"
	"tenon/internal/core/authz"
)

// GitAccess is what a credential allows with repositories, whatever the actor's role.
type GitAccess struct {
	Read  bool
	Write bool
}

// undecided says why a password was not looked at.
func undecided(err error) error {
	if errors.Is(err, secret.ErrBusy) {
		return &errs.Error{Kind: errs.Unavailable, Message: "Too many sign-ons at once. Please try again later.", Err: err}
	}
	return fmt.Errorf("verify password: %w", err)
}

// AuthenticateGit judges name and password of HTTP Basic: what AuthenticateGitToken takes,
// or a person's name and password where the settings allow that. Everything that does not
// fit is Unauthorized.
func (s *Service) AuthenticateGit(ctx context.Context, name, password string) (authz.Actor, GitAccess, error) {
	as, access, err := s.AuthenticateGitToken(ctx, name, password)
	switch {
	case !errs.Is(err, errs.Unauthorized) || known(err) || name == "" || password == "":
		return as, access, err
	case !s.Settings.Current().PasswordAuthenticationEnabledForGit || strings.HasPrefix(password, secret.DeployTokenPrefix) || s.looksLikeToken(password):
		return authz.Actor{}, GitAccess{}, err
	}
	as, err = s.AuthenticatePassword(ctx, name, password)
	if err != nil {
		return authz.Actor{}, GitAccess{}, err
	}
	return as, GitAccess{Read: true, Write: true}, nil
}

// AuthenticateGitToken judges name and secret of HTTP Basic: any name with an access token
// whose scopes reach repositories, or the name that goes with a deploy token which reads
// them. Everything that does not fit is Unauthorized.
func (s *Service) AuthenticateGitToken(ctx context.Context, name, password string) (authz.Actor, GitAccess, error) {
	if name == "" || password == "" {
		return authz.Actor{}, GitAccess{}, errs.New(errs.Unauthorized, "")
	}
	if strings.HasPrefix(password, secret.DeployTokenPrefix) {
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
	return errors.Is(err, errScope) || errors.Is(err, ErrTokenExpired) || errors.Is(err, ErrTokenRevoked) || errors.Is(err, ErrTokenImpersonation)
}

// looksLikeToken saves the price of a password's hash for tokens that are of no use.
func (s *Service) looksLikeToken(text string) bool {
	for _, prefix := range []string{s.Settings.Current().PersonalAccessTokenPrefix, secret.AccessTokenPrefix} {
		if prefix != "" && len(text) == len(prefix)+20 && strings.HasPrefix(text, prefix) {
			return true
		}
	}
	return false
}

// Admit gives the actor behind an account that proved itself without a token or a
// password, such as by an SSH key, and notes that the user was active. NotFound is the
// answer where there is no such user, Forbidden with the reason where it may not act.
func (s *Service) Admit(ctx context.Context, id authz.UserID) (authz.Actor, error) {
	r, err := db.Get[standing](ctx, s.DB, "SELECT "+standingColumns+fromUsers+" WHERE u.id = ?", id)
	if errors.Is(err, db.ErrNotFound) {
		return authz.Actor{}, errs.Missing("User")
	}
	if err != nil {
		return authz.Actor{}, fmt.Errorf("read user: %w", err)
	}
	if err := s.barred(&r); err != nil {
		return authz.Actor{}, err
	}
	s.usage.users.Note(id, s.Now())
	return authz.Actor{
		UserID: id, Username: r.Username, Admin: r.Admin, Auditor: r.Auditor, External: r.External, Bot: r.Type != Human,
	}, nil
}

// ActorFor gives the actor that a user is, with every right of the account: ref is an id
// or a username. It asks for no permission; the server's own commands use it.
// NotFound is the answer where there is no such user.
func (s *Service) ActorFor(ctx context.Context, ref string) (authz.Actor, error) {
	condition, arg := "u.username_fold = ?", any(db.Fold(ref))
	if digits := strings.TrimPrefix(ref, "-"); digits != "" && strings.Trim(digits, "0123456789") == "" {
		id, err := strconv.ParseInt(ref, 10, 64)
		if err != nil {
			id = 0 // beyond every id there is
		}
		condition, arg = "u.id = ?", any(id)
	}
	u, err := s.load(ctx, condition, arg)
	if err != nil {
		return authz.Actor{}, err
	}
	return u.Actor(), nil
}

// StandIn is ActorFor for whoever wants to act as another user: who may not act at all is
// Forbidden with the reason.
func (s *Service) StandIn(ctx context.Context, ref string) (authz.Actor, error) {
	as, err := s.ActorFor(ctx, ref)
	if err != nil {
		return authz.Actor{}, err
	}
	r, err := db.Get[standing](ctx, s.DB, "SELECT "+standingColumns+fromUsers+" WHERE u.id = ?", as.UserID)
	if errors.Is(err, db.ErrNotFound) {
		return authz.Actor{}, errs.Missing("User")
	}
	if err != nil {
		return authz.Actor{}, fmt.Errorf("read user: %w", err)
	}
	if err := s.barred(&r); err != nil {
		return authz.Actor{}, err
	}
	return as, nil
}

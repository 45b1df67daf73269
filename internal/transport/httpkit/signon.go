package httpkit

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"

	"tenon/internal/base/errs"
	"tenon/internal/base/secret"
	"tenon/internal/core/account"
	"tenon/internal/core/authz"
	"tenon/internal/core/limit"
	"tenon/internal/core/token"
)

// TokenError is a refusal of a token that is known but no longer good.
type TokenError string

// The three token errors.
const (
	TokenExpired     TokenError = "Token is expired. You can either do re-authorization or token refresh."
	TokenRevoked     TokenError = "Token was revoked. You have to re-authorize from the user."
	ImpersonationOff TokenError = "Token is an impersonation token but impersonation was disabled."
)

// Error returns the sentence that the client reads.
func (e TokenError) Error() string { return string(e) }

// SignOn turns credentials into actors.
type SignOn struct {
	Accounts *account.Service
	Tokens   *token.Service
	Limits   *limit.Service
	Sessions *Sessions // nil has none
	Jobs     Bearers
}

// Bearers returns the actors of the tokens of jobs.
type Bearers interface {
	// Bearer answers Unauthorized for what is no token of a job that runs.
	Bearer(ctx context.Context, token string) (authz.Actor, error)

	// BearerGit is Bearer for HTTP Basic; ok is false where the name is another.
	BearerGit(ctx context.Context, name, password string) (as authz.Actor, ok bool, err error)
}

// forJobs are the routes that take the tokens of jobs.
var forJobs = []string{
	"/job", "/projects/:id/jobs/:job_id/artifacts", "/projects/:id/jobs/:job_id/artifacts/*artifact_path",
	"/projects/:id/jobs/artifacts/:ref_name/download", "/projects/:id/jobs/artifacts/:ref_name/raw/*artifact_path",
	"/projects/:id/releases", "/projects/:id/releases/:tag_name", "/projects/:id/releases/:tag_name/assets/links", "/projects/:id/releases/:tag_name/assets/links/:link_id",
	"/projects/:id/packages", "/projects/:id/packages/:package_id", "/projects/:id/packages/:package_id/package_files",
	"/projects/:id/packages/:package_id/package_files/:package_file_id", "/projects/:id/packages/:package_id/package_files/:package_file_id/download",
}

// Authenticate returns the actor of a credential. It answers Unauthorized for one that is
// unknown or not taken on its route, a [TokenError] for one that was good once, and Forbidden
// with the reason for a user who may not sign in. The rotation of a revoked token revokes the
// tokens that were rotated from it.
func (s *SignOn) Authenticate(ctx context.Context, c Credential) (authz.Actor, error) {
	if c.How == JobToken && (c.Packages || slices.Contains(forJobs, c.Route)) {
		return s.Jobs.Bearer(ctx, c.Secret)
	}
	if c.How == Bearer && strings.Contains(c.Route, "/packages/npm/") { // npm knows no other header
		if as, err := s.Jobs.Bearer(ctx, c.Secret); !errs.Is(err, errs.Unauthorized) {
			return as, err
		}
		if secret.Has(c.Secret, secret.DeployTokenPrefix) {
			c.How = DeployToken
		}
	}
	if c.How == DeployToken && c.Packages {
		return s.Tokens.AuthenticateDeployToken(ctx, c.Secret)
	}
	if c.How == Basic && c.Packages {
		if as, job, err := s.Jobs.BearerGit(ctx, c.Name, c.Secret); job {
			as.Job.Pushes = false
			return as, err
		}
		if secret.Has(c.Secret, secret.DeployTokenPrefix) {
			as, scopes, err := s.Tokens.AuthenticateDeploy(ctx, c.Name, c.Secret)
			as.Scopes = append(authz.Scopes{}, scopes...) // nil would be a caller without a token
			return as, err
		}
		c.How = PrivateToken
	}
	if c.How != PrivateToken && c.How != Bearer {
		return authz.Actor{}, errs.New(errs.Unauthorized, "")
	}
	as, _, err := s.Tokens.Authenticate(ctx, c.Secret)
	switch {
	case errors.Is(err, token.ErrExpired):
		return authz.Actor{}, TokenExpired
	case errors.Is(err, token.ErrNoImpersonation):
		return authz.Actor{}, ImpersonationOff
	case errors.Is(err, token.ErrRevoked):
		if strings.HasSuffix(c.Route, "/rotate") {
			if err := s.Tokens.RevokeReused(ctx, c.Secret); err != nil {
				return authz.Actor{}, err
			}
		}
		return authz.Actor{}, TokenRevoked
	}
	return as, err
}

// FindUser finds the user that an administrator wants to act as, by number or username.
func (s *SignOn) FindUser(ctx context.Context, idOrName string) (authz.Actor, error) {
	return s.Accounts.StandIn(ctx, idOrName)
}

// Reader returns the actor of a request for something that is shown as the API shows it, such as
// a page or a file: the anonymous one where there is no credential that is good and reads the
// API. Where there is no token at all, the session in the cookie counts. The actor has the
// address in any case. The error is that a credential cannot be looked up, such as
// [errs.ErrAway].
func (s *SignOn) Reader(r *http.Request) (authz.Actor, error) {
	anonymous := authz.Actor{Address: Address(r)}
	var query map[string][]string
	c, ok, err := Find(r.Header, func(name string) string {
		if query == nil {
			query = r.URL.Query()
		}
		if values := query[name]; len(values) > 0 {
			return values[len(values)-1]
		}
		return ""
	})
	if err != nil {
		return anonymous, nil // what is no credential is none
	}
	if !ok {
		as, _, ok, err := s.Sessions.Of(r)
		if !ok {
			return anonymous, err
		}
		return as, nil
	}
	as, err := s.Authenticate(r.Context(), c)
	switch {
	case refused(err):
		return anonymous, nil
	case err != nil:
		return anonymous, err
	case !as.Scopes.Permit(nil, true):
		return anonymous, nil
	}
	as.Address = anonymous.Address
	return as, nil
}

// Throttled answers a caller who asks too often, and says so. Call it when it is known who
// asks; who failed to sign on is counted by the address.
func (s *SignOn) Throttled(w http.ResponseWriter, traffic limit.Traffic, as authz.Actor) bool {
	exceeded := s.Limits.Throttle(traffic, as)
	if exceeded != nil {
		exceeded.Answer(w)
	}
	return exceeded != nil
}

// Sudo returns the actor for an administrator who acts as another user, named by number or
// username in the parameter or header of that name. find finds users.
func Sudo(ctx context.Context, as authz.Actor, who string, find func(ctx context.Context, idOrName string) (authz.Actor, error)) (authz.Actor, error) {
	if err := as.MaySudo(); err != nil {
		return as, err
	}
	other, err := find(ctx, who)
	if errs.Is(err, errs.NotFound) {
		return as, &errs.Error{Kind: errs.NotFound, Bare: true, Message: "404 User with ID or username '" + who + "' Not Found"}
	}
	if err != nil {
		return as, err
	}
	other.TokenID, other.Scopes, other.Address, other.Agent, other.Chain = as.TokenID, as.Scopes, as.Address, as.Agent, as.Chain
	return other, nil
}

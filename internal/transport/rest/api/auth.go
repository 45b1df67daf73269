package api

import (
	"context"
	"errors"
	"net"
	"net/http"
	"slices"
	"strings"

	"tenon/internal/base/errs"
	"tenon/internal/core/authz"
)

// Presentation says how a credential came.
type Presentation int

// The ways a credential can come.
const (
	PrivateToken Presentation = iota // header PRIVATE-TOKEN, parameter private_token
	Bearer                           // Authorization: Bearer, parameters access_token and bearer_token
	JobToken                         // header JOB-TOKEN, parameter job_token
	DeployToken                      // header Deploy-Token
)

// Credential is what a caller presented.
type Credential struct {
	How     Presentation
	Secret  string
	Route   *Route // what it is presented for: some routes alone take job and deploy tokens
	Address string // where the request came from
}

// Authenticator turns a credential into an actor. It answers Unauthorized for one
// that is unknown or not taken on this route, one of the three TokenError values
// for one that was good once, and Forbidden with the reason for a user who may not
// sign in.
type Authenticator func(ctx context.Context, c Credential) (authz.Actor, error)

// TokenError is a refusal of a token that is known but no longer good.
type TokenError string

// The three token errors of the API.
const (
	TokenExpired     TokenError = "Token is expired. You can either do re-authorization or token refresh."
	TokenRevoked     TokenError = "Token was revoked. You have to re-authorize from the user."
	ImpersonationOff TokenError = "Token is an impersonation token but impersonation was disabled."
)

// Error gives the sentence that the client reads.
func (e TokenError) Error() string { return string(e) }

// scopeError is a token whose scopes do not reach.
type scopeError struct{ scopes string }

func (e *scopeError) Error() string { return "insufficient scope, needs one of: " + e.scopes }

var errTwoTokens = errors.New("a bearer token in the header and another in the parameters")

// credential finds what the caller presented: ok is false where that is nothing.
func (x *exchange) credential() (c Credential, ok bool, err error) {
	c = Credential{Route: x.route, Address: x.address}
	h := x.r.Header
	bearer, hasBearer := bearerToken(h.Get("Authorization"))
	param := x.secret("access_token")
	if param == "" {
		param = x.secret("bearer_token")
	}
	if hasBearer && param != "" {
		return c, false, errTwoTokens
	}
	for _, candidate := range []struct {
		how    Presentation
		secret string
	}{
		{Bearer, bearer},
		{Bearer, param},
		{PrivateToken, x.secret("private_token")},
		{PrivateToken, h.Get("Private-Token")},
		{JobToken, h.Get("Job-Token")},
		{JobToken, x.secret("job_token")},
		{DeployToken, h.Get("Deploy-Token")},
	} {
		if candidate.secret != "" {
			c.How, c.Secret = candidate.how, candidate.secret
			return c, true, clean(c.Secret)
		}
	}
	return c, false, nil
}

func (x *exchange) secret(name string) string {
	v, ok := x.params.get(name)
	if !ok {
		return ""
	}
	s, _ := v.(string)
	return s
}

func bearerToken(header string) (string, bool) {
	const scheme = "bearer "
	if len(header) < len(scheme) || !strings.EqualFold(header[:len(scheme)], scheme) {
		return "", false
	}
	token := strings.TrimSpace(header[len(scheme):])
	return token, token != ""
}

// signIn makes the actor of the request. Credentials in headers and query are
// tried before the body is read; a form may carry them too.
func (x *exchange) signIn() error {
	c, ok, err := x.credential()
	if err != nil {
		return err
	}
	x.as.Address = x.address // of nobody as well
	if ok {
		if err := x.authenticate(c); err != nil {
			return err
		}
	}
	if err := x.weigh(x.r.ContentLength); err != nil {
		return err
	}
	limit := x.route.maxBody
	if x.route.maxBodyNow != nil {
		limit = x.route.maxBodyNow()
	}
	if !ok && limit > DefaultMaxBody {
		limit = DefaultMaxBody
	}
	if !x.route.plan.rawBody {
		if err := x.readBody(limit); err != nil {
			return err
		}
		if !ok {
			if c, ok, err = x.credential(); err != nil {
				return err
			}
			if ok {
				if err := x.authenticate(c); err != nil {
					return err
				}
			}
		}
	} else if x.r.Body != nil {
		x.r.Body = http.MaxBytesReader(x.w, x.r.Body, limit)
	}
	if !ok {
		if err := x.throttle(); err != nil {
			return err
		}
	}
	if !x.as.SignedIn() && !x.route.public {
		return errs.New(errs.Unauthorized, "")
	}
	return x.sudo()
}

func (x *exchange) authenticate(c Credential) error {
	as, err := x.kit.config.Authenticate(x.r.Context(), c)
	if err == nil {
		as.Address = x.address
		x.as = as
	}
	if err := x.throttle(); err != nil { // who fails to sign on is counted by the address
		return err
	}
	if err != nil {
		return err
	}
	return x.scoped()
}

// scoped refuses a token whose scopes do not reach the route.
func (x *exchange) scoped() error {
	if x.as.Scopes != nil && !x.route.permits(x.as.Scopes, x.r.Method) {
		return &scopeError{scopes: x.route.scopeList()}
	}
	return nil
}

// sudo lets an administrator act as somebody else.
func (x *exchange) sudo() error {
	who := ""
	if v, ok := x.params.get("sudo"); ok {
		who, _ = text(v)
	}
	if who == "" {
		who = x.r.Header.Get("Sudo")
	}
	switch {
	case who == "":
		return nil
	case clean(who) != nil:
		return errMalformed
	case !x.as.SignedIn():
		return errs.New(errs.Unauthorized, "")
	case !x.as.Admin:
		return errs.Denied("Must be admin to use sudo")
	case x.as.Scopes == nil:
		return errs.Denied("Must be authenticated using an OAuth or personal access token to use sudo")
	case !x.as.Scopes.Has(authz.ScopeSudo):
		return &scopeError{scopes: string(authz.ScopeSudo)}
	}
	as, err := x.kit.config.FindUser(x.r.Context(), who)
	if errs.Is(err, errs.NotFound) {
		return &errs.Error{Kind: errs.NotFound, Bare: true, Message: "404 User with ID or username '" + who + "' Not Found"}
	}
	if err != nil {
		return err
	}
	as.TokenID, as.Scopes, as.Address = x.as.TokenID, x.as.Scopes, x.address
	x.sudoer, x.as = x.as.Username, as
	return nil
}

// permits reports whether a token with these scopes may call the route.
func (r *Route) permits(have authz.Scopes, method string) bool {
	if r.anyScope || have.Has(authz.ScopeAPI) {
		return true
	}
	reading := method == http.MethodGet || method == http.MethodHead
	if reading && have.Has(authz.ScopeReadAPI) {
		return true
	}
	return slices.ContainsFunc(r.scopes, func(s authz.Scope) bool {
		return have.Has(s) && (reading || !strings.HasPrefix(string(s), "read_"))
	})
}

// scopeList gives the scopes that a refused caller is told.
func (r *Route) scopeList() string {
	return append(authz.Scopes(slices.Clone(r.scopes)), authz.ScopeAPI, authz.ScopeReadAPI).String()
}

// remoteAddress gives the address of the peer without its port.
func remoteAddress(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	return host
}

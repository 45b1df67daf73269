package api

import (
	"context"
	"net/http"
	"slices"

	"tenon/internal/base/errs"
	"tenon/internal/core/authz"
	"tenon/internal/core/session"
	"tenon/internal/transport/httpkit"
)

// Authenticator turns a credential into an actor. It answers Unauthorized for one
// that is unknown or not taken on its route, one of the three [httpkit.TokenError] values
// for one that was good once, and Forbidden with the reason for a user who may not
// sign in.
type Authenticator func(ctx context.Context, c httpkit.Credential) (authz.Actor, error)

// credential finds what the caller presented: ok is false where that is nothing.
func (x *exchange) credential() (c httpkit.Credential, ok bool, err error) {
	c, ok, err = httpkit.Find(x.r.Header, x.secret)
	if !ok && err == nil && x.route.basic {
		if name, password, sent := x.r.BasicAuth(); sent && password != "" {
			c, ok = httpkit.Credential{How: httpkit.Basic, Name: name, Secret: password}, true
		}
	}
	if !ok || err != nil {
		return c, false, err
	}
	c.Route, c.Address = x.route.path, x.Address
	c.Packages = x.route.basic || slices.Contains(x.route.scopes, authz.ScopeWritePackages)
	return c, true, clean(c.Secret)
}

func (x *exchange) secret(name string) string {
	v, ok := x.params.get(name)
	if !ok {
		return ""
	}
	s, _ := v.(string)
	return s
}

// signIn makes the actor of the request. Credentials in headers and query are
// tried before the body is read; a form may carry them too.
func (x *exchange) signIn() error {
	c, ok, err := x.credential()
	if err != nil {
		return err
	}
	x.As.Address = x.Address // also without a user
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
		if err := x.session(); err != nil {
			return err
		}
	}
	if !x.As.Known() && !x.route.public {
		return errs.New(errs.Unauthorized, "")
	}
	x.As.Agent, x.As.Chain = session.CutAgent(x.r.UserAgent()), httpkit.Chain(x.r)
	return x.sudo()
}

// session makes the actor of a request without a token from the session in its cookie, where
// there is one. One that may not act here counts for nothing.
func (x *exchange) session() error {
	if find := x.kit.config.Session; find != nil {
		as, ok, err := find(x.r)
		if err != nil {
			return err
		}
		if ok {
			x.As = as
		}
	}
	return x.throttle()
}

func (x *exchange) authenticate(c httpkit.Credential) error {
	as, err := x.kit.config.Authenticate(x.r.Context(), c)
	if err == nil {
		as.Address = x.Address
		x.As = as
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
	reading := x.r.Method == http.MethodGet || x.r.Method == http.MethodHead
	if x.route.anyScope || x.As.Scopes.Permit(x.route.scopes, reading) {
		return nil
	}
	return &authz.ScopeError{Scopes: x.route.scopeList()}
}

// sudo lets an administrator act as another user.
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
	}
	as, err := httpkit.Sudo(x.r.Context(), x.As, who, x.kit.config.FindUser)
	if err != nil {
		return err
	}
	x.Sudoer, x.As = x.As.Username, as
	return nil
}

// scopeList returns the scopes that a refusal names.
func (r *Route) scopeList() authz.Scopes {
	return append(authz.Scopes(slices.Clone(r.scopes)), authz.ScopeAPI, authz.ScopeReadAPI)
}

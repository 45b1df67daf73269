package authz

import (
	"slices"
	"strings"

	"tenon/internal/base/errs"
)

// ScopeError is the refusal of a token whose scopes do not reach.
type ScopeError struct {
	Scopes Scopes // the token needs one of these
}

// Error names the scopes.
func (e *ScopeError) Error() string { return "insufficient scope, needs one of: " + e.Scopes.String() }

// Permit reports whether a token with these scopes may call what takes api, read_api where it
// only reads, and the extra scopes. An extra scope whose name starts with read_ permits reading
// only. Nil is a caller without a token, who is held by no scopes.
func (s Scopes) Permit(extra []Scope, reading bool) bool {
	if s == nil || s.Has(ScopeAPI) || reading && s.Has(ScopeReadAPI) {
		return true
	}
	return slices.ContainsFunc(extra, func(e Scope) bool {
		return s.Has(e) && (reading || !strings.HasPrefix(string(e), "read_"))
	})
}

// MaySudo refuses who may not act as another user: it takes an administrator's token with the
// scope sudo.
func (a Actor) MaySudo() error {
	switch {
	case !a.SignedIn():
		return errs.New(errs.Unauthorized, "")
	case !a.Admin:
		return errs.Denied("Must be admin to use sudo")
	case a.Scopes == nil:
		return errs.Denied("Must be authenticated using an OAuth or personal access token to use sudo")
	case !a.Scopes.Has(ScopeSudo):
		return &ScopeError{Scopes: Scopes{ScopeSudo}}
	}
	return nil
}

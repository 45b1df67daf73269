package httpkit

import (
	"net/http"

	"tenon/internal/base/errs"
	"tenon/internal/core/authz"
	"tenon/internal/core/token"
)

// Git judges the user and password of HTTP Basic, as git and programs beside it send them. Who
// failed too often gets no password looked at any more. The actor has address and chain also where
// there is an error.
func (s *SignOn) Git(r *http.Request, user, password string) (authz.Actor, token.GitAccess, error) {
	from, judge := Address(r), s.Tokens.AuthenticateGit
	banned := s.Limits.GitBanned(from)
	if banned {
		judge = s.Tokens.AuthenticateGitToken
	}
	as, job, err := s.Jobs.BearerGit(r.Context(), user, password)
	access := token.GitAccess{Read: err == nil, Write: as.Job.Pushes}
	if !job {
		as, access, err = judge(r.Context(), user, password, from)
	}
	as.Address, as.Chain = from, Chain(r)
	if errs.Is(err, errs.Unauthorized) {
		if banned {
			return as, access, s.Limits.RefuseGit()
		}
		s.Limits.GitFailed(from)
	}
	return as, access, err
}

// Challenge asks for HTTP Basic.
func Challenge(h http.Header) { h.Set("WWW-Authenticate", `Basic realm="GitLab"`) }

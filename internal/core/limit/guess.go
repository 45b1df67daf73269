package limit

import (
	"time"

	"tenon/internal/base/errs"
	"tenon/internal/base/ratelimit"
	"tenon/internal/core/authz"
)

// Who fails too often to sign on for git stays out for a while.
const (
	gitFailures = "git_basic_auth"
	gitWindow   = 3 * time.Minute
	gitBan      = time.Hour
)

// GitFailed counts credentials for git that were refused. The network they came from is
// kept out once there were too many; one on this machine never is, since a proxy there
// may stand for everybody.
func (s *Service) GitFailed(address string) {
	if s.off() {
		return
	}
	from, tries := ratelimit.NetworkOf(address), s.Settings.Current().GitFailedAuthenticationLimit
	if from.Loopback() || tries <= 0 {
		return
	}
	used := s.counter.Add(ratelimit.Limit{Name: gitFailures, Most: tries, Every: gitWindow}, ratelimit.Key{From: from})
	if used.Observed >= tries {
		s.bans.Ban(from, gitBan)
	}
}

// GitBanned reports whether the network of an address is kept out. Tokens may be tried
// from there all the same, since no user guesses those; passwords may not.
func (s *Service) GitBanned(address string) bool {
	return !s.off() && s.bans.Banned(ratelimit.NetworkOf(address))
}

// RefuseGit is the answer to a user who is kept out.
func (s *Service) RefuseGit() error {
	s.Refused(gitFailures)
	return errs.Denied("Too many failed sign-ons came from your address. Use an access token, or try again in an hour.")
}

// maxName is how many bytes of a name are counted: users have shorter ones.
const maxName = 255

// SignIn counts that a password is tried on a page with a folded name, whichever address it comes from. A name counts as it was given, so that the
// answer tells neither whether it is a user's nor whose email address it is. Programs such as git, which sign on with each request, are not counted.
func (s *Service) SignIn(name string) error {
	return s.CheckIn(SignIn, authz.Actor{}, 0, name[:min(len(name), maxName)])
}

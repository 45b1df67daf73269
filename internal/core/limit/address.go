package limit

import (
	"sync"
	"time"

	"tenon/internal/base/errs"
	"tenon/internal/base/ratelimit"
	"tenon/internal/core/authz"
)

// maxVisitors is how many users are remembered with their addresses; beyond it nobody new is until some are forgotten.
const maxVisitors = 100_000

// visits remembers from which networks users came lately.
type visits struct {
	mu    sync.Mutex
	users map[authz.UserID]map[ratelimit.Network]time.Time
}

// crowded reports whether a user came from so many other networks within a time that this one is too many.
func (v *visits) crowded(user authz.UserID, from ratelimit.Network, now time.Time, most int, window time.Duration) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	seen := v.users[user]
	if seen == nil {
		if len(v.users) >= maxVisitors {
			v.tidy(now, window)
		}
		if len(v.users) >= maxVisitors {
			return false
		}
		if v.users == nil {
			v.users = map[authz.UserID]map[ratelimit.Network]time.Time{}
		}
		seen = map[ratelimit.Network]time.Time{}
		v.users[user] = seen
	}
	if at, known := seen[from]; !known || now.Sub(at) >= window {
		delete(seen, from)
		forget(seen, now, window)
		if len(seen) >= most {
			return true
		}
	}
	seen[from] = now
	return false
}

// tidy forgets users who did not come within the window.
func (v *visits) tidy(now time.Time, window time.Duration) {
	for user, seen := range v.users {
		if forget(seen, now, window); len(seen) == 0 {
			delete(v.users, user)
		}
	}
}

func forget(seen map[ratelimit.Network]time.Time, now time.Time, window time.Duration) {
	for from, at := range seen {
		if now.Sub(at) >= window {
			delete(seen, from)
		}
	}
}

// tooManyAddresses says why a user is refused who comes from one address too many.
const tooManyAddresses = "You signed in from too many IP addresses. Use an address that you used before, or try again later."

// crowded reports whether the settings refuse the user for coming from too many addresses. It holds where rate limits are switched off, too.
func (s *Service) crowded(as authz.Actor) bool {
	if s.Settings == nil || as.UserID == 0 || as.Job.ID != 0 || as.Address == "" {
		return false
	}
	set := s.Settings.Current()
	if !set.UniqueIPsLimitEnabled || set.UniqueIPsLimitPerUser < 1 {
		return false
	}
	window := time.Duration(set.UniqueIPsLimitTimeWindow) * time.Second
	if !s.visits.crowded(as.UserID, ratelimit.NetworkOf(as.Address), s.Now(), set.UniqueIPsLimitPerUser, window) {
		return false
	}
	s.Refused("unique_ips")
	return true
}

// CheckAddress refuses a user who comes from one address too many. Throttle does so as well.
func (s *Service) CheckAddress(as authz.Actor) error {
	if s.crowded(as) {
		return errs.Denied(tooManyAddresses)
	}
	return nil
}

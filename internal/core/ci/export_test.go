package ci

import (
	"time"
)

// Stuck is the argument of EndStuck.
type Stuck = stuck

// Expiring is the argument of Expire.
type Expiring = expire

// SetPoll says how long runners wait for a job.
func (s *Service) SetPoll(d time.Duration) { s.pollFor = d }

// Waiters counts the runners that wait for a job.
func (s *Service) Waiters() int {
	s.waiting.mu.Lock()
	defer s.waiting.mu.Unlock()
	return len(s.waiting.waiters)
}

package ci

import (
	"context"
	"time"

	"tenon/internal/base/job"
	"tenon/internal/core/runner"
)

// Stuck is the argument of EndStuck.
type Stuck = stuck

// Expiring is the argument of Expire.
type Expiring = expire

// OldPipelines is the argument of DeleteOld.
type OldPipelines = oldPipelines

// SetPoll says how long runners wait for a job.
func (s *Service) SetPoll(d time.Duration) { s.pollFor = d }

// RunPushed does the job of a push.
func (s *Service) RunPushed(ctx context.Context, args job.Args) error {
	return s.runPushed(ctx, args.(pushed))
}

// Forget drops the news that the others were not told of yet.
func (s *Service) Forget() { s.peers.take() }

// Hears reports whether other servers are heard.
func (s *Service) Hears() bool { return s.peers.hears.Load() }

// OnRunner is what happens when a runner has changed.
func (s *Service) OnRunner(ctx context.Context, id runner.ID) error { return s.onRunner(ctx, id) }

// Waiters counts the runners that wait for a job.
func (s *Service) Waiters() int {
	s.waiting.mu.Lock()
	defer s.waiting.mu.Unlock()
	return len(s.waiting.waiters)
}

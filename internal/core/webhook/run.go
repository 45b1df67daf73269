package webhook

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"

	"tenon/internal/base/db"
)

// gate bounds how many workers read and write at a time, so that hooks that are called together leave the processors to others. It does
// not bound the calls.
type gate chan struct{}

// newGate makes one for as many as there are processors.
func newGate() gate { return make(gate, max(2, runtime.GOMAXPROCS(0))) }

// do runs fn when it is its turn.
func (g gate) do(ctx context.Context, fn func() error) error {
	select {
	case g <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-g }()
	return fn()
}

// slots counts calls that go on without a worker.
type slots struct {
	mu    sync.Mutex
	n     int
	ended chan struct{} // is closed when the last one ends, while Stop waits
}

// enter takes a slot. It reports false where none is free.
func (s *slots) enter() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.n >= maxDetached || s.ended != nil {
		return false
	}
	s.n++
	return true
}

func (s *slots) leave() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.n--
	if s.n == 0 && s.ended != nil {
		close(s.ended)
	}
}

// wait returns a channel that is closed when no slot is taken. No slot can be taken any more.
func (s *slots) wait() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = make(chan struct{})
	if s.n == 0 {
		close(s.ended)
	}
	return s.ended
}

// Start does nothing: jobs call hooks.
func (s *Service) Start() {}

// Stop ends the calls that go on without a worker. They are made again when the leases of their hooks end.
func (s *Service) Stop(ctx context.Context) error {
	ended := s.detached.wait()
	close(s.stopping)
	select {
	case <-ended:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Open ends the leases that a crash left behind, where no other process may have them.
func (s *Service) Open(ctx context.Context) error {
	if s.DB.Shared() {
		return nil
	}
	_, err := s.DB.Exec(ctx, "UPDATE webhooks SET leased_until = NULL WHERE leased_until IS NOT NULL")
	if err != nil {
		return fmt.Errorf("end leases of webhooks: %w", err)
	}
	return nil
}

// Settle has the hooks called that deliveries have waited for since before a time.
func (s *Service) Settle(ctx context.Context, before db.Time) error {
	return s.DB.InTx(ctx, func(ctx context.Context) error {
		hooks, err := db.Select[listener](ctx, s.DB, "SELECT "+db.Columns[listener]("h")+` FROM webhooks h
			WHERE h.id IN (SELECT d.webhook_id FROM webhook_deliveries d WHERE d.created_at < ? AND d.due_at < ?) ORDER BY h.id`, before, before)
		if err != nil {
			return fmt.Errorf("hooks that deliveries wait for: %w", err)
		}
		for _, h := range hooks {
			if err := s.enqueue(ctx, h.ID, lane(h.Slow)); err != nil {
				return err
			}
		}
		return nil
	})
}

// results counts calls by what became of them.
type results struct{ delivered, repeated, refused, unanswered atomic.Uint64 }

// counted counts a call.
func (s *Service) counted(o *outcome, again bool) {
	switch {
	case o.succeeded():
		s.results.delivered.Add(1)
	case again:
		s.results.repeated.Add(1)
	case o.failure != "":
		s.results.unanswered.Add(1)
	default:
		s.results.refused.Add(1)
	}
}

// Results are the numbers of calls since the start of the server: delivered, to be repeated, refused by the receiver, and without an answer.
func (s *Service) Results() map[string]uint64 {
	return map[string]uint64{
		"delivered": s.results.delivered.Load(), "repeated": s.results.repeated.Load(), "refused": s.results.refused.Load(), "unanswered": s.results.unanswered.Load(),
	}
}

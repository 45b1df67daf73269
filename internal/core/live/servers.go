package live

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"time"
)

func newID() string { return rand.Text() }

// distribute sends to the other servers what waits for them, until ctx ends.
func (s *Service) distribute(ctx context.Context) {
	for {
		select {
		case <-s.more:
		case <-ctx.Done():
			return
		}
		select {
		case <-time.After(gather):
		case <-ctx.Done():
			return
		}
		s.mu.Lock()
		queue := s.queue
		s.queue = nil
		s.mu.Unlock()
		for len(queue) > 0 {
			n := min(len(queue), maxBatch)
			if err := s.post(ctx, queue[:n]); err != nil {
				s.Log.Warn("streams of other servers miss changes", "changes", len(queue), "error", err)
				break
			}
			queue = queue[n:]
		}
	}
}

func (s *Service) post(ctx context.Context, changes []Change) error {
	texts := make([]string, len(changes))
	for i, c := range changes {
		raw, err := json.Marshal(letter{s.id, c})
		if err != nil {
			return err
		}
		texts[i] = string(raw)
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	return s.DB.Notify(ctx, channel, texts)
}

// listener is the connection on which the other servers are heard.
type listener struct {
	ready  chan struct{} // closed once they are heard
	failed chan struct{} // closed where that came to nothing
	err    error         // why; read after failed
	cancel context.CancelFunc
}

// hear has a connection made, unless there is one; the lock is held.
func (s *Service) hear() *listener {
	if s.listener != nil {
		return s.listener
	}
	ctx, cancel := context.WithCancel(context.Background())
	h := &listener{ready: make(chan struct{}), failed: make(chan struct{}), cancel: cancel}
	s.listener = h
	s.done.Go(func() {
		defer cancel()
		h.err = s.DB.Listen(ctx, channel, func() { close(h.ready) }, s.heard)
		s.mu.Lock()
		s.listener = nil
		s.mu.Unlock()
		if ctx.Err() == nil {
			s.Log.Warn("other servers are not heard, streams end", "error", h.err)
		}
		s.endStreams() // they may have missed something
		close(h.failed)
	})
	return h
}

// wait waits until other servers are heard.
func (h *listener) wait(ctx context.Context) error {
	select {
	case <-h.ready:
		return nil
	case <-h.failed:
		return h.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

package gitstore

import (
	"context"
	"errors"
	"sync"
)

// shares lets those who want to know the same have one answer. No caller gets an answer that
// another began to look for before it asked: it might be of the past already. The zero
// value is ready.
type shares struct {
	mu   sync.Mutex
	last map[string]*look // the youngest of a key that has not ended
}

// look is one search for an answer.
type look struct {
	begun  bool // guarded by the mutex of shares: too late to join
	done   chan struct{}
	answer string
	err    error
}

var errNoAnswer = errors.New("git: the reader gave up")

// share returns the answer of find, which runs once for all who come before it begins, at
// most once at a time for each key, and whatever becomes of the ctx of the caller that came first.
func (s *shares) share(ctx context.Context, key string, find func(context.Context) (string, error)) (string, error) {
	s.mu.Lock()
	before := s.last[key]
	if before != nil && !before.begun {
		s.mu.Unlock()
		select {
		case <-before.done:
			return before.answer, before.err
		case <-ctx.Done():
			return "", context.Cause(ctx)
		}
	}
	mine := &look{begun: before == nil, done: make(chan struct{}), err: errNoAnswer}
	if s.last == nil {
		s.last = map[string]*look{}
	}
	s.last[key] = mine
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		if s.last[key] == mine {
			delete(s.last, key)
		}
		s.mu.Unlock()
		close(mine.done)
	}()
	if before != nil {
		<-before.done
		s.mu.Lock()
		mine.begun = true
		s.mu.Unlock()
	}
	mine.answer, mine.err = find(context.WithoutCancel(ctx))
	return mine.answer, mine.err
}

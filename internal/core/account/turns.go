package account

import (
	"context"
	"sync"

	"tenon/internal/base/secret"
)

// maxTurns is how many may wait for one account.
const maxTurns = 32

// turns has those who want the same come one after the other. The zero value is ready and
// safe for concurrent use.
type turns struct {
	mu sync.Mutex
	at map[string]*queue
}

// queue is of those who want one thing; its channel holds a token while a user's turn lasts.
type queue struct {
	turn   chan struct{}
	length int // of those who wait or whose turn it is
}

// take waits for a turn at a thing, which lasts until done is called. Where too many wait
// it fails with secret.ErrBusy, and with what ctx says where that ends first.
func (t *turns) take(ctx context.Context, thing string) (done func(), err error) {
	t.mu.Lock()
	q := t.at[thing]
	if q == nil {
		q = &queue{turn: make(chan struct{}, 1)}
		if t.at == nil {
			t.at = make(map[string]*queue)
		}
		t.at[thing] = q
	}
	if q.length > maxTurns {
		t.mu.Unlock()
		return nil, secret.ErrBusy
	}
	q.length++
	t.mu.Unlock()
	leave := func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		if q.length--; q.length == 0 {
			delete(t.at, thing)
		}
	}
	select {
	case q.turn <- struct{}{}:
		return func() { <-q.turn; leave() }, nil
	case <-ctx.Done():
		leave()
		return nil, ctx.Err()
	}
}

package gitstore

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
)

// A caller who asks while another looks already gets the answer of the next look, which all
// who wait have in common.
func TestShares(t *testing.T) {
	t.Parallel()
	var s shares
	var looks atomic.Int64
	looking, goOn := make(chan struct{}), make(chan struct{})
	find := func(context.Context) (string, error) {
		if looks.Add(1) > 1 {
			return "later", nil
		}
		close(looking)
		<-goOn
		return "first", nil
	}
	ask := func(want string) {
		if got, err := s.share(t.Context(), "key", find); err != nil || got != want {
			t.Errorf("got %q, %v, want %s", got, err, want)
		}
	}
	var wg sync.WaitGroup
	wg.Go(func() { ask("first") })
	<-looking
	for range 8 {
		wg.Go(func() { ask("later") })
	}
	for waiting := false; !waiting; { // until one of them leads the others
		s.mu.Lock()
		waiting = !s.last["key"].begun
		s.mu.Unlock()
	}
	gone, leave := context.WithCancel(t.Context())
	leave()
	if _, err := s.share(gone, "key", find); err == nil {
		t.Error("a reader that has given up still waits")
	}
	if n := looks.Load(); n != 1 {
		t.Errorf("%d look at the same time", n)
	}
	if got, err := s.share(t.Context(), "other key", find); err != nil || got != "later" {
		t.Errorf("another key: got %q, %v, want an answer at once", got, err)
	}
	close(goOn)
	wg.Wait()
	if len(s.last) != 0 {
		t.Errorf("%d looks are left over", len(s.last))
	}
}

package repo

import (
	"sync"
	"testing"
)

func TestLocks(t *testing.T) {
	t.Parallel()
	var l locks[lockKey]
	other := l.lock(lockKey{1, "other"}) // held all the time: nothing below waits for it
	var wg sync.WaitGroup
	inside, most := 0, 0
	for range 50 {
		wg.Go(func() {
			unlock := l.lock(lockKey{1, "main"})
			defer unlock()
			inside++
			most = max(most, inside)
			inside--
		})
	}
	wg.Wait()
	other()
	if most != 1 {
		t.Errorf("%d at once, want one", most)
	}
	if len(l.held) != 0 {
		t.Errorf("%d locks are remembered that nobody holds", len(l.held))
	}
}

func TestLocks_try(t *testing.T) {
	t.Parallel()
	var l locks[lockKey]
	unlock, ok := l.try(lockKey{1, "main"})
	if !ok {
		t.Fatal("nobody holds it")
	}
	if _, ok := l.try(lockKey{1, "main"}); ok {
		t.Error("two hold it")
	}
	unlock()
	unlock = l.lock(lockKey{1, "main"})
	if _, ok := l.try(lockKey{1, "main"}); ok {
		t.Error("one took what another has")
	}
	unlock()
	if len(l.held) != 0 {
		t.Errorf("%d locks are remembered that nobody holds", len(l.held))
	}
}

// Package lastuse remembers when things were last used until a caller writes it down, so
// that a read never writes.
package lastuse

import (
	"cmp"
	"maps"
	"sync"
	"time"
)

// Times holds the latest use of each thing that is not written down yet. The zero value
// is ready and safe for concurrent use.
type Times[K cmp.Ordered] struct {
	mu sync.Mutex
	at map[K]time.Time
}

// Note remembers a use.
func (t *Times[K]) Note(key K, at time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.at == nil {
		t.at = make(map[K]time.Time)
	}
	t.at[key] = at
}

// Last returns the use that is not written down yet; ok is false where there is none.
func (t *Times[K]) Last(key K) (at time.Time, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	at, ok = t.at[key]
	return at, ok
}

// Take hands over what was noted and starts again.
func (t *Times[K]) Take() map[K]time.Time {
	t.mu.Lock()
	defer t.mu.Unlock()
	taken := t.at
	t.at = nil
	return taken
}

// GiveBack remembers again what could not be written down, unless there is something
// newer. The map is handed over.
func (t *Times[K]) GiveBack(taken map[K]time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if taken == nil {
		return
	}
	maps.Copy(taken, t.at)
	t.at = taken
}

// WriteEvery is how often what is remembered is written down.
const WriteEvery = time.Minute

// Loop calls something at intervals between Start and Stop, which its owner calls one
// after the other.
type Loop struct {
	stop, done chan struct{}
}

// Start begins to call fn at intervals. Stop ends it.
func (l *Loop) Start(every time.Duration, fn func()) {
	stop, done := make(chan struct{}), make(chan struct{})
	l.stop, l.done = stop, done
	go func() {
		defer close(done)
		tick := time.NewTicker(every)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				fn()
			case <-stop:
				return
			}
		}
	}()
}

// Stop ends what Start began and waits for a call in progress; it may be called more
// than once, and without Start.
func (l *Loop) Stop() {
	if l.stop == nil {
		return
	}
	close(l.stop)
	<-l.done
	l.stop = nil
}

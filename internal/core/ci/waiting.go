package ci

import (
	"context"
	"crypto/rand"
	"slices"
	"sync"
	"time"

	"tenon/internal/core/runner"
)

// pollFor is how long a runner that has nothing to do is kept waiting for a job.
const pollFor = 50 * time.Second

// wakeEach is how many waiting runners are woken for each job that becomes pending: one takes it, and the others are
// there for the case that the first may not. One that finds nothing wakes the next, see pass.
const wakeEach = 3

// pollUnheard is pollFor while other servers that use the database are not heard: this server does not learn when a job becomes pending there.
const pollUnheard = 5 * time.Second

// waiting knows the runners that wait for a job at this server. It is safe for concurrent use.
type waiting struct {
	mu      sync.Mutex
	waiters []*waiter // in the order in which they came
	wakes   int       // how often jobs came
	values  map[runner.ID]string
}

type waiter struct {
	runner *runner.Runner
	came   int      // wakes when it came
	woke   chan int // gets the number of the wake, 0 where no job came
}

// value is what a runner sends back to say what it knows. It changes whenever there may be a job for the runner.
func (w *waiting) value(id runner.ID) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.values == nil {
		w.values = map[runner.ID]string{}
	}
	v, ok := w.values[id]
	if !ok {
		v = rand.Text()
		w.values[id] = v
	}
	return v
}

// wait keeps a runner that knows the current value until there may be a job for it, its time is over, or it goes away. It returns the
// number of the wake, 0 where no job came.
func (w *waiting) wait(ctx context.Context, r *runner.Runner, known string, most time.Duration) (by int) {
	me := &waiter{runner: r, woke: make(chan int, 1)}
	w.mu.Lock()
	if w.values[r.ID] != known {
		w.mu.Unlock()
		return 0 // there may be one since it was read
	}
	me.came = w.wakes
	w.waiters = append(w.waiters, me)
	w.mu.Unlock()
	timer := time.NewTimer(most)
	defer timer.Stop()
	select {
	case by = <-me.woke:
		return by
	case <-timer.C:
	case <-ctx.Done():
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.waiters = slices.DeleteFunc(w.waiters, func(other *waiter) bool { return other == me })
	select {
	case by = <-me.woke: // at the same moment
	default:
	}
	return by
}

// pass wakes the next of those runners that waited when a job came, because the one that was woken for it has no use for it.
func (w *waiting) pass(by int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	i := slices.IndexFunc(w.waiters, func(one *waiter) bool { return one.came < by })
	if i < 0 {
		return
	}
	w.waiters[i].woke <- by
	w.waiters = slices.Delete(w.waiters, i, i+1)
}

// wake lets waiting runners look for jobs that have become pending.
func (w *waiting) wake(jobs int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	clear(w.values) // what runners know is old
	w.wakes++
	left := jobs * wakeEach
	w.waiters = slices.DeleteFunc(w.waiters, func(one *waiter) bool {
		if left == 0 {
			return false
		}
		left--
		one.woke <- w.wakes
		return true
	})
}

// wakeAll lets all look for jobs.
func (w *waiting) wakeAll() {
	w.mu.Lock()
	n := len(w.waiters)
	w.mu.Unlock()
	w.wake(n)
}

// changed lets a runner look again, because it or what it serves has changed.
func (w *waiting) changed(id runner.ID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.values, id)
	w.waiters = slices.DeleteFunc(w.waiters, func(one *waiter) bool {
		if one.runner.ID != id {
			return false
		}
		one.woke <- 0
		return true
	})
}

// end lets all go, because the server stops.
func (w *waiting) end() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, one := range w.waiters {
		one.woke <- 0
	}
	w.waiters = nil
}

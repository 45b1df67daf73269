package job_test

import (
	"context"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/base/db/dbtest"
	"tenon/internal/base/job"
)

func resting(t *testing.T, d *db.DB, r *job.Registry) *job.Queue {
	t.Helper()
	q, err := job.New(d, r, job.Config{Workers: job.Workers{Short: 2, Maintenance: 1, Outbound: 1}, Rest: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	if err := q.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := q.Stop(context.Background()); err != nil {
			t.Errorf("stop: %v", err)
		}
	})
	return q
}

// until waits for a condition.
func until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	deadline := time.After(time.Minute)
	for !holds() {
		select {
		case <-deadline:
			t.Fatalf("%s: not within a minute", what)
		case <-time.After(time.Millisecond):
		}
	}
}

// rivers is how many goroutines of the library run in this process.
func rivers() int {
	stacks := make([]byte, 8<<20)
	stacks = stacks[:runtime.Stack(stacks, true)]
	n := 0
	for goroutine := range strings.SplitSeq(string(stacks), "\n\n") {
		if strings.Contains(goroutine, "github.com/riverqueue/") {
			n++
		}
	}
	return n
}

// At rest the queue has no timer but its own, which is set for the next job or the next
// minute, and runs no statement. What enqueues a job ends the rest. The test is not
// parallel: it counts the goroutines of the process.
func TestQueue_rest(t *testing.T) {
	rest := func(t *testing.T, d *db.DB) {
		t.Helper()
		var r job.Registry
		ran := make(chan string, 1)
		job.Register(&r, func(_ context.Context, m mail) error { ran <- m.To; return nil })
		q := resting(t, d, &r)
		for _, to := range []string{"one", "two", "three"} {
			until(t, "rest before "+to, func() bool { return !q.Awake() && rivers() == 0 })
			if err := q.Enqueue(t.Context(), mail{To: to}); err != nil {
				t.Fatal(err)
			}
			if got := <-ran; got != to {
				t.Errorf("did %q, want %q", got, to)
			}
		}
		until(t, "rest after all", func() bool { return !q.Awake() && rivers() == 0 })
		if left := waiting(t, d); left != 0 {
			t.Errorf("%d jobs wait at rest, want 0", left)
		}
	}
	t.Run("sqlite", func(t *testing.T) { rest(t, dbtest.Open(t, false)) })
	t.Run("postgres", func(t *testing.T) { rest(t, dbtest.OpenPostgres(t)) })
}

// A job that is still running when the client ends keeps no other one waiting.
func TestQueue_rest_busy(t *testing.T) {
	each(t, func(t *testing.T, d *db.DB) {
		var r job.Registry
		began, end := make(chan struct{}), make(chan struct{})
		job.Register(&r, func(_ context.Context, m mail) error {
			began <- struct{}{}
			if m.To == "slow" {
				<-end
			}
			return nil
		})
		q := resting(t, d, &r)
		if err := q.Enqueue(t.Context(), mail{To: "slow"}); err != nil {
			t.Fatal(err)
		}
		<-began
		q.Overlook()
		until(t, "rest", func() bool { return !q.Awake() })
		if err := q.Enqueue(t.Context(), mail{To: "quick"}); err != nil {
			t.Fatal(err)
		}
		<-began
		close(end)
	})
}

// A job for later, and another attempt at a failed one, begin when their time has come although
// the queue rests until then.
func TestQueue_rest_later(t *testing.T) {
	each(t, func(t *testing.T, d *db.DB) {
		var r job.Registry
		var mu sync.Mutex
		var began []time.Time
		tries := 0
		job.Register(&r, func(_ context.Context, m mail) error {
			mu.Lock()
			defer mu.Unlock()
			began = append(began, time.Now())
			if tries++; m.To == "again" && tries == 1 {
				return context.DeadlineExceeded
			}
			return nil
		}, job.On(job.Outbound))
		q := resting(t, d, &r)
		runs := func() int {
			mu.Lock()
			defer mu.Unlock()
			return len(began)
		}
		until(t, "rest", func() bool { return !q.Awake() })
		at := time.Now().Add(1200 * time.Millisecond)
		if err := q.Enqueue(t.Context(), mail{To: "later"}, job.At(at)); err != nil {
			t.Fatal(err)
		}
		until(t, "the job for later", func() bool { return runs() == 1 })
		mu.Lock()
		first := began[0]
		tries = 0
		mu.Unlock()
		if first.Before(at.Add(-time.Millisecond)) {
			t.Errorf("it began %s early", at.Sub(first))
		}
		if err := q.Enqueue(t.Context(), mail{To: "again"}); err != nil {
			t.Fatal(err)
		}
		until(t, "the second attempt", func() bool { return runs() == 3 })
	})
}

// Jobs of one queue keep no job of another one waiting.
func TestQueue_queues(t *testing.T) {
	each(t, func(t *testing.T, d *db.DB) {
		var r job.Registry
		held, end, ran := make(chan struct{}, 100), make(chan struct{}), make(chan struct{})
		job.Register(&r, func(ctx context.Context, _ check) error {
			held <- struct{}{}
			select {
			case <-end:
			case <-ctx.Done():
			}
			return nil
		}, job.On(job.Outbound))
		job.Register(&r, func(context.Context, mail) error { close(ran); return nil })
		q := resting(t, d, &r)
		for range 20 {
			if err := q.Enqueue(t.Context(), check{}); err != nil {
				t.Fatal(err)
			}
		}
		<-held
		if err := q.Enqueue(t.Context(), mail{}); err != nil {
			t.Fatal(err)
		}
		<-ran
		close(end)
		until(t, "all of the slow queue", func() bool { return len(held) == 19 })
	})
}

// A job that an older program has put into another queue is done where its kind belongs.
func TestQueue_Start_moves(t *testing.T) {
	each(t, func(t *testing.T, d *db.DB) {
		var r job.Registry
		ran := make(chan struct{})
		job.Register(&r, func(context.Context, mail) error { close(ran); return nil }, job.On(job.Outbound))
		q, err := job.New(d, &r, job.Config{})
		if err != nil {
			t.Fatal(err)
		}
		if err := q.Enqueue(t.Context(), mail{}); err != nil {
			t.Fatal(err)
		}
		if _, err := d.Exec(t.Context(), "UPDATE river_job SET queue = 'gone'"); err != nil {
			t.Fatal(err)
		}
		if err := q.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		<-ran
		if err := q.Stop(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// A client of River that waits for itself does not hold the server: it is left behind when no
// job runs, and waited for while one does.
func TestQueue_stuck(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		var r job.Registry
		started, finish := make(chan struct{}), make(chan struct{})
		job.Register(&r, func(context.Context, mail) error { close(started); <-finish; return nil })
		q, err := job.New(d, &r, job.Config{Workers: job.Workers{Short: 1, Maintenance: 1, Outbound: 1}, Patience: 10 * time.Millisecond})
		if err != nil {
			t.Fatal(err)
		}
		if err := q.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := q.Enqueue(t.Context(), mail{To: "one"}); err != nil {
			t.Fatal(err)
		}
		<-started
		ended := make(chan error, 1)
		go func() { ended <- q.EndStuck(context.Background()) }()
		select {
		case err := <-ended:
			t.Errorf("ended with %v while a job runs", err)
		case <-time.After(100 * time.Millisecond):
		}
		close(finish)
		if err := <-ended; err != nil {
			t.Errorf("end: %v", err)
		}
		if err := q.Stop(context.Background()); err != nil {
			t.Errorf("stop: %v", err)
		}
	})
}

package job_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/base/db/dbtest"
	"tenon/internal/base/job"
)

type mail struct {
	To string `json:"to"`
}

func (mail) Kind() string { return "mail" }

type check struct {
	Branch string `json:"branch" river:"unique"`
	Why    string `json:"why"`
}

func (check) Kind() string { return "check" }

// each gives fn a database that has the queue's tables and a table of our own.
func each(t *testing.T, fn func(t *testing.T, d *db.DB)) {
	t.Helper()
	t.Parallel()
	dbtest.Empty(t, func(t *testing.T, d *db.DB) {
		schema := fstest.MapFS{"0001_done.sql": {Data: []byte("CREATE TABLE done (id {{id}}, what {{text}} NOT NULL);")}}
		if err := d.Migrate(t.Context(), schema); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if err := job.Migrate(t.Context(), d); err != nil {
				t.Fatal(err)
			}
		}
		fn(t, d)
	})
}

func queue(t *testing.T, d *db.DB, r *job.Registry, log *slog.Logger) *job.Queue {
	t.Helper()
	q, err := job.New(d, r, job.Config{Logger: log, Workers: job.Workers{Short: 2}})
	if err != nil {
		t.Fatal(err)
	}
	return q
}

// did makes a job that writes down what it did.
func did[A job.Args](d *db.DB, what func(A) string) func(context.Context, A) error {
	return func(ctx context.Context, args A) error {
		_, err := d.Exec(ctx, "INSERT INTO done (what) VALUES (?)", what(args))
		return err
	}
}

func done(t *testing.T, d *db.DB) string {
	t.Helper()
	got, err := db.Select[string](t.Context(), d, "SELECT what FROM done ORDER BY what")
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(got, " ")
}

func drain(t *testing.T, q *job.Queue) {
	t.Helper()
	if err := q.Drain(t.Context()); err != nil {
		t.Fatalf("drain: %v", err)
	}
}

func TestQueue_Enqueue(t *testing.T) {
	each(t, func(t *testing.T, d *db.DB) {
		var r job.Registry
		job.Register(&r, did(d, func(m mail) string { return m.To }))
		q := queue(t, d, &r, nil)
		refused := errors.New("refused")
		err := d.InTx(t.Context(), func(ctx context.Context) error {
			if err := q.Enqueue(ctx, mail{To: "undone"}); err != nil {
				return err
			}
			return refused
		})
		if !errors.Is(err, refused) {
			t.Fatalf("got %v, want the closure's error", err)
		}
		drain(t, q)
		if got := done(t, d); got != "" {
			t.Errorf("a job of an undone transaction ran: %q", got)
		}
		if err := d.InTx(t.Context(), func(ctx context.Context) error {
			return q.Enqueue(ctx, mail{To: "one"})
		}); err != nil {
			t.Fatal(err)
		}
		if err := q.EnqueueAll(t.Context(), []job.Args{mail{To: "two"}, mail{To: "two"}}); err != nil {
			t.Fatal(err)
		}
		if err := q.Enqueue(t.Context(), mail{To: "later"}, job.At(time.Now().Add(time.Hour))); err != nil {
			t.Fatal(err)
		}
		drain(t, q)
		if got := done(t, d); got != "one two two" {
			t.Errorf("did %q, want each job once and the later one not", got)
		}
		if err := q.Enqueue(t.Context(), check{}); err == nil {
			t.Error("a job that nobody can do was enqueued")
		}
	})
}

func TestQueue_Enqueue_fromJob(t *testing.T) {
	each(t, func(t *testing.T, d *db.DB) {
		var r job.Registry
		var q *job.Queue
		job.Register(&r, did(d, func(m mail) string { return m.To }))
		job.Register(&r, func(ctx context.Context, c check) error {
			return d.InTx(ctx, func(ctx context.Context) error { return q.Enqueue(ctx, mail{To: c.Branch}) })
		})
		q = queue(t, d, &r, nil)
		if err := q.Enqueue(t.Context(), check{Branch: "main"}); err != nil {
			t.Fatal(err)
		}
		drain(t, q)
		if got := done(t, d); got != "main" {
			t.Errorf("did %q, want what the first job asked for", got)
		}
	})
}

func TestUnique(t *testing.T) {
	each(t, func(t *testing.T, d *db.DB) {
		var r job.Registry
		var q *job.Queue
		again := sync.OnceValue(func() error { return q.Enqueue(t.Context(), check{Branch: "main", Why: "while it ran"}) })
		job.Register(&r, func(ctx context.Context, c check) error {
			if _, err := d.Exec(ctx, "INSERT INTO done (what) VALUES (?)", c.Branch); err != nil || c.Branch != "main" {
				return err
			}
			return again()
		}, job.Unique(), job.Low())
		q = queue(t, d, &r, nil)
		for _, why := range []string{"push", "merge", "edit"} {
			if err := q.Enqueue(t.Context(), check{Branch: "main", Why: why}); err != nil {
				t.Fatal(err)
			}
		}
		if err := q.EnqueueAll(t.Context(), []job.Args{check{Branch: "main"}, check{Branch: "other"}}); err != nil {
			t.Fatal(err)
		}
		if n := waiting(t, d); n != 2 {
			t.Errorf("%d jobs wait, want one per branch", n)
		}
		drain(t, q)
		if got := strings.Count(done(t, d), "main"); got != 2 {
			t.Errorf("main was looked at %d times, want 2: once for all, once for the change during the run", got)
		}
		if err := q.Enqueue(t.Context(), check{Branch: "main"}); err != nil {
			t.Fatal(err)
		}
		if n := waiting(t, d); n != 1 {
			t.Errorf("%d jobs wait after all were done, want 1", n)
		}
	})
}

func waiting(t *testing.T, d *db.DB) int {
	t.Helper()
	n, err := db.Get[int](t.Context(), d, "SELECT count(*) FROM river_job WHERE state = 'available'")
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestQueue_failure(t *testing.T) {
	each(t, func(t *testing.T, d *db.DB) {
		var log bytes.Buffer
		var r job.Registry
		job.Register(&r, func(_ context.Context, m mail) error {
			switch m.To {
			case "panic":
				panic("ouch")
			case "never":
				return job.Permanent(errors.New("no such user"))
			}
			return errors.New("no answer")
		}, job.Attempts(2))
		q := queue(t, d, &r, slog.New(slog.NewTextHandler(&log, nil)))
		for to, over := range map[string]bool{"later": false, "panic": false, "never": true} {
			if err := q.Enqueue(t.Context(), mail{To: to}); err != nil {
				t.Fatal(err)
			}
			if err := q.Drain(t.Context()); err == nil {
				t.Errorf("%s: Drain gave no error", to)
			}
			got, err := db.Get[bool](t.Context(), d, "SELECT finalized_at IS NOT NULL FROM river_job ORDER BY id DESC LIMIT 1")
			if err != nil || got != over {
				t.Errorf("%s: given up is %v (%v), want %v", to, got, err, over)
			}
		}
		// A slow machine may come to the second attempts before the test ends.
		for _, want := range []string{`attempt=1 attempts=2 error="no answer"`, "attempt=1 attempts=2 panic=ouch", "no such user"} {
			if got := strings.Count(log.String(), want); got != 1 {
				t.Errorf("%q is logged %d times, want once:\n%s", want, got, log.String())
			}
		}
	})
}

func TestQueue_Start(t *testing.T) {
	each(t, func(t *testing.T, d *db.DB) {
		var r job.Registry
		began, finish := make(chan string, 1), make(chan struct{})
		job.Register(&r, func(ctx context.Context, m mail) error {
			began <- m.To
			<-finish
			_, err := d.Exec(ctx, "INSERT INTO done (what) VALUES (?)", m.To)
			return err
		})
		q := queue(t, d, &r, nil)
		if err := q.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := q.Enqueue(t.Context(), mail{To: "slow"}); err != nil {
			t.Fatal(err)
		}
		<-began
		stopped := make(chan error)
		go func() { stopped <- q.Stop(t.Context()) }()
		close(finish)
		if err := <-stopped; err != nil {
			t.Errorf("stop: %v", err)
		}
		if got := done(t, d); got != "slow" {
			t.Errorf("did %q: Stop did not wait for the job", got)
		}
		if err := q.Stop(t.Context()); err != nil {
			t.Errorf("second stop: %v", err)
		}
	})
}

func TestQueue_Stop_deadline(t *testing.T) {
	each(t, func(t *testing.T, d *db.DB) {
		var r job.Registry
		began := make(chan struct{})
		job.Register(&r, func(ctx context.Context, _ mail) error {
			close(began)
			<-ctx.Done()
			return ctx.Err()
		})
		q := queue(t, d, &r, nil)
		if err := q.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := q.Enqueue(t.Context(), mail{}); err != nil {
			t.Fatal(err)
		}
		<-began
		late, cancel := context.WithCancel(t.Context())
		cancel()
		if err := q.Stop(late); err != nil {
			t.Errorf("stop: %v", err)
		}
		state, err := db.Get[string](t.Context(), d, "SELECT CAST(state AS TEXT) FROM river_job")
		if err != nil || state == "running" || state == "completed" {
			t.Errorf("state is %q (%v), want one that is tried again", state, err)
		}
	})
}

func TestQueue_Start_afterCrash(t *testing.T) {
	each(t, func(t *testing.T, d *db.DB) {
		var r job.Registry
		ran := make(chan struct{})
		job.Register(&r, func(context.Context, mail) error { close(ran); return nil })
		q, err := job.New(d, &r, job.Config{Workers: job.Workers{Short: 2}, Owner: "this folder"})
		if err != nil {
			t.Fatal(err)
		}
		if err := q.Enqueue(t.Context(), mail{}); err != nil {
			t.Fatal(err)
		}
		by := `'["this folder"]'`
		if d.Dialect() == db.Postgres {
			by = "'{this folder}'"
			// Another process may be doing this one.
			other := `INSERT INTO river_job (args, attempt, attempted_at, attempted_by, kind, max_attempts, state)
				SELECT args, 1, ?, '{another folder}', kind, max_attempts, 'running' FROM river_job`
			if _, err := d.Exec(t.Context(), other, time.Now()); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := d.Exec(t.Context(), "UPDATE river_job SET state = 'running', attempt = 1, attempted_at = ?, attempted_by = "+by+" WHERE attempted_by IS NULL", time.Now()); err != nil {
			t.Fatal(err)
		}
		if err := q.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		<-ran
		if err := q.Stop(t.Context()); err != nil {
			t.Error(err)
		}
		left, err := db.Get[int](t.Context(), d, "SELECT COUNT(*) FROM river_job WHERE state = 'running'")
		if want := map[bool]int{true: 1}[d.Dialect() == db.Postgres]; err != nil || left != want {
			t.Errorf("%d jobs are still somebody's, %v, want %d", left, err, want)
		}
	})
}

func TestEvery(t *testing.T) {
	each(t, func(t *testing.T, d *db.DB) {
		var r job.Registry
		ran := make(chan struct{}, 1)
		job.Register(&r, func(context.Context, check) error { ran <- struct{}{}; return nil }, job.Unique())
		job.Every(&r, time.Hour, check{})
		q := queue(t, d, &r, nil)
		if err := q.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		<-ran
		if err := q.Stop(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

func TestRegister_panics(t *testing.T) {
	t.Parallel()
	defer func() {
		if recover() == nil {
			t.Error("one kind was registered twice")
		}
	}()
	var r job.Registry
	for range 2 {
		job.Register(&r, func(context.Context, mail) error { return nil })
	}
}

// TestWaiting lists what is not done yet.
func TestWaiting(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		var r job.Registry
		job.Register(&r, func(context.Context, deliver) error { return nil })
		q, err := job.New(d, &r, job.Config{})
		if err != nil {
			t.Fatal(err)
		}
		for id := range int64(3) {
			if err := q.Enqueue(t.Context(), deliver{NoteID: id + 1}); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := d.Exec(t.Context(), "UPDATE river_job SET state = 'completed', finalized_at = ? WHERE id = (SELECT min(id) FROM river_job)", time.Now()); err != nil {
			t.Fatal(err)
		}
		got, err := job.Waiting[deliver](t.Context(), d)
		if want := []deliver{{2}, {3}}; err != nil || !slices.Equal(got, want) {
			t.Errorf("got %v, %v, want %v", got, err, want)
		}
	})
}

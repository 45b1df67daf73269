package job_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/base/job"
)

// Large arguments are stored compressed and reach the job as they were; ones that are too large even so are refused, or only logged.
func TestQueue_sizes(t *testing.T) {
	each(t, func(t *testing.T, d *db.DB) {
		var r job.Registry
		var mu sync.Mutex
		var got []int
		job.Register(&r, func(_ context.Context, m mail) error {
			mu.Lock()
			defer mu.Unlock()
			got = append(got, len(m.To))
			return nil
		})
		var logged bytes.Buffer
		sizes := job.Sizes{Compress: true, Threshold: 1000}
		q, err := job.New(d, &r, job.Config{Logger: slog.New(slog.NewTextHandler(&logged, nil)), Sizes: func() job.Sizes { return sizes }})
		if err != nil {
			t.Fatal(err)
		}
		large := mail{To: strings.Repeat("x", 50_000)}
		stored := func() int {
			t.Helper()
			n, err := db.Get[int](t.Context(), d, "SELECT length(CAST(args AS TEXT)) FROM river_job WHERE state = 'available' ORDER BY id DESC LIMIT 1")
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
		if err := q.EnqueueAll(t.Context(), []job.Args{mail{To: "small"}, large}); err != nil {
			t.Fatal(err)
		}
		if n := stored(); n > 1000 {
			t.Errorf("%d bytes are stored, want them compressed", n)
		}
		waiting, err := job.Waiting[mail](t.Context(), d)
		if err != nil || len(waiting) != 2 || waiting[1] != large {
			t.Errorf("%d jobs wait, %v; want the arguments as they were", len(waiting), err)
		}
		if err := job.Save(t.Context(), d, func(s job.Saved) error {
			if !strings.HasPrefix(string(s.Args), `{"to"`) && !strings.HasPrefix(string(s.Args), `{"to":`) {
				t.Errorf("saved %.40s", s.Args)
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		drain(t, q)
		if len(got) != 2 || max(got[0], got[1]) != 50_000 {
			t.Errorf("the jobs saw %v", got)
		}

		sizes = job.Sizes{Compress: true, Threshold: 1 << 20, Most: 10_000}
		var refused *job.TooLarge
		if err := q.Enqueue(t.Context(), large); !errors.As(err, &refused) || refused.Kind != "mail" {
			t.Errorf("got %v, want the large job refused", err)
		}
		sizes.Most = 1
		if err := q.Enqueue(t.Context(), mail{To: "small"}); err != nil {
			t.Errorf("a job of ids: %v", err)
		}
		sizes.Threshold, sizes.Most = 0, 10_000
		if err := q.Enqueue(t.Context(), large); err != nil {
			t.Errorf("compressed it fits, and is refused: %v", err)
		}
		sizes = job.Sizes{Most: 10_000}
		if err := q.Enqueue(t.Context(), large); err != nil || stored() < 50_000 || !strings.Contains(logged.String(), "job is large") {
			t.Errorf("only tracked: %v, %d bytes, log %s", err, stored(), logged.String())
		}
		drain(t, q)
	})
}

// Jobs of maintenance wait where more run than are allowed, and go on when more are.
func TestQueue_background(t *testing.T) {
	each(t, func(t *testing.T, d *db.DB) {
		var r job.Registry
		var mu sync.Mutex
		running, most, ended, allowed := 0, 0, 0, 0
		job.Register(&r, func(ctx context.Context, _ mail) error {
			mu.Lock()
			running++
			most = max(most, running)
			mu.Unlock()
			select {
			case <-time.After(50 * time.Millisecond): // so that others could begin
			case <-ctx.Done():
			}
			mu.Lock()
			defer mu.Unlock()
			running--
			ended++
			return nil
		}, job.On(job.Maintenance))
		q, err := job.New(d, &r, job.Config{Background: func() int {
			mu.Lock()
			defer mu.Unlock()
			return allowed
		}})
		if err != nil {
			t.Fatal(err)
		}
		if err := q.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := q.Stop(context.Background()); err != nil {
				t.Error(err)
			}
		})
		if err := q.EnqueueAll(t.Context(), []job.Args{mail{To: "a"}, mail{To: "b"}, mail{To: "c"}}); err != nil {
			t.Fatal(err)
		}
		until(t, "a job that is put off", func() bool {
			n, err := db.Get[int](t.Context(), d, "SELECT COUNT(*) FROM river_job WHERE kind = 'mail' AND state IN ('available', 'scheduled') AND scheduled_at > created_at")
			return err == nil && n > 0
		})
		mu.Lock()
		if ended != 0 || most != 0 {
			t.Errorf("%d jobs ran where none may", ended)
		}
		allowed = 1
		mu.Unlock()
		until(t, "the end of all jobs", func() bool { mu.Lock(); defer mu.Unlock(); return ended == 3 })
		if most != 1 {
			t.Errorf("%d jobs ran at a time, want 1", most)
		}
	})
}

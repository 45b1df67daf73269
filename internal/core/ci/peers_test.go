package ci_test

import (
	"context"
	"testing"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/base/db/dbtest"
	"tenon/internal/core/ci"
	"tenon/internal/core/runner"
)

// TestService_peers lets a runner wait at one server for a job that becomes pending at another one of the same database, and for its own pause.
func TestService_peers(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		if !d.Shared() {
			return // SQLite has one server
		}
		w := newWorld(t, d)
		w.push("main", yml(oneJob), "Configure")
		token := w.runner(runner.InstanceType, nil)
		w.run(token, "build")
		far := w.another()
		w.ci.Forget() // what came before would wake a runner that finds nothing
		w.ci.Start()
		t.Cleanup(func() { check(t, w.ci.Stop(context.Background())) })
		far.SetPoll(time.Minute) // so that only news end it
		far.Start()
		t.Cleanup(func() { check(t, far.Stop(context.Background())) })
		eventually(t, "the other server is heard", far.Hears)

		type answer struct {
			got *ci.Assignment
			err error
		}
		ask := func() chan answer {
			_, value, err := far.Request(t.Context(), ci.Ask{Token: token, SystemID: "s", Features: features()})
			check(t, err)
			out := make(chan answer, 1)
			go func() {
				a, _, err := far.Request(context.WithoutCancel(t.Context()), ci.Ask{Token: token, SystemID: "s", LastUpdate: value, Features: features()})
				out <- answer{a, err}
			}()
			eventually(t, "a runner waits there", func() bool { return far.Waiters() == 1 })
			return out
		}
		within := func(what string, of chan answer) answer {
			t.Helper()
			select {
			case a := <-of:
				return a
			case <-time.After(30 * time.Second):
				t.Fatal(what + ": the runner goes on waiting")
				return answer{}
			}
		}
		waits := ask()
		w.push("side", yml(oneJob), "Again")
		w.drain()
		if a := within("a job", waits); a.err != nil || a.got == nil || a.got.Job.Name != "build" {
			t.Fatalf("a job that became pending elsewhere: %+v", a)
		} else {
			w.succeed(a.got)
		}
		waits = ask()
		w.exec("UPDATE runners SET paused = true WHERE digest IS NOT NULL")
		check(t, w.ci.OnRunner(t.Context(), 1))
		if a := within("a pause", waits); a.err != nil || a.got != nil {
			t.Errorf("after a pause elsewhere: %+v", a)
		}
	})
}

package hookevent_test

import (
	"errors"
	"slices"
	"testing"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/core/approval/approvaltest"
	"tenon/internal/core/authz"
	"tenon/internal/core/mergerequest"
)

// TestService_order has many events of one group wait before one of another: groups take turns, each in the order of its events, and
// an event that fails holds up none. Where a hook of the instance listens, all keep their order.
func TestService_order(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		m := w.Open("topic", approvaltest.Files{"b": "b\n"})
		w.drain()
		w.listener.take()
		const many = 60
		wait := func(title string) (last int64) {
			t.Helper()
			w.update(m.IID, mergerequest.Changes{Title: new(title)})
			tree, err := db.Get[authz.NamespaceID](t.Context(), w.DB, "SELECT tree_id FROM hook_events")
			approvaltest.Check(t, err)
			approvaltest.Equal(t, "tree", tree, w.GroupID)
			for range many - 1 {
				w.Exec("INSERT INTO hook_events (tree_id, kind, head, data, attempts, created_at) SELECT tree_id, kind, head, data, 0, created_at FROM hook_events ORDER BY id LIMIT 1")
			}
			w.Exec("INSERT INTO hook_events (tree_id, kind, head, data, attempts, created_at) SELECT 0, kind, head, data, 0, created_at FROM hook_events ORDER BY id LIMIT 1")
			last, err = db.Get[int64](t.Context(), w.DB, "SELECT MAX(id) FROM hook_events")
			approvaltest.Check(t, err)
			return last
		}
		received := func() (out []int64) {
			for _, m := range w.listener.take() {
				out = append(out, m.Event)
			}
			return out
		}

		w.listener.local = true
		last := wait("In turns")
		w.Exec("UPDATE hook_events SET data = 'nonsense' WHERE id = (SELECT MIN(id) FROM hook_events)")
		w.again()
		if err := w.Jobs.Drain(t.Context()); err == nil {
			t.Error("no error of an event whose body cannot be built")
		}
		got := received()
		approvaltest.Equal(t, "received", len(got), many)
		if at := slices.Index(got, last); at < 0 || at > 5 {
			t.Errorf("the event of the other group was number %d", at)
		}
		got = slices.DeleteFunc(got, func(id int64) bool { return id == last })
		approvaltest.Equal(t, "events of one group keep their order", slices.IsSorted(got), true)
		approvaltest.Equal(t, "left", w.recorded(), 1)
		w.Exec("DELETE FROM hook_events")

		w.listener.local = false
		wait("In order")
		w.drain()
		got = received()
		approvaltest.Equal(t, "received with a hook of the instance", len(got), many+1)
		approvaltest.Equal(t, "all keep their order", slices.IsSorted(got), true)

		wait("Away")
		w.listener.away = 1
		w.again()
		if err := w.Jobs.Drain(t.Context()); !errors.Is(err, errs.ErrAway) {
			t.Errorf("the database is away: %v", err)
		}
		approvaltest.Equal(t, "received while the database is away", len(received()), 0)
		attempts, err := db.Get[int](t.Context(), w.DB, "SELECT MAX(attempts) FROM hook_events")
		approvaltest.Check(t, err)
		approvaltest.Equal(t, "attempts, which are not the fault of an event", attempts, 0)
		w.drain()
		got = received()
		approvaltest.Equal(t, "received once it is back", len(got), many+1)
		approvaltest.Equal(t, "all keep their order", slices.IsSorted(got), true)
	})
}

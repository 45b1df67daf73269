package setting_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/base/db/dbtest"
	"tenon/internal/base/event"
	"tenon/internal/core/authz"
	"tenon/internal/core/setting"
)

// Administrators who change one setting at the same time each leave a record of what they
// found: the records make a chain from the default to what is in force.
func TestService_Update_tells_what_it_found(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		bus := &event.Bus{}
		store := setting.New(d, time.Now)
		s := setting.NewService(setting.Deps{Store: store, Policy: authz.New(d, time.Now), Bus: bus})
		var mu sync.Mutex
		next := map[any]any{} // from each value to the one after it
		event.On(bus, "test", func(ctx context.Context, e setting.Changed) error {
			d.AfterCommit(ctx, func() {
				mu.Lock()
				defer mu.Unlock()
				if to, twice := next[e.From]; twice {
					t.Errorf("%v became %v and %v", e.From, to, e.To)
				}
				next[e.From] = e.To
			})
			return nil
		})
		const callers, rounds = 4, 10
		var all sync.WaitGroup
		for caller := range callers {
			all.Go(func() {
				for round := range rounds {
					limit := 1 + caller*rounds + round
					if _, err := s.Update(t.Context(), authz.System(), map[string]any{"default_projects_limit": limit}); err != nil {
						t.Error(err)
					}
				}
			})
		}
		all.Wait()
		at, steps := any(100_000), 0
		for to, more := next[at]; more; to, more = next[at] {
			at, steps = to, steps+1
		}
		if steps != callers*rounds || at != store.Current().DefaultProjectsLimit {
			t.Errorf("a chain of %d changes to %v, want %d to %d", steps, at, callers*rounds, store.Current().DefaultProjectsLimit)
		}
	})
}

// What is stored and cannot be read again is not in force: the caller gets an error, as the answer
// would have the old values.
func TestService_Update_not_in_force(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		bus := &event.Bus{}
		store := setting.New(d, time.Now)
		s := setting.NewService(setting.Deps{Store: store, Policy: authz.New(d, time.Now), Bus: bus})
		event.On(bus, "test", func(ctx context.Context, e setting.Changed) error {
			d.AfterCommit(ctx, func() {
				if _, err := d.Exec(t.Context(), "ALTER TABLE settings RENAME TO away"); err != nil {
					t.Error(err)
				}
			})
			return nil
		})
		if got, err := s.Update(t.Context(), authz.System(), map[string]any{"default_projects_limit": 7}); err == nil {
			t.Errorf("got a limit of %d, want an error", got.DefaultProjectsLimit)
		}
		if _, err := d.Exec(t.Context(), "ALTER TABLE away RENAME TO settings"); err != nil {
			t.Fatal(err)
		}
		if err := store.Open(t.Context()); err != nil || store.Current().DefaultProjectsLimit != 7 {
			t.Errorf("read again: %d, %v; want 7", store.Current().DefaultProjectsLimit, err)
		}
	})
}

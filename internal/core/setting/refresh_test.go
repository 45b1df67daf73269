package setting

import (
	"testing"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/base/db/dbtest"
)

// TestStore_Start changes a setting as another process does: it is in force here with the next look at the database, which is at most
// a minute away.
func TestStore_Start(t *testing.T) {
	t.Parallel()
	if refreshEvery > time.Minute {
		t.Errorf("the database is looked at every %v, want a minute at most", refreshEvery)
	}
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		here, other := New(d, time.Now), New(d, time.Now)
		if here.every != refreshEvery {
			t.Errorf("every %v", here.every)
		}
		here.every = 10 * time.Millisecond
		here.Start()
		if err := other.Set(t.Context(), "default_projects_limit", 7); err != nil {
			t.Fatal(err)
		}
		tick, late := time.NewTicker(5*time.Millisecond), time.After(20*time.Second)
		defer tick.Stop()
		for here.Current().DefaultProjectsLimit != 7 {
			select {
			case <-tick.C:
			case <-late:
				t.Fatal("what another process set is not in force")
			}
		}
		if err := here.Stop(t.Context()); err != nil {
			t.Fatal(err)
		}
	})
}

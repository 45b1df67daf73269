package dbtest_test

import (
	"sync/atomic"
	"testing"

	"tenon/internal/base/db"
	"tenon/internal/base/db/dbtest"
)

// TestEach writes to a database that another test wrote to, unless each has its own.
func TestEach(t *testing.T) {
	t.Parallel()
	var engines atomic.Int64
	t.Run("group", func(t *testing.T) {
		for range 3 {
			dbtest.Each(t, func(t *testing.T, d *db.DB) {
				engines.Add(1)
				for _, table := range []string{"users", "river_job"} {
					if n, err := db.Get[int](t.Context(), d, "SELECT count(*) FROM "+table); err != nil || n != 0 {
						t.Errorf("%s has %d rows (%v), want none", table, n, err)
					}
				}
				if _, err := db.Get[int](t.Context(), d, "SELECT count(*) FROM mine"); err == nil {
					t.Error("another test's table is here")
				}
				if _, err := d.Exec(t.Context(), "CREATE TABLE mine (a BIGINT)"); err != nil {
					t.Error(err)
				}
			})
		}
	})
	if n := engines.Load(); n != 3 && n != 6 {
		t.Errorf("ran %d times, want 3 times for each engine at hand", n)
	}
}

func TestCount(t *testing.T) {
	t.Parallel()
	d := dbtest.Open(t, false)
	if n := dbtest.Count(t, d, func() {
		for range 3 {
			if err := d.Ping(t.Context()); err != nil {
				t.Error(err)
			}
		}
	}); n != 3 {
		t.Errorf("counted %d statements, want 3", n)
	}
}

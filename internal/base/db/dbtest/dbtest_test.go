package dbtest_test

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"sync/atomic"
	"testing"
	"time"

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

func TestTransactions(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		insert := func(ctx context.Context) {
			if _, err := d.Exec(ctx, "INSERT INTO settings (name, value, updated_at) VALUES (?, ?, ?)", rand.Text(), "1", time.Now()); err != nil {
				t.Error(err)
			}
		}
		all := dbtest.Transactions(t, d, func() {
			insert(t.Context())
			if err := d.InTx(t.Context(), func(ctx context.Context) error {
				for range 3 {
					insert(ctx)
				}
				_, err := db.Get[int](ctx, d, "SELECT COUNT(*) FROM settings")
				return err
			}); err != nil {
				t.Error(err)
			}
			if err := d.InTx(t.Context(), func(ctx context.Context) error { return io.EOF }); !errors.Is(err, io.EOF) {
				t.Error(err)
			}
			if _, err := db.Get[int](t.Context(), d, "SELECT COUNT(*) FROM settings"); err != nil { // reads are none
				t.Error(err)
			}
		})
		if len(all) != 3 || all[0].Statements != 1 || all[1].Statements != 4 || all[1].Rows != 3 || all[2].Err == nil || all[2].Statements != 0 {
			t.Errorf("got %+v, want transactions of 1 and 4 statements, and one that was undone", all)
		}
		if statements, rows := dbtest.Largest(all); statements != 4 || rows != 3 {
			t.Errorf("largest: got %d and %d, want 4 and 3", statements, rows)
		}
	})
}

func TestFlat(t *testing.T) {
	t.Parallel()
	d := dbtest.Open(t, false)
	for _, tt := range []struct {
		name       string
		statements func(n int) int
		fails      bool
	}{
		{"flat", func(int) int { return 5 }, false},
		{"grows", func(n int) int { return n }, true},
	} {
		f := &failure{TB: t}
		dbtest.Flat(f, d, func(n int) func() {
			return func() {
				if err := d.InTx(t.Context(), func(ctx context.Context) error {
					for range tt.statements(n) {
						if err := d.Ping(ctx); err != nil {
							return err
						}
					}
					return nil
				}); err != nil {
					t.Error(err)
				}
			}
		})
		if f.failed != tt.fails {
			t.Errorf("%s: failed is %t, want %t", tt.name, f.failed, tt.fails)
		}
	}
}

// failure remembers that a test failed instead of failing.
type failure struct {
	testing.TB
	failed bool
}

func (f *failure) Errorf(string, ...any) { f.failed = true }

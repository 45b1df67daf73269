package db_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"tenon/internal/base/db"
)

func count(t *testing.T, d *db.DB, where string, args ...any) int {
	t.Helper()
	return get[int](t, d, "SELECT count(*) FROM pairs "+where, args...)
}

// put adds a row to pairs, whose key is unique.
func put(ctx context.Context, d *db.DB, a, b int) error {
	_, err := d.Exec(ctx, "INSERT INTO pairs (a, b, n) VALUES (?, ?, 0)", a, b)
	return err
}

func TestDB_InTx(t *testing.T) {
	each(t, func(t *testing.T, d *db.DB) {
		refused := errors.New("refused")
		var hooks []string
		hook := func(ctx context.Context, name string) {
			d.AfterCommit(ctx, func() { hooks = append(hooks, name) })
		}
		if err := d.InTx(t.Context(), func(ctx context.Context) error {
			hook(ctx, "outer")
			if err := put(ctx, d, 1, 1); err != nil {
				return err
			}
			if n, err := db.Get[int](ctx, d, "SELECT count(*) FROM pairs"); err != nil || n != 1 {
				t.Errorf("a transaction sees %d rows of its own (%v), want 1", n, err)
			}
			if n := count(t, d, ""); n != 0 { // with the test's own context
				t.Errorf("others see %d rows before the commit, want 0", n)
			}
			return d.InTx(ctx, func(ctx context.Context) error {
				hook(ctx, "inner")
				return put(ctx, d, 1, 2)
			})
		}); err != nil {
			t.Fatal(err)
		}
		if err := d.InTx(t.Context(), func(ctx context.Context) error {
			hook(ctx, "undone")
			if err := put(ctx, d, 2, 1); err != nil {
				return err
			}
			return refused
		}); !errors.Is(err, refused) {
			t.Errorf("got %v, want the closure's error", err)
		}
		hook(t.Context(), "at once")
		if got := fmt.Sprint(hooks); got != "[outer inner at once]" {
			t.Errorf("hooks ran: %s", got)
		}
		if n := count(t, d, ""); n != 2 {
			t.Errorf("%d rows are left, want 2", n)
		}
	})
}

func TestDB_InTx_failed(t *testing.T) {
	each(t, func(t *testing.T, d *db.DB) {
		if err := put(t.Context(), d, 1, 1); err != nil {
			t.Fatal(err)
		}
		hiding := map[string]func(ctx context.Context) error{
			"statement": func(ctx context.Context) error { _ = put(ctx, d, 1, 1); return nil },
			"joined": func(ctx context.Context) error {
				_ = d.InTx(ctx, func(context.Context) error { return errors.New("refused") })
				return nil
			},
			"later statement": func(ctx context.Context) error {
				_ = put(ctx, d, 1, 1)
				if err := put(ctx, d, 3, 3); err == nil {
					t.Error("a statement ran after a failure")
				}
				return nil
			},
		}
		for name, fn := range hiding {
			err := d.InTx(t.Context(), func(ctx context.Context) error {
				if err := put(ctx, d, 2, 2); err != nil {
					return err
				}
				return fn(ctx)
			})
			if err == nil || count(t, d, "") != 1 {
				t.Errorf("%s: hidden error was committed (%v)", name, err)
			}
		}
		if err := d.InTx(t.Context(), func(ctx context.Context) error {
			if _, err := db.Get[int](ctx, d, "SELECT n FROM pairs WHERE a = 9"); !errors.Is(err, db.ErrNotFound) {
				t.Errorf("got %v, want ErrNotFound", err)
			}
			return put(ctx, d, 2, 2)
		}); err != nil {
			t.Errorf("ErrNotFound failed the transaction: %v", err)
		}
	})
}

func TestDB_InTx_ended(t *testing.T) {
	each(t, func(t *testing.T, d *db.DB) {
		var late context.Context
		if err := d.InTx(t.Context(), func(ctx context.Context) error { late = ctx; return nil }); err != nil {
			t.Fatal(err)
		}
		if err := put(late, d, 1, 1); err == nil {
			t.Error("a statement ran in a transaction that had ended")
		}
		if err := d.InTx(late, func(ctx context.Context) error { return put(ctx, d, 1, 1) }); err == nil {
			t.Error("a closure joined a transaction that had ended")
		}
		if n := count(t, d, ""); n != 0 {
			t.Errorf("%d rows were written", n)
		}
	})
}

func TestDB_InSavepoint(t *testing.T) {
	each(t, func(t *testing.T, d *db.DB) {
		var hooks []string
		err := d.InTx(t.Context(), func(ctx context.Context) error {
			if err := put(ctx, d, 1, 1); err != nil {
				return err
			}
			err := d.InSavepoint(ctx, func(ctx context.Context) error {
				d.AfterCommit(ctx, func() { hooks = append(hooks, "undone") })
				if err := put(ctx, d, 2, 2); err != nil {
					return err
				}
				return d.InSavepoint(ctx, func(ctx context.Context) error { return put(ctx, d, 1, 1) })
			})
			if !errors.Is(err, db.ErrDuplicate) {
				t.Errorf("got %v, want ErrDuplicate", err)
			}
			if err := d.InSavepoint(ctx, func(ctx context.Context) error {
				d.AfterCommit(ctx, func() { hooks = append(hooks, "kept") })
				return put(ctx, d, 3, 3)
			}); err != nil {
				return err
			}
			return put(ctx, d, 4, 4)
		})
		if err != nil {
			t.Fatal(err)
		}
		if n := count(t, d, "WHERE a IN (1, 3, 4)"); n != 3 || count(t, d, "") != 3 {
			t.Errorf("%d of the rows are there, want 1, 3 and 4", n)
		}
		if got := fmt.Sprint(hooks); got != "[kept]" {
			t.Errorf("hooks ran: %s", got)
		}
	})
}

// A savepoint that changes more than the memory of its journal holds is undone as a whole.
func TestDB_InSavepoint_large(t *testing.T) {
	each(t, func(t *testing.T, d *db.DB) {
		ctx := t.Context()
		if _, err := d.Exec(ctx, "CREATE TABLE texts (id BIGINT PRIMARY KEY, body TEXT NOT NULL)"); err != nil {
			t.Fatal(err)
		}
		const rows = 1000
		body := strings.Repeat("x", 1000)
		err := d.InTx(ctx, func(ctx context.Context) error {
			for id := range rows {
				if _, err := d.Exec(ctx, "INSERT INTO texts (id, body) VALUES (?, ?)", id, body); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		undone := errors.New("undone")
		err = d.InTx(ctx, func(ctx context.Context) error {
			err := d.InSavepoint(ctx, func(ctx context.Context) error {
				for id := range rows {
					if _, err := d.Exec(ctx, "UPDATE texts SET body = ? WHERE id = ?", strings.Repeat("y", 1000), id); err != nil {
						return err
					}
				}
				return undone
			})
			if !errors.Is(err, undone) {
				t.Errorf("got %v, want %v", err, undone)
			}
			_, err = d.Exec(ctx, "INSERT INTO texts (id, body) VALUES (?, ?)", rows, body)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		if n, err := db.Get[int](ctx, d, "SELECT count(*) FROM texts WHERE body = ?", body); err != nil || n != rows+1 {
			t.Errorf("rows with their text: got %d, %v; want %d", n, err, rows+1)
		}
	})
}

// TestDB_InTx_crowd lets many callers succeed, fail, panic, leave and give up at
// once: a caller who was told yes has a row, and no other caller.
func TestDB_InTx_crowd(t *testing.T) {
	each(t, func(t *testing.T, d *db.DB) {
		const callers, rounds = 16, 60
		refused := errors.New("refused")
		var answered, hooks atomic.Int64
		var all sync.WaitGroup
		for caller := range callers {
			all.Go(func() {
				for round := range rounds {
					call(t, d, caller, round, refused, &answered, &hooks)
				}
			})
		}
		all.Wait()
		rows := count(t, d, "WHERE a >= 0")
		if int64(rows) != answered.Load() || hooks.Load() != answered.Load() {
			t.Errorf("%d callers were told yes, %d rows are there, %d hooks ran", answered.Load(), rows, hooks.Load())
		}
		if rows < callers*rounds/4 {
			t.Errorf("only %d of %d calls went through", rows, callers*rounds)
		}
	})
}

// call is one of several ways to begin and end a transaction.
func call(t *testing.T, d *db.DB, caller, round int, refused error, answered, hooks *atomic.Int64) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	way := (caller + round) % 7
	var err error
	ran := make(chan struct{}) // a goroutine, because one way ends it
	go func() {
		defer close(ran)
		defer func() {
			if v := recover(); v != nil {
				err = fmt.Errorf("panic: %v", v)
			}
		}()
		err = errors.New("did not return")
		err = d.InTx(ctx, func(ctx context.Context) error {
			d.AfterCommit(ctx, func() { hooks.Add(1) })
			if err := put(ctx, d, caller, round); err != nil {
				return err
			}
			switch way {
			case 1:
				return refused
			case 2:
				return put(ctx, d, caller, round)
			case 3:
				panic("ouch")
			case 4:
				runtime.Goexit()
			case 5:
				cancel()
				if err := put(ctx, d, -1-caller, round); err != nil {
					return err
				}
			}
			return nil
		})
	}()
	<-ran
	if err == nil {
		answered.Add(1)
	}
	want := map[int]func(error) bool{
		0: func(err error) bool { return err == nil },
		1: func(err error) bool { return errors.Is(err, refused) },
		2: func(err error) bool { return errors.Is(err, db.ErrDuplicate) },
		3: func(err error) bool { return err != nil && err.Error() == "panic: ouch" },
		4: func(err error) bool { return err != nil && err.Error() == "did not return" },
		5: func(err error) bool { return err == nil || errors.Is(err, context.Canceled) },
		6: func(err error) bool { return err == nil },
	}
	if !want[way](err) {
		t.Errorf("way %d of caller %d: got %v", way, caller, err)
	}
}

// TestDB_InTx_refused_for_good lets many callers write the same row: a caller who hears that it
// is there already finds it, although the one who wrote it may share a batch with them.
func TestDB_InTx_refused_for_good(t *testing.T) {
	each(t, func(t *testing.T, d *db.DB) {
		const callers, rounds = 12, 40
		var all sync.WaitGroup
		for range callers {
			all.Go(func() {
				for round := range rounds {
					err := d.InTx(t.Context(), func(ctx context.Context) error { return put(ctx, d, round, round) })
					if err != nil && !errors.Is(err, db.ErrDuplicate) {
						t.Errorf("round %d: got %v", round, err)
					}
					if n := count(t, d, fmt.Sprintf("WHERE a = %d AND b = %d", round, round)); n != 1 {
						t.Errorf("round %d: told %v, found %d rows", round, err, n)
					}
				}
			})
		}
		all.Wait()
	})
}

// TestDB_InTx_poisoned loses the transaction that a batch shares, and with it no caller's work.
func TestDB_InTx_poisoned(t *testing.T) {
	each(t, func(t *testing.T, d *db.DB) {
		if d.Dialect() != db.SQLite {
			t.Skip("closures share nothing on PostgreSQL")
		}
		const callers, rounds = 12, 40
		var answered, runs atomic.Int64
		var all sync.WaitGroup
		for caller := range callers {
			all.Go(func() {
				for round := range rounds {
					evil := caller == 0 && round%4 == 0
					err := d.InTx(t.Context(), func(ctx context.Context) error {
						runs.Add(1)
						if err := put(ctx, d, caller, round); err != nil || !evil {
							return err
						}
						_, err := d.Exec(ctx, "INSERT OR ROLLBACK INTO pairs (a, b, n) VALUES (?, ?, 0)", caller, round)
						return err
					})
					if evil != errors.Is(err, db.ErrDuplicate) || evil != (err != nil) {
						t.Errorf("caller %d round %d: got %v", caller, round, err)
					}
					if err == nil {
						answered.Add(1)
					}
				}
			})
		}
		all.Wait()
		if n := count(t, d, ""); int64(n) != answered.Load() || n != callers*rounds-rounds/4 {
			t.Errorf("%d callers were told yes and %d rows are there, want %d", answered.Load(), n, callers*rounds-rounds/4)
		}
		if runs.Load() <= callers*rounds {
			t.Log("no batch had more than one transaction, so none was run again")
		}
	})
}

// TestDB_InTx_deferred breaks the commit itself.
func TestDB_InTx_deferred(t *testing.T) {
	each(t, func(t *testing.T, d *db.DB) {
		exec(t, d, "CREATE TABLE late (a BIGINT NOT NULL REFERENCES things (id) DEFERRABLE INITIALLY DEFERRED)")
		var all sync.WaitGroup
		var answered atomic.Int64
		for caller := range 8 {
			all.Go(func() {
				for round := range 20 {
					err := d.InTx(t.Context(), func(ctx context.Context) error {
						if caller == 0 {
							if _, err := d.Exec(ctx, "INSERT INTO late (a) VALUES (?)", 1); err != nil {
								return err
							}
						}
						return put(ctx, d, caller, round)
					})
					if (caller == 0) != errors.Is(err, db.ErrReference) || (caller == 0) != (err != nil) {
						t.Errorf("caller %d: got %v", caller, err)
					}
					if err == nil {
						answered.Add(1)
					}
				}
			})
		}
		all.Wait()
		if n := count(t, d, ""); int64(n) != answered.Load() || n != 140 {
			t.Errorf("%d told yes, %d rows, want 140", answered.Load(), n)
		}
	})
}

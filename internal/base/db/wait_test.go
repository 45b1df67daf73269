package db_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"tenon/internal/base/db"
)

func TestDB_InTx_cancelledBefore(t *testing.T) {
	each(t, func(t *testing.T, d *db.DB) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		ran := false
		err := d.InTx(ctx, func(context.Context) error { ran = true; return nil })
		if !errors.Is(err, context.Canceled) || ran {
			t.Errorf("got %v, ran %v, want context.Canceled and no run", err, ran)
		}
		// A caller that gives up in the queue never runs either.
		ctx, cancel = context.WithCancel(t.Context())
		if err := d.InTx(t.Context(), func(context.Context) error {
			waiting := make(chan error, 1)
			if d.Dialect() == db.SQLite {
				go func() { waiting <- d.InTx(ctx, func(context.Context) error { ran = true; return nil }) }()
				cancel()
				if err := <-waiting; !errors.Is(err, context.Canceled) || ran {
					t.Errorf("in the queue: got %v, ran %v", err, ran)
				}
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		cancel()
	})
}

func TestDB_InTx_outerContext(t *testing.T) {
	t.Parallel()
	log := &recorder{}
	d, err := db.Open(t.Context(), db.Config{URL: "sqlite:" + t.TempDir() + "/x.db", Logger: log.logger(), Stall: 20 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	exec(t, d, "CREATE TABLE pairs (a BIGINT, b BIGINT, n BIGINT)")
	outer := t.Context()
	err = d.InTx(t.Context(), func(context.Context) error { return put(outer, d, 1, 1) })
	if !errors.Is(err, db.ErrStalled) {
		t.Errorf("got %v, want ErrStalled", err)
	}
	if !log.has("holds the database's writer for too long", "TestDB_InTx_outerContext") {
		t.Error("the log does not show where the transaction waits for itself")
	}
	if err := put(t.Context(), d, 2, 2); err != nil {
		t.Errorf("the writer is not free again: %v", err)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	if err := put(t.Context(), d, 3, 3); !errors.Is(err, db.ErrClosed) {
		t.Errorf("after Close: got %v, want ErrClosed", err)
	}
}

func TestDB_InTx_serialization(t *testing.T) {
	each(t, func(t *testing.T, d *db.DB) {
		for i := range 2 {
			if err := put(t.Context(), d, i, 0); err != nil {
				t.Fatal(err)
			}
		}
		// Two callers that take two rows in opposite order meet a deadlock on PostgreSQL.
		var all sync.WaitGroup
		for caller := range 2 {
			all.Go(func() {
				for range 20 {
					if err := d.InTx(t.Context(), func(ctx context.Context) error {
						for _, a := range []int{caller, 1 - caller} {
							if _, err := d.Exec(ctx, "UPDATE pairs SET n = n + 1 WHERE a = ?", a); err != nil {
								return err
							}
						}
						return nil
					}); err != nil {
						t.Errorf("caller %d: %v", caller, err)
					}
				}
			})
		}
		all.Wait()
		if n := count(t, d, "WHERE n = 40"); n != 2 {
			t.Errorf("%d rows were counted up 40 times, want 2", n)
		}
	})
}

func TestDB_Lock(t *testing.T) {
	each(t, func(t *testing.T, d *db.DB) {
		var all sync.WaitGroup
		for range 6 {
			all.Go(func() {
				if err := d.InTx(t.Context(), func(ctx context.Context) error {
					if err := d.Lock(ctx, "numbers"); err != nil {
						return err
					}
					n, err := db.Get[int](ctx, d, "SELECT count(*) FROM pairs")
					if err != nil {
						return err
					}
					return put(ctx, d, n, n)
				}); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if n := get[int](t, d, "SELECT max(a) FROM pairs"); n != 5 {
			t.Errorf("largest number is %d, want 5", n)
		}
		if err := d.Lock(t.Context(), "numbers"); err == nil {
			t.Error("a lock was taken outside a transaction")
		}
	})
}

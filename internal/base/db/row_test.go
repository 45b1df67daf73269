package db_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"tenon/internal/base/db"
)

// dated is a thing that says when it changed last.
type dated struct {
	ID   thingID `db:"id"`
	Kind kind    `db:"kind"`
	At   db.Time `db:"updated_at,readonly"`
}

func TestRow_If(t *testing.T) {
	each(t, func(t *testing.T, d *db.DB) {
		ctx, changed := t.Context(), errors.New("changed meanwhile")
		id := insert(t, d, thing{Name: "One", Made: day()})
		row := thingRow(id)
		row.Columns, row.From, row.Alias = "x.id, x.kind, x.made_at AS updated_at", "things x", "x"
		row.If = func(at time.Time) error {
			if !at.Equal(day().Truncate(time.Microsecond)) {
				t.Errorf("asked about %v, want %v", at, day())
			}
			return changed
		}
		unasked := func(context.Context, *dated) error {
			t.Error("asked about a row that its condition refuses")
			return nil
		}
		if _, err := db.Update(ctx, d, row, unasked); !errors.Is(err, changed) {
			t.Errorf("update: got %v, want %v", err, changed)
		}
		if _, err := db.Delete(ctx, d, row, unasked); !errors.Is(err, changed) {
			t.Errorf("delete: got %v, want %v", err, changed)
		}
		err := d.InTx(ctx, func(ctx context.Context) error {
			_, err := db.ForUpdate[dated](ctx, d, row)
			return err
		})
		if !errors.Is(err, changed) {
			t.Errorf("lock: got %v, want %v", err, changed)
		}
		timeless := thingRow(id)
		timeless.If = row.If
		if _, err := db.Delete[thing](ctx, d, timeless, nil); err == nil || errors.Is(err, changed) {
			t.Errorf("of a row without a time: got %v, want an error of its own", err)
		}
		row.If = func(time.Time) error { return nil }
		if _, err := db.Delete[dated](ctx, d, row, nil); err != nil {
			t.Errorf("allowed: got %v", err)
		}
	})
}

func TestRow_Missing(t *testing.T) {
	each(t, func(t *testing.T, d *db.DB) {
		ctx, gone := t.Context(), errors.New("no such thing")
		row := thingRow(99)
		row.Missing = gone
		if _, err := db.Delete[thing](ctx, d, row, nil); !errors.Is(err, gone) {
			t.Errorf("delete: got %v, want %v", err, gone)
		}
		if _, err := db.Update(ctx, d, row, func(context.Context, *thing) error { return nil }); !errors.Is(err, gone) {
			t.Errorf("update: got %v, want %v", err, gone)
		}
		err := d.InTx(ctx, func(ctx context.Context) error {
			if _, err := db.ForUpdate[thing](ctx, d, row); !errors.Is(err, gone) {
				t.Errorf("lock: got %v, want %v", err, gone)
			}
			return nil
		})
		if err != nil {
			t.Errorf("got %v, want a transaction that goes on", err)
		}
	})
}

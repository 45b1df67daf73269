package db_test

import (
	"context"
	"errors"
	"sync"
	"testing"

	"tenon/internal/base/db"
)

var errFullThings = errors.New("no more things")

func mostThings(n int) db.Bound {
	b := db.Bound{Table: "things", Most: n, Full: errFullThings}
	b.Of.And("kind = ?", "counted")
	return b
}

func TestCreate(t *testing.T) {
	each(t, func(t *testing.T, d *db.DB) {
		ctx := t.Context()
		row := thing{ID: 77, Name: "First", Made: day()}
		if err := db.Create(ctx, d, "things", &row); err != nil {
			t.Fatal(err)
		}
		first := row.ID
		if first == 77 || read(t, d, first).Name != "First" {
			t.Errorf("number %d, want one that the database gave, and the row below it", first)
		}
		// A closure that runs again makes a row, and not one with the number of its first run.
		undo := errors.New("undo")
		again := thing{Name: "Again", Made: day()}
		for _, want := range []error{undo, nil} {
			err := d.InTx(ctx, func(ctx context.Context) error {
				if err := db.Create(ctx, d, "things", &again); err != nil {
					return err
				}
				return want
			})
			if !errors.Is(err, want) {
				t.Errorf("got %v, want %v", err, want)
			}
		}
		if got := read(t, d, again.ID); got.Name != "Again" {
			t.Errorf("number %d names %q", again.ID, got.Name)
		}
		same := thing{Name: "FIRST", Made: day()}
		if err := db.Create(ctx, d, "things", &same); !errors.Is(err, db.ErrDuplicate) {
			t.Errorf("a second one: got %v, want %v", err, db.ErrDuplicate)
		}
		type unnumbered struct {
			Name string `db:"name"`
		}
		if err := db.Create(ctx, d, "things", &unnumbered{"None"}); err == nil {
			t.Error("a row without a number: no error")
		}
	})
}

func TestCreate_bound(t *testing.T) {
	each(t, func(t *testing.T, d *db.DB) {
		var wait sync.WaitGroup
		failures := make([]error, 50)
		for i := range failures {
			wait.Go(func() {
				row := thing{Name: string(rune('a'+i/10)) + string(rune('a'+i%10)), Kind: "counted", Made: day()}
				failures[i] = d.InTx(t.Context(), func(ctx context.Context) error {
					return db.Create(ctx, d, "things", &row, mostThings(7))
				})
			})
		}
		wait.Wait()
		made := 0
		for _, err := range failures {
			switch {
			case err == nil:
				made++
			case !errors.Is(err, errFullThings):
				t.Errorf("got %v, want %v", err, errFullThings)
			}
		}
		if got := get[int](t, d, "SELECT COUNT(*) FROM things WHERE kind = 'counted'"); got != 7 || made != 7 {
			t.Errorf("%d rows and %d calls that say so, want 7", got, made)
		}
		if err := db.Create(t.Context(), d, "things", &thing{Name: "alone", Made: day()}, mostThings(9)); err == nil {
			t.Error("a bound outside of a transaction: no error")
		}
	})
}

func TestDelete(t *testing.T) {
	each(t, func(t *testing.T, d *db.DB) {
		ctx := t.Context()
		id, refused := insert(t, d, thing{Name: "Gone", Kind: "box"}), errors.New("refused")
		_, err := db.Delete(ctx, d, thingRow(id), func(_ context.Context, row *thing) error {
			if row.Name != "Gone" {
				t.Errorf("asked about %+v", row)
			}
			return refused
		})
		if !errors.Is(err, refused) || read(t, d, id).Name != "Gone" {
			t.Errorf("refused: got %v", err)
		}
		other := thingRow(id)
		other.And.And("kind = ?", "bag")
		if _, err := db.Delete[thing](ctx, d, other, nil); !errors.Is(err, db.ErrNotFound) {
			t.Errorf("one of another kind: got %v, want %v", err, db.ErrNotFound)
		}
		before := d.Statements()
		if was, err := db.Delete[thing](ctx, d, thingRow(id), nil); err != nil || was.Name != "Gone" {
			t.Errorf("got %+v, %v", was, err)
		}
		if n := d.Statements() - before; n != 2 {
			t.Errorf("%d statements, want one that reads and one that deletes", n)
		}
		err = d.InTx(ctx, func(ctx context.Context) error {
			if _, err := db.Delete[thing](ctx, d, thingRow(id), nil); !errors.Is(err, db.ErrNotFound) {
				t.Errorf("again: got %v, want %v", err, db.ErrNotFound)
			}
			return db.Create(ctx, d, "things", &thing{Name: "Next", Made: day()})
		})
		if err != nil || get[int](t, d, "SELECT COUNT(*) FROM things WHERE name = 'Next'") != 1 {
			t.Errorf("after one that is not there: got %v, want a transaction that goes on", err)
		}
	})
}

package db_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

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

// Calls at one moment make one row, and each finds it.
func TestEnsure(t *testing.T) {
	type pencil struct {
		ID      int64   `db:"id"`
		Kind    string  `db:"kind"`
		Created db.Time `db:"created_at"`
		Updated db.Time `db:"updated_at"`
	}
	each(t, func(t *testing.T, d *db.DB) {
		ensure := func(kind string, condition func(time.Time) error) (of pencil, err error) {
			err = d.InTx(t.Context(), func(ctx context.Context) error {
				row, err := db.Ensure(ctx, d, db.Row{Table: "pencils", Now: day, If: condition}, func(ctx context.Context) (*pencil, error) {
					found, err := db.Get[pencil](ctx, d, "SELECT "+db.Columns[pencil]("")+" FROM pencils WHERE kind = ?", kind)
					if errors.Is(err, db.ErrNotFound) {
						return &pencil{Kind: kind}, nil
					}
					return &found, err
				})
				if err != nil {
					return err
				}
				of, err = db.ForUpdate[pencil](ctx, d, row)
				return err
			})
			return of, err
		}
		late := errors.New("it changed since")
		refuse := func(time.Time) error { return late }
		if p, err := ensure("soft", refuse); err != nil || p.Kind != "soft" || !p.Created.Equal(db.At(day()).Time) || !p.Updated.Equal(p.Created.Time) {
			t.Errorf("the first: %+v, %v", p, err)
		}
		if _, err := ensure("soft", refuse); !errors.Is(err, late) {
			t.Errorf("one that is there, with a condition: got %v, want %v", err, late)
		}
		var wait sync.WaitGroup
		for range 20 {
			wait.Go(func() {
				if p, err := ensure("hard", nil); err != nil || p.Kind != "hard" {
					t.Errorf("got %+v, %v", p, err)
				}
			})
		}
		wait.Wait()
		if n := get[int](t, d, "SELECT COUNT(*) FROM pencils"); n != 2 {
			t.Errorf("%d rows, want 2", n)
		}
		if _, err := db.Ensure(t.Context(), d, db.Row{Table: "pencils", Now: day}, func(context.Context) (*pencil, error) { return &pencil{}, nil }); err == nil {
			t.Error("outside of a transaction: no error")
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

package db_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tenon/internal/base/db"
)

func thingRow(id thingID) db.Row { return db.Row{Table: "things", ID: id} }

// change updates a thing or fails the test.
func change(t *testing.T, d *db.DB, id thingID, fn func(row *thing)) db.Change[thing] {
	t.Helper()
	out, err := db.Update(t.Context(), d, thingRow(id), func(_ context.Context, row *thing) error {
		fn(row)
		return nil
	})
	if err != nil {
		t.Fatalf("update: %v", err)
	}
	return out
}

func read(t *testing.T, d *db.DB, id thingID) thing {
	t.Helper()
	return get[thing](t, d, "SELECT "+db.Columns[thing]("")+" FROM things WHERE id = ?", id)
}

// TestUpdate_columns changes each kind of column and back.
func TestUpdate_columns(t *testing.T) {
	gone := db.At(day().Add(time.Hour))
	for _, tt := range []struct {
		column string
		change func(row *thing)
	}{
		{"name", func(row *thing) { row.Name = "Äpfel" }},
		{"kind", func(row *thing) { row.Kind = "bag" }},
		{"hidden", func(row *thing) { row.Hidden = false }},
		{"parent_id", func(row *thing) { row.Parent = nil }},
		{"made_at", func(row *thing) { row.Made = row.Made.Add(time.Microsecond) }},
		{"gone_at", func(row *thing) { row.Gone = nil }},
		{"gone_at", func(row *thing) { row.Gone.Time = row.Gone.Add(time.Hour) }},
		{"seen_at", func(row *thing) { row.Seen = db.NullTime{} }},
		{"data", func(row *thing) { row.Data = nil }},
		{"data", func(row *thing) { row.Data[0]++ }},
	} {
		t.Run(tt.column, func(t *testing.T) {
			each(t, func(t *testing.T, d *db.DB) {
				parent := insert(t, d, thing{Name: "Parent"})
				id := insert(t, d, thing{
					Name: "Child", Kind: "box", Hidden: true, Parent: &parent, Gone: &gone, Seen: db.NullTime{V: gone, Valid: true}, Data: []byte{1},
				})
				old := read(t, d, id)
				before := d.Statements()
				c := change(t, d, id, tt.change)
				if n := d.Statements() - before; n != 2 {
					t.Errorf("%d statements, want one that reads and one that writes", n)
				}
				if want := []string{tt.column}; !slices.Equal(c.Columns, want) || !c.Any() || !c.Has("x", tt.column) || c.Has("x") {
					t.Errorf("wrote %v, want %v", c.Columns, want)
				}
				if diff := cmp.Diff(old, c.Before); diff != "" {
					t.Errorf("before (-want +got):\n%s", diff)
				}
				if got := get[string](t, d, "SELECT name_fold FROM things WHERE id = ?", id); got != db.Fold(c.After.Name) {
					t.Errorf("folded name is %q of %q", got, c.After.Name)
				}
				if diff := cmp.Diff(read(t, d, id), c.After); diff != "" {
					t.Errorf("after (-stored +got):\n%s", diff)
				}
				change(t, d, id, func(row *thing) { *row = old })
				if diff := cmp.Diff(old, read(t, d, id)); diff != "" {
					t.Errorf("changed back (-want +got):\n%s", diff)
				}
			})
		})
	}
}

func TestUpdate_nothing(t *testing.T) {
	each(t, func(t *testing.T, d *db.DB) {
		id := insert(t, d, thing{Name: "Same", Data: []byte{1}})
		before := d.Statements()
		c := change(t, d, id, func(row *thing) {
			row.Made = row.Made.In(time.FixedZone("CEST", 7200)).Add(300 * time.Nanosecond) // the same, as it is kept
			row.Data = []byte{1}
			row.Note, row.Extra.A = "not stored", 7
		})
		if n := d.Statements() - before; n != 1 || c.Any() {
			t.Errorf("%d statements, wrote %v; want one that reads", n, c.Columns)
		}
		if c.After.Note != "not stored" || c.After.Extra.A != 7 || c.Before.Note != "" {
			t.Errorf("got %+v, want what the function set besides columns", c.After)
		}
	})
}

func TestUpdate_refused(t *testing.T) {
	each(t, func(t *testing.T, d *db.DB) {
		id := insert(t, d, thing{Name: "One"})
		insert(t, d, thing{Name: "Two"})
		refused := errors.New("refused")
		for _, tt := range []struct {
			name   string
			id     thingID
			want   error
			change func(ctx context.Context, row *thing) error
		}{
			{"missing", 99, db.ErrNotFound, func(context.Context, *thing) error { t.Error("called without a row"); return nil }},
			{"by the function", id, refused, func(_ context.Context, row *thing) error { row.Kind = "x"; return refused }},
			{"duplicate", id, db.ErrDuplicate, func(_ context.Context, row *thing) error { row.Name = "TWO"; return nil }},
			{"text", id, db.ErrText, func(_ context.Context, row *thing) error { row.Kind = "a\x00"; return nil }},
			{"the id", id, nil, func(_ context.Context, row *thing) error { row.ID++; return nil }},
		} {
			_, err := db.Update(t.Context(), d, thingRow(tt.id), tt.change)
			if err == nil || tt.want != nil && !errors.Is(err, tt.want) {
				t.Errorf("%s: got %v, want %v", tt.name, err, tt.want)
			}
		}
		if got := read(t, d, id); got.Kind != "" || got.Name != "One" {
			t.Errorf("a refused update left %+v", got)
		}
		if _, err := db.ForUpdate[thing](t.Context(), d, thingRow(id)); err == nil {
			t.Error("a row was locked without a transaction")
		}
	})
}

// TestUpdate_joins updates in a transaction of its caller: a row that is not there is no
// failure of it, everything is undone together.
func TestUpdate_joins(t *testing.T) {
	each(t, func(t *testing.T, d *db.DB) {
		id := insert(t, d, thing{Name: "One"})
		refused := errors.New("refused")
		err := d.InTx(t.Context(), func(ctx context.Context) error {
			if _, err := db.Update(ctx, d, thingRow(99), func(context.Context, *thing) error { return nil }); !errors.Is(err, db.ErrNotFound) {
				t.Errorf("got %v, want ErrNotFound", err)
			}
			if _, err := db.Update(ctx, d, thingRow(id), func(_ context.Context, row *thing) error { row.Kind = "bag"; return nil }); err != nil {
				return err
			}
			if got, err := db.ForUpdate[thing](ctx, d, thingRow(id)); err != nil || got.Kind != "bag" {
				t.Errorf("got %q, %v inside, want what was written", got.Kind, err)
			}
			return refused
		})
		if got := read(t, d, id); !errors.Is(err, refused) || got.Kind != "" {
			t.Errorf("got %v and kind %q, want the update undone", err, got.Kind)
		}
	})
}

func TestAssign(t *testing.T) {
	t.Parallel()
	name, bag, parent, empty := "Other", kind("bag"), thingID(7), kind("")
	type changes struct {
		Name   *string  `db:"name"`
		Kind   *kind    `db:"kind"`
		Parent *thingID `db:"parent_id"`
		Gone   *string  `db:"-"`
	}
	row := thing{Name: "One", Kind: "box"}
	db.Assign(&row, &changes{})
	if diff := cmp.Diff(thing{Name: "One", Kind: "box"}, row); diff != "" {
		t.Errorf("nothing asked for (-want +got):\n%s", diff)
	}
	db.Assign(&row, &changes{Name: &name, Kind: &bag, Parent: &parent, Gone: &name})
	if row.Name != "Other" || row.Kind != "bag" || row.Parent == nil || *row.Parent != 7 {
		t.Errorf("got %+v", row)
	}
	if row.Parent == &parent {
		t.Error("the row shares memory with the changes")
	}
	type clearing struct {
		Kind *kind `db:"note" empty:"null"`
	}
	noted := struct {
		Note *kind `db:"note"`
	}{Note: &bag}
	if db.Assign(&noted, &clearing{Kind: &empty}); noted.Note != nil {
		t.Errorf("got %q, want nothing where an empty text clears", *noted.Note)
	}
	defer func() {
		if recover() == nil {
			t.Error("a column that the row lacks was assigned")
		}
	}()
	db.Assign(&noted, &changes{Name: &name})
}

// stamped has what Update sets by itself, and a column of another table.
type stamped struct {
	Pair    int64    `db:"pair"`
	N       int64    `db:"n"`
	Created db.Time  `db:"created_at"`
	Updated *db.Time `db:"updated_at"`
	Engine  string   `db:"engine,readonly"`
}

func TestUpdate_stamp(t *testing.T) {
	each(t, func(t *testing.T, d *db.DB) {
		exec(t, d, "CREATE TABLE stamped (pair BIGINT PRIMARY KEY, n BIGINT NOT NULL, created_at TIMESTAMP NOT NULL, updated_at TIMESTAMP)")
		exec(t, d, "INSERT INTO stamped VALUES (7, 0, ?, NULL), (8, 0, ?, NULL)", day(), day())
		row := db.Row{
			Table: "stamped", Key: "pair", ID: 7, Now: day, Alias: "s",
			Columns: db.Columns[stamped]("s") + ", e.name AS engine", From: "stamped s LEFT JOIN engine e ON true",
		}
		update := func(fn func(row *stamped)) db.Change[stamped] {
			t.Helper()
			c, err := db.Update(t.Context(), d, row, func(_ context.Context, row *stamped) error { fn(row); return nil })
			if err != nil {
				t.Fatal(err)
			}
			return c
		}
		if c := update(func(*stamped) {}); c.Any() || c.After.Updated != nil || c.After.Engine != d.Dialect().Name() {
			t.Errorf("got %+v, want nothing written, and the other table's column read", c)
		}
		c := update(func(row *stamped) { row.N = 1 })
		if c.After.Updated == nil || !c.After.Updated.Equal(db.At(day()).Time) || !slices.Equal(c.Columns, []string{"n", "updated_at"}) {
			t.Errorf("got %v and %+v, want the time beside the number", c.Columns, c.After)
		}
		own := db.At(day().Add(time.Hour))
		if c := update(func(row *stamped) { row.N, row.Updated = 2, &own }); !c.After.Updated.Equal(own.Time) {
			t.Errorf("updated at %v, want what the function set", c.After.Updated)
		}
		if c := update(func(row *stamped) { row.Updated = nil }); !slices.Equal(c.Columns, []string{"updated_at"}) {
			t.Errorf("wrote %v, want the time that the function set alone", c.Columns)
		}
		if _, err := db.Update(t.Context(), d, row, func(_ context.Context, row *stamped) error { row.Created = own; return nil }); err == nil {
			t.Error("created_at was changed")
		}
		row.And.And("n = ?", 9)
		if _, err := db.Update(t.Context(), d, row, func(context.Context, *stamped) error { return nil }); !errors.Is(err, db.ErrNotFound) {
			t.Errorf("got %v, want no row where the other conditions do not hold", err)
		}
		if n := get[int](t, d, "SELECT n FROM stamped WHERE pair = 8"); n != 0 {
			t.Errorf("another row has %d", n)
		}
	})
}

// TestUpdate_parallel lets many callers change different columns of one row, and the same
// column by what they read: nothing is lost.
func TestUpdate_parallel(t *testing.T) {
	each(t, func(t *testing.T, d *db.DB) {
		id := insert(t, d, thing{Name: "One", Kind: "", Data: []byte{0}})
		const callers = 24
		var wg sync.WaitGroup
		errs := make([]error, callers)
		for i := range callers {
			wg.Go(func() {
				_, errs[i] = db.Update(t.Context(), d, thingRow(id), func(_ context.Context, row *thing) error {
					if i%2 == 0 {
						row.Kind += "x"
					} else {
						row.Data[0]++
					}
					return nil
				})
			})
		}
		wg.Wait()
		if err := errors.Join(errs...); err != nil {
			t.Fatal(err)
		}
		if got := read(t, d, id); len(got.Kind) != callers/2 || got.Data[0] != callers/2 {
			t.Errorf("got %q and %d, want %d of each", got.Kind, got.Data[0], callers/2)
		}
	})
}

// TestUpdate_moved updates a row that is read with the row that it belongs to while others
// move it from one to another: it is found each time.
func TestUpdate_moved(t *testing.T) {
	each(t, func(t *testing.T, d *db.DB) {
		parents := []thingID{insert(t, d, thing{Name: "One"}), insert(t, d, thing{Name: "Two"})}
		id := insert(t, d, thing{Name: "Child", Parent: &parents[0], Data: []byte{0}})
		joined := thingRow(id)
		joined.Columns, joined.From, joined.Alias = db.Columns[thing]("t"), "things t JOIN things p ON p.id = t.parent_id", "t"
		const callers = 24
		var wg sync.WaitGroup
		errs := make([]error, callers)
		for i := range callers {
			wg.Go(func() {
				_, errs[i] = db.Update(t.Context(), d, joined, func(_ context.Context, row *thing) error {
					if i%2 == 0 {
						row.Parent = &parents[i/2%2]
					} else {
						row.Data[0]++
					}
					return nil
				})
			})
		}
		wg.Wait()
		if err := errors.Join(errs...); err != nil {
			t.Fatal(err)
		}
		if got := read(t, d, id); got.Data[0] != callers/2 {
			t.Errorf("%d updates are left of %d", got.Data[0], callers/2)
		}
	})
}

// TestUpdate_again has a batch on SQLite undone, so that a closure runs twice: its second
// run begins with the row as it is stored.
func TestUpdate_again(t *testing.T) {
	each(t, func(t *testing.T, d *db.DB) {
		id := insert(t, d, thing{Name: "One", Data: []byte{0}})
		runs := 0
		var got db.Change[thing]
		err := d.InTx(t.Context(), func(ctx context.Context) error {
			for range 2 { // as if the first run had been undone
				runs++
				undone := d.InSavepoint(ctx, func(ctx context.Context) error {
					var err error
					got, err = db.Update(ctx, d, thingRow(id), func(_ context.Context, row *thing) error {
						row.Data[0]++
						row.Kind += "x"
						return nil
					})
					if err == nil && runs == 1 {
						return fmt.Errorf("undone")
					}
					return err
				})
				if undone != nil && runs > 1 {
					return undone
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if stored := read(t, d, id); stored.Kind != "x" || stored.Data[0] != 1 || got.Before.Data[0] != 0 {
			t.Errorf("stored %q and %v from %v, want one change", stored.Kind, stored.Data, got.Before.Data)
		}
	})
}

// TestPick copies columns of a row to another, which shares nothing with it.
func TestPick(t *testing.T) {
	t.Parallel()
	type row struct {
		Name string  `db:"name"`
		Text *string `db:"text"`
		Note *string `db:"note"`
		ID   int64   `db:"id"`
	}
	type some struct {
		Name *string `db:"name"`
		Text *string `db:"text"`
		Note *string `db:"note"`
		Else string
	}
	from := row{Name: "a", Text: new("b"), ID: 7}
	var to row
	db.Assign(&to, db.Pick[some](&from))
	*from.Text = "changed"
	if to.Name != "a" || *to.Text != "b" || to.Note != nil || to.ID != 0 {
		t.Errorf("got %+v", to)
	}
}

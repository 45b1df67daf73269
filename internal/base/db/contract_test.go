package db_test

import (
	"errors"
	"slices"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"

	"tenon/internal/base/db"
	"tenon/internal/base/db/dbtest"
)

// The tests of this file are the promise that one text means the same on every engine.

type thingID int64

type kind string

type thing struct {
	ID     thingID         `db:"id"`
	Name   string          `db:"name" fold:"name_fold"`
	Kind   kind            `db:"kind"`
	Hidden bool            `db:"hidden"`
	Parent *thingID        `db:"parent_id"`
	Made   time.Time       `db:"made_at"`
	Gone   *db.Time        `db:"gone_at"`
	Seen   db.NullTime     `db:"seen_at"`
	Data   []byte          `db:"data"`
	Note   string          `db:"note,readonly"`
	Extra  struct{ A int } `db:"-"`
}

const thingSchema = `
CREATE TABLE things (
	id        {{id}},
	name      {{text}} NOT NULL,
	name_fold {{text}} NOT NULL UNIQUE,
	kind      {{text}} NOT NULL,
	hidden    BOOLEAN NOT NULL,
	parent_id BIGINT REFERENCES things (id),
	made_at   {{time}} NOT NULL,
	gone_at   {{time}},
	seen_at   {{time}},
	data      {{bytes}}
);
CREATE TABLE pencils (id {{id}}, kind {{text}} NOT NULL, created_at {{time}} NOT NULL, updated_at {{time}} NOT NULL);
CREATE TABLE pairs (a BIGINT NOT NULL, b BIGINT NOT NULL, n BIGINT NOT NULL, PRIMARY KEY (a, b));
CREATE TABLE tags (thing_id BIGINT NOT NULL REFERENCES things (id) ON DELETE RESTRICT, tag {{text}} NOT NULL);
-- only: sqlite
CREATE TABLE engine (name TEXT NOT NULL); INSERT INTO engine VALUES ('sqlite');
-- end
-- only: postgres
CREATE TABLE engine (name {{text}} NOT NULL); INSERT INTO engine VALUES ('postgres');
-- end
`

// day is a fixed moment in a zone east of UTC, finer than microseconds.
func day() time.Time {
	return time.Date(2026, 5, 1, 10, 0, 0, 5_000_789, time.FixedZone("CEST", 7200))
}

func each(t *testing.T, fn func(t *testing.T, d *db.DB)) {
	t.Helper()
	t.Parallel()
	dbtest.Empty(t, func(t *testing.T, d *db.DB) {
		if err := d.Migrate(t.Context(), fstest.MapFS{"0001_things.sql": {Data: []byte(thingSchema)}}); err != nil {
			t.Fatal(err)
		}
		fn(t, d)
	})
}

func insert(t *testing.T, d *db.DB, row thing) thingID {
	t.Helper()
	if row.Made.IsZero() {
		row.Made = day()
	}
	err := db.Create(t.Context(), d, "things", &row)
	if err != nil {
		t.Fatalf("insert %q: %v", row.Name, err)
	}
	return row.ID
}

func exec(t *testing.T, d *db.DB, query string, args ...any) int64 {
	t.Helper()
	n, err := d.Exec(t.Context(), query, args...)
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return n
}

func get[T any](t *testing.T, d *db.DB, query string, args ...any) T {
	t.Helper()
	v, err := db.Get[T](t.Context(), d, query, args...)
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return v
}

func list[T any](t *testing.T, d *db.DB, query string, args ...any) []T {
	t.Helper()
	v, err := db.Select[T](t.Context(), d, query, args...)
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return v
}

func TestDB_rows(t *testing.T) {
	each(t, func(t *testing.T, d *db.DB) {
		gone := db.At(day().Add(time.Hour))
		parent := insert(t, d, thing{Name: "Parent", Kind: "box"})
		want := thing{
			Name: "Child", Kind: "box", Hidden: true, Parent: &parent, Made: day(),
			Gone: &gone, Seen: db.NullTime{V: gone, Valid: true}, Data: []byte{0, 1, 255},
		}
		want.ID = insert(t, d, want)
		want.Made = day().UTC().Truncate(time.Microsecond)
		got := get[thing](t, d, "SELECT "+db.Columns[thing]("t")+", 'x' AS note FROM things t WHERE t.id = ?", want.ID)
		want.Note = "x"
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("row (-want +got):\n%s", diff)
		}
		if got.Made.Location() != time.UTC {
			t.Errorf("time is in %v, want UTC", got.Made.Location())
		}
		bare := get[thing](t, d, "SELECT "+db.Columns[thing]("")+" FROM things WHERE id = ?", parent)
		if bare.Parent != nil || bare.Gone != nil || bare.Seen.Valid || bare.Data != nil {
			t.Errorf("got %+v, want nothing where the row has NULL", bare)
		}
		if _, err := db.Get[thing](t.Context(), d, "SELECT id, 1 AS stranger FROM things LIMIT 1"); err == nil {
			t.Error("a column without a field was read without an error")
		}
		if _, err := db.Get[thingID](t.Context(), d, "SELECT id FROM things"); err == nil {
			t.Error("two rows were read as one without an error")
		}
		if none := list[thing](t, d, "SELECT id FROM things WHERE id < 0"); none == nil || len(none) != 0 {
			t.Errorf("got %#v, want an empty list", none)
		}
		if names := list[string](t, d, "SELECT name FROM things ORDER BY id"); !slices.Equal(names, []string{"Parent", "Child"}) {
			t.Errorf("got %q", names)
		}
		_, err := db.Get[thing](t.Context(), d, "SELECT id FROM things WHERE id = ?", 99)
		if !errors.Is(err, db.ErrNotFound) {
			t.Errorf("got %v, want ErrNotFound", err)
		}
	})
}

// PostgreSQL compiles no statements: it took 15 seconds for those of a search of notes.
func TestDB_jit(t *testing.T) {
	t.Parallel()
	d := dbtest.OpenPostgres(t)
	got, err := db.Get[string](t.Context(), d, "SELECT current_setting('jit')")
	if err != nil || got != "off" {
		t.Errorf("jit: got %q, %v, want off", got, err)
	}
}

func TestDB_shared(t *testing.T) {
	each(t, func(t *testing.T, d *db.DB) {
		a := insert(t, d, thing{Name: "a"})
		b := insert(t, d, thing{Name: "b", Parent: &a})
		c := insert(t, d, thing{Name: "c", Parent: &b, Hidden: true})
		for i := range 2 {
			n := get[int64](t, d, `INSERT INTO pairs (a, b, n) VALUES (?, ?, 1)
				ON CONFLICT (a, b) DO UPDATE SET n = pairs.n + 1 RETURNING n`, 1, 2)
			if n != int64(i+1) {
				t.Errorf("upsert %d gave %d", i+1, n)
			}
		}
		tree := list[thingID](t, d, `WITH RECURSIVE up (id, parent_id) AS (
				SELECT id, parent_id FROM things WHERE id = ?
				UNION ALL SELECT p.id, p.parent_id FROM things p JOIN up ON p.id = up.parent_id)
			SELECT id FROM up ORDER BY id`, c)
		if !slices.Equal(tree, []thingID{a, b, c}) {
			t.Errorf("recursive CTE gave %v", tree)
		}
		if got := list[thingID](t, d, "SELECT id FROM things WHERE (made_at, id) < (?, ?) ORDER BY id", day(), c); !slices.Equal(got, []thingID{a, b}) {
			t.Errorf("row values gave %v, want %v", got, []thingID{a, b})
		}
		if n := get[int](t, d, "SELECT count(*) FILTER (WHERE hidden) FROM things"); n != 1 {
			t.Errorf("FILTER counted %d", n)
		}
		if !get[bool](t, d, "SELECT EXISTS (SELECT 1 FROM things WHERE id = ?)", a) {
			t.Error("EXISTS into bool gave false")
		}
		exec(t, d, "UPDATE things SET name = p.name FROM things p WHERE p.id = things.parent_id AND things.id = ?", b)
		if name := get[string](t, d, "SELECT name FROM things WHERE id = ?", b); name != "a" {
			t.Errorf("UPDATE FROM gave %q", name)
		}
		window := list[int](t, d, "SELECT row_number() OVER (ORDER BY id DESC) FROM things ORDER BY id")
		if !slices.Equal(window, []int{3, 2, 1}) {
			t.Errorf("window function gave %v", window)
		}
		if sum := get[int64](t, d, "SELECT COALESCE(SUM(n), 0) FROM pairs"); sum != 2 {
			t.Errorf("SUM gave %d", sum)
		}
		dialect := d.Dialect()
		if got := get[string](t, d, "SELECT "+dialect.Day("made_at")+" FROM things WHERE id = ?", a); got != "2026-05-01" {
			t.Errorf("Day gave %q", got)
		}
		if got := get[int](t, d, "SELECT "+dialect.Least("n", "5")+" FROM pairs"); got != 2 {
			t.Errorf("Least gave %d, want 2", got)
		}
		if got := get[string](t, d, "SELECT name FROM engine"); got != dialect.Name() {
			t.Errorf("block of %q ran on %q", got, dialect.Name())
		}
	})
}

func TestDB_traps(t *testing.T) {
	each(t, func(t *testing.T, d *db.DB) {
		ctx := t.Context()
		shown := insert(t, d, thing{Name: "shown"})
		hidden := insert(t, d, thing{Name: "hidden", Hidden: true, Parent: &shown})

		t.Run("bool", func(t *testing.T) {
			for _, query := range []string{"SELECT id FROM things WHERE hidden = ?", "SELECT id FROM things WHERE hidden AND ?"} {
				if got := list[thingID](t, d, query, true); !slices.Equal(got, []thingID{hidden}) {
					t.Errorf("%s: got %v", query, got)
				}
			}
		})
		t.Run("typed ids", func(t *testing.T) {
			if got := list[string](t, d, "SELECT name FROM things WHERE id = ?", &hidden); !slices.Equal(got, []string{"hidden"}) {
				t.Errorf("got %q", got)
			}
		})
		t.Run("cast", func(t *testing.T) {
			if got := get[int64](t, d, "SELECT CAST(? AS BIGINT) + 1", 41); got != 42 {
				t.Errorf("got %d", got)
			}
			if !get[bool](t, d, "SELECT CAST(? AS BIGINT) IS NULL", (*thingID)(nil)) {
				t.Error("a nil id is not NULL")
			}
		})
		t.Run("insert select on conflict", func(t *testing.T) {
			for range 2 {
				exec(t, d, "INSERT INTO pairs (a, b, n) SELECT id, id, 1 FROM things WHERE true ON CONFLICT (a, b) DO NOTHING")
			}
			if n := get[int](t, d, "SELECT count(*) FROM pairs"); n != 2 {
				t.Errorf("got %d rows, want 2", n)
			}
		})
		t.Run("text", func(t *testing.T) {
			for _, bad := range []any{"a\x00b", "\xff", kind("\x00")} {
				_, err := db.Get[int](ctx, d, "SELECT count(*) FROM things WHERE name = ?", bad)
				if !errors.Is(err, db.ErrText) {
					t.Errorf("%q: got %v, want ErrText", bad, err)
				}
			}
		})
		t.Run("nulls", func(t *testing.T) {
			if got := list[thingID](t, d, "SELECT id FROM things ORDER BY parent_id NULLS FIRST"); !slices.Equal(got, []thingID{shown, hidden}) {
				t.Errorf("NULLS FIRST gave %v", got)
			}
			if got := list[thingID](t, d, "SELECT id FROM things ORDER BY parent_id NULLS LAST"); !slices.Equal(got, []thingID{hidden, shown}) {
				t.Errorf("NULLS LAST gave %v", got)
			}
		})
		t.Run("marks in literals", func(t *testing.T) {
			got := get[string](t, d, `SELECT 'a?b''?' || "name" /* ? ' */ || '?' -- it's ?
				FROM things WHERE id = ?`, shown)
			if got != "a?b'?shown?" {
				t.Errorf("got %q", got)
			}
		})
		t.Run("unbindable", func(t *testing.T) {
			for _, bad := range []any{[]int64{1}, struct{}{}, uint64(1 << 63), map[string]int{}} {
				if _, err := d.Exec(ctx, "DELETE FROM things WHERE id = ?", bad); err == nil {
					t.Errorf("%T was bound", bad)
				}
			}
		})
	})
}

func TestDB_times(t *testing.T) {
	each(t, func(t *testing.T, d *db.DB) {
		want := day().UTC().Truncate(time.Microsecond)
		id := insert(t, d, thing{Name: "now"})
		// Earlier, though its clock shows a later hour; and equal seconds with and without a fraction.
		insert(t, d, thing{Name: "east", Made: time.Date(2026, 5, 1, 15, 0, 0, 0, time.FixedZone("", 8*3600))})
		insert(t, d, thing{Name: "whole", Made: want.Truncate(time.Second)})
		insert(t, d, thing{Name: "half", Made: want.Truncate(time.Second).Add(500 * time.Millisecond)})
		got := list[string](t, d, "SELECT name FROM things ORDER BY made_at")
		if order := []string{"east", "whole", "now", "half"}; !slices.Equal(got, order) {
			t.Errorf("sorted %q, want %q", got, order)
		}
		if n := get[int](t, d, "SELECT count(*) FROM things WHERE made_at = ?", day()); n != 1 {
			t.Errorf("%d rows have the time that was written, want 1", n)
		}
		if n := get[int](t, d, "SELECT count(*) FROM things WHERE made_at <= ?", db.At(day())); n != 3 {
			t.Errorf("%d rows are not later, want 3", n)
		}
		for _, query := range []string{
			"SELECT made_at FROM things WHERE id = ?",
			"SELECT max(made_at) FROM things WHERE id = ?",
			"SELECT COALESCE(gone_at, made_at) FROM things WHERE id = ?",
		} {
			if got := get[db.Time](t, d, query, id); !got.Equal(want) || got.Location() != time.UTC {
				t.Errorf("%s: got %v, want %v", query, got, want)
			}
		}
		if got := get[time.Time](t, d, "SELECT made_at FROM things WHERE id = ?", id); !got.Equal(want) || got.Location() != time.UTC {
			t.Errorf("got %v, want %v", got, want)
		}
		if got := get[*db.Time](t, d, "SELECT max(made_at) FROM things WHERE id < 0"); got != nil {
			t.Errorf("got %v, want nil", got)
		}
		if got := get[db.NullTime](t, d, "SELECT max(made_at) FROM things WHERE id = ?", id); !got.Valid || !got.V.Equal(want) {
			t.Errorf("got %v, want %v", got, want)
		}
		// A title that looks like a date stays a title.
		title := insert(t, d, thing{Name: "2026-05-01 10:00:00"})
		if got := get[string](t, d, "SELECT max(name) FROM things WHERE id = ?", title); got != "2026-05-01 10:00:00" {
			t.Errorf("title came back as %q", got)
		}
	})
}

func TestDB_text(t *testing.T) {
	each(t, func(t *testing.T, d *db.DB) {
		for _, name := range []string{"Zebra", "apple", "Äpfel", "STRASSE 1", "100%", "100_", `back\slash`} {
			insert(t, d, thing{Name: name})
		}
		got := list[string](t, d, "SELECT name FROM things ORDER BY name")
		if want := []string{"100%", "100_", "STRASSE 1", "Zebra", "apple", `back\slash`, "Äpfel"}; !slices.Equal(got, want) {
			t.Errorf("sorted %q, want bytes in order: %q", got, want)
		}
		err := db.Create(t.Context(), d, "things", &thing{Name: "äPFEL", Made: day()})
		if !errors.Is(err, db.ErrDuplicate) {
			t.Errorf("same name in another case: got %v, want ErrDuplicate", err)
		}
		for term, want := range map[string]string{"straße": "STRASSE 1", "100%": "100%", "0_": "100_", `K\S`: `back\slash`} {
			got := list[string](t, d, `SELECT name FROM things WHERE name_fold LIKE ? ESCAPE '\'`, "%"+db.LikePattern(db.Fold(term))+"%")
			if !slices.Equal(got, []string{want}) {
				t.Errorf("search for %q found %q, want %q", term, got, want)
			}
		}
	})
}

func TestDB_ids(t *testing.T) {
	each(t, func(t *testing.T, d *db.DB) {
		first := insert(t, d, thing{Name: "first"})
		second := insert(t, d, thing{Name: "second"})
		if n := exec(t, d, "DELETE FROM things WHERE id = ?", second); n != 1 {
			t.Errorf("deleted %d rows, want 1", n)
		}
		if third := insert(t, d, thing{Name: "third"}); first != 1 || third != 3 {
			t.Errorf("got ids %d and %d, want 1 and 3: an id is never used again", first, third)
		}
		if _, err := db.InsertRow(t.Context(), d, "things", thing{ID: 50, Name: "imported", Made: day()}, ""); err != nil {
			t.Fatal(err)
		}
		if err := d.SyncIDs(t.Context(), "things"); err != nil {
			t.Fatal(err)
		}
		if next := insert(t, d, thing{Name: "next"}); next != 51 {
			t.Errorf("got id %d after the explicit 50, want 51", next)
		}
	})
}

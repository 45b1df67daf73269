package db_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/base/db/dbtest"
	"tenon/migrations"
)

// everyKind has a column of each kind, a row that refers to a later one, and a child.
var everyKind = fstest.MapFS{"0001_all.sql": {Data: []byte(`
CREATE TABLE children (parent_id BIGINT NOT NULL REFERENCES parents (id), name {{text}} NOT NULL, PRIMARY KEY (parent_id, name));
`)}, "0000_parents.sql": {Data: []byte(`
CREATE TABLE parents (id {{id}}, other_id BIGINT REFERENCES parents (id), i BIGINT, f DOUBLE PRECISION, b BOOLEAN, t {{text}}, y {{bytes}}, at {{time}});
`)}}

type parent struct {
	ID    int64    `db:"id"`
	Other *int64   `db:"other_id"`
	I     *int64   `db:"i"`
	F     *float64 `db:"f"`
	B     *bool    `db:"b"`
	T     *string  `db:"t"`
	Y     []byte   `db:"y"`
	At    *db.Time `db:"at"`
}

// dumped is everything that a dump has, as text.
func dumped(t *testing.T, d *db.DB) string {
	t.Helper()
	var out strings.Builder
	err := d.Snapshot(t.Context(), func(ctx context.Context) error {
		tables, err := d.DumpTables(ctx)
		if err != nil {
			return err
		}
		for _, table := range tables {
			fmt.Fprintln(&out, table.Name, table.Columns)
			if err := d.DumpRows(ctx, table, func(line []byte) error {
				out.Write(line)
				return nil
			}); err != nil {
				return err
			}
		}
		last, err := d.LastIDs(ctx)
		fmt.Fprintln(&out, last)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// load brings a dump into a database.
func load(t *testing.T, from, to *db.DB) error {
	t.Helper()
	return from.Snapshot(t.Context(), func(snap context.Context) error {
		tables, err := from.DumpTables(snap)
		if err != nil {
			return err
		}
		return to.Load(t.Context(), func(ctx context.Context, l *db.Loader) error {
			for _, table := range tables {
				var rows [][]byte
				if err := from.DumpRows(snap, table, func(line []byte) error {
					rows = append(rows, bytes.Clone(line))
					return nil
				}); err != nil {
					return err
				}
				if _, err := l.Rows(ctx, table, feed(rows)); err != nil {
					return err
				}
			}
			last, err := from.LastIDs(snap)
			if err != nil {
				return err
			}
			return l.LastIDs(ctx, last)
		})
	})
}

func feed(rows [][]byte) func() ([]byte, error) {
	return func() ([]byte, error) {
		if len(rows) == 0 {
			return nil, io.EOF
		}
		row := rows[0]
		rows = rows[1:]
		return row, nil
	}
}

func emptySQLite(t *testing.T) *db.DB {
	t.Helper()
	d, err := db.Open(t.Context(), db.Config{URL: t.TempDir() + "/copy.db", NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	return d
}

// TestLoad brings rows of every kind from each engine into SQLite and back into an engine of
// the first kind: they are the same, the ids go on, and rows that refer to nothing are refused.
func TestLoad(t *testing.T) {
	t.Parallel()
	dbtest.Empty(t, func(t *testing.T, d *db.DB) {
		ctx := t.Context()
		middle := emptySQLite(t)
		for _, d := range []*db.DB{d, middle} {
			if err := d.Migrate(ctx, everyKind); err != nil {
				t.Fatal(err)
			}
		}
		at := db.At(time.Date(2026, 5, 1, 23, 59, 59, 123456789, time.FixedZone("", 3600)))
		text := "a \"quoted\" \\ line\n\u2028 <&> \U0001F600 \x01"
		for _, p := range []parent{
			{ID: 3, Other: ptr(int64(9))},
			{ID: 9, I: ptr(int64(math.MaxInt64)), F: ptr(0.1), B: ptr(true), T: &text, Y: []byte{0, 255, '\n'}, At: &at},
			{ID: 12, I: ptr(int64(math.MinInt64)), F: ptr(3.0), B: ptr(false), T: ptr(""), Y: []byte{}, At: ptr(db.At(time.Unix(0, 0)))},
			{ID: 40},
		} {
			if p.Other != nil { // the row that it names comes later
				p.Other = nil
			}
			if _, err := db.InsertRow(ctx, d, "parents", p, ""); err != nil {
				t.Fatal(err)
			}
		}
		for _, q := range []string{
			"UPDATE parents SET other_id = 9 WHERE id = 3", "INSERT INTO children (parent_id, name) VALUES (9, 'x')", "DELETE FROM parents WHERE id = 40",
		} {
			if _, err := d.Exec(ctx, q); err != nil {
				t.Fatal(err)
			}
		}
		if err := d.SyncIDs(ctx, "parents"); err != nil {
			t.Fatal(err)
		}
		want := dumped(t, d)
		for _, part := range []string{"9223372036854775807", "-9223372036854775808", `"AP8K"`, `"2026-05-01T22:59:59.123456Z"`, "map[parents:"} {
			if !strings.Contains(want, part) {
				t.Errorf("no %s in\n%s", part, want)
			}
		}
		if err := middle.Vacant(ctx); err != nil {
			t.Errorf("before it is loaded: %v", err)
		}
		if err := load(t, d, middle); err != nil {
			t.Fatal(err)
		}
		if got := dumped(t, middle); got != want {
			t.Errorf("got\n%s\nwant\n%s", got, want)
		}
		if err := middle.Vacant(ctx); err == nil || !strings.Contains(err.Error(), "not empty") {
			t.Errorf("after it is loaded: %v", err)
		}
		if _, err := d.Exec(ctx, "DELETE FROM children"); err != nil {
			t.Fatal(err)
		}
		if _, err := d.Exec(ctx, "DELETE FROM parents"); err != nil {
			t.Fatal(err)
		}
		if err := load(t, middle, d); err != nil {
			t.Fatal(err)
		}
		if got := dumped(t, d); got != want {
			t.Errorf("back: got\n%s\nwant\n%s", got, want)
		}
		table := db.DumpTable{Name: "children", Columns: []db.DumpColumn{{Name: "name", Kind: db.DumpText}, {Name: "parent_id", Kind: db.DumpInt}}}
		for line, want := range map[string]string{
			`["y",77]`: "", `["y"]`: "1 values for 2 columns", `["y",1.5]`: "invalid syntax", `["y",true]`: "invalid syntax", `{}`: "cannot unmarshal",
			`["\u0000",9]`: "",
		} {
			err := d.Load(ctx, func(ctx context.Context, l *db.Loader) error {
				_, err := l.Rows(ctx, table, feed([][]byte{[]byte(line)}))
				return err
			})
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: got %v, want %q", line, err, want)
			}
		}
		if got := dumped(t, d); got != want {
			t.Errorf("after refusals: got\n%s\nwant\n%s", got, want)
		}
	})
}

// TestSnapshot_moment reads what was there when it began, whatever is written meanwhile.
func TestSnapshot_moment(t *testing.T) {
	t.Parallel()
	dbtest.Empty(t, func(t *testing.T, d *db.DB) {
		if err := d.Migrate(t.Context(), everyKind); err != nil {
			t.Fatal(err)
		}
		count := func(ctx context.Context) int {
			n, err := db.Get[int](ctx, d, "SELECT count(*) FROM parents")
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
		err := d.Snapshot(t.Context(), func(ctx context.Context) error {
			if _, err := db.InsertRow(t.Context(), d, "parents", parent{ID: 1}, ""); err != nil {
				return err
			}
			if inside, outside := count(ctx), count(t.Context()); inside != 0 || outside != 1 {
				t.Errorf("got %d rows inside and %d outside, want 0 and 1", inside, outside)
			}
			_, err := d.Exec(ctx, "DELETE FROM parents")
			return err
		})
		if err == nil || count(t.Context()) != 1 {
			t.Errorf("writing inside: %v, %d rows", err, count(t.Context()))
		}
		broken := errors.New("enough")
		if err := d.Snapshot(t.Context(), func(context.Context) error { return broken }); !errors.Is(err, broken) {
			t.Errorf("got %v", err)
		}
	})
}

// TestDumpTables_whole compares what a dump has with all tables that migrations make: those
// that it leaves out are named here, each with its reason.
func TestDumpTables_whole(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		left := []string{
			"schema_migrations", // the head of a backup has them
			// Jobs that wait are kept by the package job; the rest is of this process.
			"river_client", "river_client_queue", "river_job", "river_leader", "river_migration", "river_notification", "river_queue",
		}
		query := `SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%' AND name NOT LIKE '%trigrams%' ORDER BY name`
		if d.Dialect() == db.Postgres {
			query = "SELECT tablename FROM pg_tables WHERE schemaname = current_schema() ORDER BY tablename"
		}
		all, err := db.Select[string](t.Context(), d, query)
		if err != nil {
			t.Fatal(err)
		}
		tables, err := d.DumpTables(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var got, want []string
		for _, table := range tables {
			got = append(got, table.Name)
		}
		for _, name := range all {
			if !slices.Contains(left, name) {
				want = append(want, name)
			}
		}
		slices.Sort(got)
		if !slices.Equal(got, want) || len(got) < 50 {
			t.Errorf("got %v, want %v", got, want)
		}
		// A table that a later migration adds is among them, and a type without a kind is not passed over.
		if _, err := d.Exec(t.Context(), "CREATE TABLE later (id BIGINT PRIMARY KEY)"); err != nil {
			t.Fatal(err)
		}
		if tables, err = d.DumpTables(t.Context()); err != nil || !slices.ContainsFunc(tables, func(t db.DumpTable) bool { return t.Name == "later" }) {
			t.Errorf("a new table: %v", err)
		}
		if _, err := d.Exec(t.Context(), "CREATE TABLE odd (id NUMERIC PRIMARY KEY)"); err != nil {
			t.Fatal(err)
		}
		if _, err = d.DumpTables(t.Context()); err == nil || !strings.Contains(err.Error(), "column id of odd") {
			t.Errorf("a column of an unknown type: got %v", err)
		}
	})
}

// TestMigrations lists what was applied.
func TestMigrations(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		got, err := d.Migrations(t.Context())
		files, _ := migrations.FS.ReadDir(".")
		if err != nil || len(got) != len(files) || got[0].Name != "0001_schema.sql" || len(got[0].Checksum) != 64 {
			t.Errorf("got %v, %v", got, err)
		}
	})
}

func ptr[T any](v T) *T { return &v }

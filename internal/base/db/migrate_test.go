package db_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/base/db/dbtest"
)

func files(pairs ...string) fstest.MapFS {
	fs := fstest.MapFS{"README.md": {Data: []byte("not a step")}}
	for i := 0; i < len(pairs); i += 2 {
		fs[pairs[i]] = &fstest.MapFile{Data: []byte(pairs[i+1])}
	}
	return fs
}

func TestDB_Migrate(t *testing.T) {
	t.Parallel()
	dbtest.Empty(t, func(t *testing.T, d *db.DB) {
		one := "CREATE TABLE a (id {{id}}, name {{text}}); -- a; comment\nINSERT INTO a (name) VALUES ('x; y?');"
		two := "INSERT INTO a (name) VALUES ('two');\n-- only: sqlite\nINSERT INTO a (name) VALUES ('sqlite');\n-- end\n" +
			"-- only: postgres\nINSERT INTO a (name) VALUES ('postgres');\n-- end\n"
		first := files("0001_one.sql", one)
		both := files("0001_one.sql", one, "0002_two.sql", two)

		var all sync.WaitGroup // several processes start at once
		for range 4 {
			all.Go(func() {
				if err := d.Migrate(t.Context(), first); err != nil {
					t.Errorf("first step: %v", err)
				}
			})
		}
		all.Wait()
		for range 2 {
			if err := d.Migrate(t.Context(), both); err != nil {
				t.Fatalf("both steps: %v", err)
			}
		}
		want := []string{"x; y?", "two", d.Dialect().Name()}
		if got := list[string](t, d, "SELECT name FROM a ORDER BY id"); !slices.Equal(got, want) {
			t.Errorf("got rows %q, want %q", got, want)
		}
		refused := []struct {
			name string
			fs   fstest.MapFS
			want string
		}{
			{"changed file", files("0001_one.sql", one+" ", "0002_two.sql", two), "a released migration never changes"},
			{"renamed file", files("0001_uno.sql", one, "0002_two.sql", two), "applied to this database on "},
			{"number before the last", files("0000_zero.sql", one, "0001_one.sql", one, "0002_two.sql", two), "0000_zero.sql precedes 0002_two.sql"},
			{"older program", first, "newer than this program"},
			{"bad name", files("1_one.sql", one), "NNNN_name.sql"},
			{"same number", files("0001_one.sql", one, "0001_two.sql", two), "same number"},
			{"unknown word", files("0001_one.sql", "CREATE TABLE b (c {{blob}})"), "unknown word"},
			{"unknown engine", files("0001_one.sql", "-- only: mysql\n-- end\n"), "no engine"},
			{"open block", files("0001_one.sql", "-- only: sqlite\n"), "does not end"},
			{"nested block", files("0001_one.sql", "-- only: sqlite\n-- only: sqlite\n-- end\n"), "within a block"},
			{"end alone", files("0001_one.sql", "-- end\n"), "without a block"},
		}
		for _, tt := range refused {
			if _, err := d.Pending(t.Context(), tt.fs); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%s: pending: got %v, want an error that says %q", tt.name, err, tt.want)
			}
			if err := d.Migrate(t.Context(), tt.fs); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%s: got %v, want an error that says %q", tt.name, err, tt.want)
			}
		}
	})
}

func TestDB_Migrate_collation(t *testing.T) {
	t.Parallel()
	dbtest.Empty(t, func(t *testing.T, d *db.DB) {
		err := d.Migrate(t.Context(), files("0001_one.sql", "CREATE TABLE a (good {{text}}, bad TEXT)"))
		if d.Dialect() == db.Postgres && (err == nil || !strings.Contains(err.Error(), ": a.bad (")) {
			t.Errorf("got %v, want an error that names the column", err)
		}
		if d.Dialect() == db.SQLite && err != nil {
			t.Errorf("got %v", err)
		}
	})
}

// All steps of one start are undone together.
func TestDB_Migrate_undone(t *testing.T) {
	t.Parallel()
	dbtest.Empty(t, func(t *testing.T, d *db.DB) {
		first := files("0001_one.sql", "CREATE TABLE a (id {{id}});")
		if err := d.Migrate(t.Context(), first); err != nil {
			t.Fatal(err)
		}
		two := "CREATE TABLE b (id {{id}}); ALTER TABLE a ADD COLUMN name {{text}}; INSERT INTO a (name) VALUES ('two');"
		bad := files("0001_one.sql", "CREATE TABLE a (id {{id}});", "0002_two.sql", two, "0003_three.sql", "DROP TABLE b; INSERT INTO nowhere VALUES (1);")
		err := d.Migrate(t.Context(), bad)
		if err == nil {
			t.Fatal("a step that fails was accepted")
		}
		for _, part := range []string{"0003_three.sql", "nowhere", "unchanged at 0001_one.sql", "still opens it"} {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("got %q, want it to say %q", err, part)
			}
		}
		if _, err := db.Get[int](t.Context(), d, "SELECT count(*) FROM b"); err == nil {
			t.Error("a step before the one that failed left its table behind")
		}
		if n := get[int](t, d, "SELECT count(*) FROM a"); n != 0 {
			t.Errorf("got %d rows of a step that was undone", n)
		}
		if err := d.Migrate(t.Context(), first); err != nil {
			t.Errorf("the older program: %v", err)
		}
		good := files("0001_one.sql", "CREATE TABLE a (id {{id}});", "0002_two.sql", two, "0003_three.sql", "DROP TABLE b;")
		pending, err := d.Pending(t.Context(), good)
		if err != nil || !slices.Equal(pending, []string{"0002_two.sql", "0003_three.sql"}) {
			t.Errorf("pending: got %q, %v", pending, err)
		}
		if err := d.Migrate(t.Context(), good); err != nil {
			t.Errorf("the mended step: %v", err)
		}
		if got := list[string](t, d, "SELECT name FROM a"); !slices.Equal(got, []string{"two"}) {
			t.Errorf("got rows %q", got)
		}
		if err := d.Migrate(t.Context(), first); !errors.Is(err, db.ErrNewer) || !strings.Contains(err.Error(), "0002_two.sql, 0003_three.sql") {
			t.Errorf("the older program: got %v, want ErrNewer that names the steps", err)
		}
	})
}

func TestDB_Pending_empty(t *testing.T) {
	t.Parallel()
	dbtest.Empty(t, func(t *testing.T, d *db.DB) {
		pending, err := d.Pending(t.Context(), files("0001_one.sql", "CREATE TABLE a (id {{id}});"))
		if err != nil || !slices.Equal(pending, []string{"0001_one.sql"}) {
			t.Errorf("got %q, %v", pending, err)
		}
		if _, err := db.Get[int](t.Context(), d, "SELECT count(*) FROM schema_migrations"); err == nil {
			t.Error("asking what is pending made a table")
		}
	})
}

// A table of SQLite is changed by building its successor. Rows that refer to it stay,
// and ids are not used twice.
func TestDB_Migrate_rebuild(t *testing.T) {
	t.Parallel()
	dbtest.Empty(t, func(t *testing.T, d *db.DB) {
		one := `CREATE TABLE parents (id {{id}}, name {{text}}, parent_id BIGINT REFERENCES parents (id) ON DELETE CASCADE);
			CREATE TABLE children (id {{id}}, parent_id BIGINT NOT NULL REFERENCES parents (id) ON DELETE CASCADE);
			CREATE INDEX children_parent ON children (parent_id);`
		if err := d.Migrate(t.Context(), files("0001_one.sql", one)); err != nil {
			t.Fatal(err)
		}
		for _, q := range []string{
			"INSERT INTO parents (name) VALUES ('one')", "INSERT INTO parents (name, parent_id) VALUES (NULL, 1)", "INSERT INTO parents (name) VALUES ('gone')",
			"DELETE FROM parents WHERE id = 3", "INSERT INTO children (parent_id) VALUES (1)", "INSERT INTO children (parent_id) VALUES (2)",
		} {
			if _, err := d.Exec(t.Context(), q); err != nil {
				t.Fatalf("%s: %v", q, err)
			}
		}
		two := `UPDATE parents SET name = 'none' WHERE name IS NULL;
-- only: postgres
ALTER TABLE parents ALTER COLUMN name SET NOT NULL;
-- end
-- only: sqlite
CREATE TABLE new_parents (id {{id}}, name {{text}} NOT NULL, parent_id BIGINT REFERENCES parents (id) ON DELETE CASCADE);
INSERT INTO new_parents (id, name, parent_id) SELECT id, name, parent_id FROM parents;
DROP TABLE parents;
ALTER TABLE new_parents RENAME TO parents;
-- end
CREATE INDEX parents_parent ON parents (parent_id);
`
		if err := d.Migrate(t.Context(), files("0001_one.sql", one, "0002_two.sql", two)); err != nil {
			t.Fatal(err)
		}
		if got := list[string](t, d, "SELECT name FROM parents ORDER BY id"); !slices.Equal(got, []string{"one", "none"}) {
			t.Errorf("got parents %q", got)
		}
		if got := list[int](t, d, "SELECT parent_id FROM children ORDER BY id"); !slices.Equal(got, []int{1, 2}) {
			t.Errorf("got children of %d, want those of 1 and 2", got)
		}
		if id, err := db.Get[int](t.Context(), d, "INSERT INTO parents (name) VALUES ('next') RETURNING id"); err != nil || id != 4 {
			t.Errorf("the next id: got %d, %v, want 4", id, err)
		}
		if _, err := d.Exec(t.Context(), "INSERT INTO parents (name) VALUES (NULL)"); err == nil {
			t.Error("the new constraint does not hold")
		}
		if _, err := d.Exec(t.Context(), "INSERT INTO children (parent_id) VALUES (99)"); !errors.Is(err, db.ErrReference) {
			t.Errorf("a reference to nothing: got %v, want ErrReference", err)
		}
		if _, err := d.Exec(t.Context(), "DELETE FROM parents WHERE id = 1"); err != nil {
			t.Fatal(err)
		}
		if n := get[int](t, d, "SELECT count(*) FROM children"); n != 0 {
			t.Errorf("%d children outlive their parents, want none", n)
		}
	})
}

// What a step leaves without its parent is refused, on SQLite at the end.
func TestDB_Migrate_looseRows(t *testing.T) {
	t.Parallel()
	dbtest.Empty(t, func(t *testing.T, d *db.DB) {
		one := `CREATE TABLE parents (id {{id}}); CREATE TABLE children (id {{id}}, parent_id BIGINT NOT NULL REFERENCES parents (id));
			INSERT INTO parents (id) VALUES (1); INSERT INTO children (parent_id) VALUES (1);`
		if err := d.Migrate(t.Context(), files("0001_one.sql", one)); err != nil {
			t.Fatal(err)
		}
		err := d.Migrate(t.Context(), files("0001_one.sql", one, "0002_two.sql", "DELETE FROM parents;"))
		if err == nil || !strings.Contains(err.Error(), "0002_two.sql") || !strings.Contains(err.Error(), "children") {
			t.Errorf("got %v, want an error that names the step and the table", err)
		}
		if n := get[int](t, d, "SELECT count(*) FROM parents"); n != 1 {
			t.Errorf("got %d parents, want the one there was", n)
		}
	})
}

func TestDB_Migrate_cancelled(t *testing.T) {
	t.Parallel()
	dbtest.Empty(t, func(t *testing.T, d *db.DB) {
		one := "CREATE TABLE a (n BIGINT);"
		if err := d.Migrate(t.Context(), files("0001_one.sql", one)); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		endless := "INSERT INTO a (n) WITH RECURSIVE c (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 1000000000) SELECT n FROM c WHERE n < 0;"
		if err := d.Migrate(ctx, files("0001_one.sql", one, "0002_two.sql", endless)); err == nil {
			t.Error("a migration outlived its context")
		}
		if err := d.Migrate(t.Context(), files("0001_one.sql", one, "0002_two.sql", "INSERT INTO a (n) VALUES (1);")); err != nil {
			t.Errorf("the next attempt: %v", err)
		}
	})
}

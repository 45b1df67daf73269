package db_test

import (
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

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
			{"changed file", files("0001_one.sql", one+" ", "0002_two.sql", two), "has changed since"},
			{"renamed file", files("0001_uno.sql", one, "0002_two.sql", two), "has changed since"},
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
		if d.Dialect() == db.Postgres && (err == nil || !strings.HasSuffix(err.Error(), ": a.bad")) {
			t.Errorf("got %v, want an error that names the column", err)
		}
		if d.Dialect() == db.SQLite && err != nil {
			t.Errorf("got %v", err)
		}
	})
}

func TestDB_Migrate_undone(t *testing.T) {
	t.Parallel()
	dbtest.Empty(t, func(t *testing.T, d *db.DB) {
		bad := files("0001_one.sql", "CREATE TABLE a (id {{id}});", "0002_two.sql", "CREATE TABLE b (id {{id}}); INSERT INTO nowhere VALUES (1);")
		if err := d.Migrate(t.Context(), bad); err == nil || !strings.Contains(err.Error(), "0002_two.sql") {
			t.Errorf("got %v, want an error that names the step", err)
		}
		if _, err := db.Get[int](t.Context(), d, "SELECT count(*) FROM b"); err == nil {
			t.Error("a step that failed left its table behind")
		}
		good := files("0001_one.sql", "CREATE TABLE a (id {{id}});", "0002_two.sql", "CREATE TABLE b (id {{id}});")
		if err := d.Migrate(t.Context(), good); err != nil {
			t.Errorf("the mended step: %v", err)
		}
		if n := get[int](t, d, "SELECT count(*) FROM b"); n != 0 {
			t.Errorf("got %d rows", n)
		}
	})
}

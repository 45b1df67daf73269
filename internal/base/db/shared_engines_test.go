package db_test

import (
	"strings"
	"testing"

	"tenon/internal/base/db"
	"tenon/internal/base/db/dbtest"
)

func TestShared(t *testing.T) {
	t.Parallel()
	dbtest.Empty(t, func(t *testing.T, d *db.DB) {
		if _, err := d.Exec(t.Context(), "CREATE TABLE t (a BIGINT)"); err != nil {
			t.Fatal(err)
		}
		for i := range 10 {
			if _, err := d.Exec(t.Context(), "INSERT INTO t (a) VALUES (?)", i); err != nil {
				t.Fatal(err)
			}
		}
		var query string
		defer d.Trace(func(text string, _ []any) { query = text })()
		below := db.Shared("SELECT a FROM t WHERE a < ?")
		got, err := db.Select[int](t.Context(), d, "SELECT a FROM t WHERE (a + ? IN ("+below+") OR a - 8 IN ("+below+") OR a IN ("+below+")) AND a <> ? ORDER BY a",
			2, 3, 3, 2, 9)
		if err != nil || len(got) != 3 || got[0] != 0 || got[1] != 1 || got[2] != 8 {
			t.Errorf("got %v, %v, want 0, 1 and 8", got, err)
		}
		want := 3
		if d.Dialect() == db.Postgres {
			want = 2
		}
		if n := strings.Count(query, "WHERE a <"); n != want {
			t.Errorf("the shared query stands there %d times, want %d: %s", n, want, query)
		}
	})
}

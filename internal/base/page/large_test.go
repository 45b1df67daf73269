package page_test

import (
	"testing"

	"tenon/internal/base/db"
	"tenon/internal/base/db/dbtest"
	"tenon/internal/base/page"
)

// A list with more rows than are counted is counted once for its pages, one that is shorter each time.
func TestSelect_large(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		things(t, d, 2)
		of := func(name string) (total int, statements uint64) {
			t.Helper()
			q := page.Query{Columns: "t.id, t.name, t.due, t.rank, t.done, t.made", From: "things t", Order: orders[""]}
			q.Where.And("t.name = ?", name)
			before := d.Statements()
			p, err := page.Select[thing](t.Context(), d, q, page.Range{Limit: 2})
			if err != nil {
				t.Fatal(err)
			}
			return p.Total, d.Statements() - before
		}
		series := map[db.Dialect]string{
			db.SQLite:   "WITH RECURSIVE n(i) AS (SELECT 1000 UNION ALL SELECT i + 1 FROM n WHERE i < ?) SELECT i FROM n",
			db.Postgres: "SELECT generate_series(1000, CAST(? AS BIGINT)) AS i",
		}[d.Dialect()]
		fill := func(name string, n int) {
			t.Helper()
			exec(t, d, "DELETE FROM things WHERE id >= 1000")
			exec(t, d, "INSERT INTO things (id, name, rank, done, made) SELECT x.i, ?, 1, false, (SELECT made FROM things WHERE id = 10) FROM ("+
				series+") x", name, 999+n)
		}
		fill("many", page.MaxCounted+1)
		for _, want := range []uint64{2, 1, 1} { // the page and the count, then the page
			if total, n := of("many"); total != page.MaxCounted+1 || n != want {
				t.Errorf("long: got %d rows with %d statements, want %d with %d", total, n, page.MaxCounted+1, want)
			}
		}
		fill("few", page.MaxCounted)
		for range 2 {
			if total, n := of("few"); total != page.MaxCounted || n != 2 {
				t.Errorf("short: got %d rows with %d statements, want %d with 2", total, n, page.MaxCounted)
			}
		}
		if total, n := of("none"); total != 0 || n != 1 {
			t.Errorf("empty: got %d rows with %d statements, want none with 1", total, n)
		}
	})
}

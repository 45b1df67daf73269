package dbtest

import (
	"strings"
	"testing"

	"tenon/internal/base/db"
)

// Copies adds n rows to a table that are like the one that a condition finds, but for their id and
// for what set says: expressions by column, over n.i, the number of the copy from 1 on.
func Copies(tb testing.TB, d *db.DB, table, where string, n int, set map[string]string) {
	tb.Helper()
	query := "SELECT name FROM pragma_table_info(?) ORDER BY cid"
	if d.Dialect() == db.Postgres {
		query = `SELECT CAST(column_name AS TEXT) FROM information_schema.columns
			WHERE table_name = ? AND table_schema = current_schema() ORDER BY ordinal_position`
	}
	columns, err := db.Select[string](tb.Context(), d, query, table)
	if err != nil {
		tb.Fatalf("columns of %s: %v", table, err)
	}
	var names, values []string
	for _, name := range columns {
		value, ok := set[name]
		switch {
		case ok:
		case name == "id":
			continue
		default:
			value = "t." + name
		}
		names, values = append(names, name), append(values, value)
	}
	made, err := d.Exec(tb.Context(), "INSERT INTO "+table+" ("+strings.Join(names, ", ")+`)
		WITH RECURSIVE n(i) AS (SELECT CAST(1 AS BIGINT) UNION ALL SELECT i + 1 FROM n WHERE i < ?)
		SELECT `+strings.Join(values, ", ")+" FROM "+table+" t CROSS JOIN n WHERE "+where, n)
	if err != nil || made != int64(n) {
		tb.Fatalf("copies of %s: made %d (%v), want %d", table, made, err, n)
	}
}

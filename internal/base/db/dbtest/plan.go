package dbtest

import (
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"tenon/internal/base/db"
)

// Plans gives the plans of the statements that fn runs, each with the steps of its tree,
// indented, one to a line. Statements whose text is the same are given once.
func Plans(tb testing.TB, d *db.DB, fn func()) []string {
	tb.Helper()
	type statement struct {
		query string
		args  []any
	}
	var mu sync.Mutex
	var all []statement
	stop := d.Trace(func(query string, args []any) {
		mu.Lock()
		defer mu.Unlock()
		if !slices.ContainsFunc(all, func(s statement) bool { return s.query == query }) {
			all = append(all, statement{query, args})
		}
	})
	fn()
	stop()
	var out []string
	for _, s := range all {
		verb, _, _ := strings.Cut(strings.TrimSpace(s.query), " ")
		if verb != "SELECT" && verb != "WITH" {
			continue
		}
		out = append(out, plan(tb, d, s.query, s.args))
	}
	return out
}

func plan(tb testing.TB, d *db.DB, query string, args []any) string {
	tb.Helper()
	var b strings.Builder
	if d.Dialect() == db.Postgres {
		lines, err := db.Select[string](tb.Context(), d, "EXPLAIN (COSTS OFF) "+query, args...)
		if err != nil {
			tb.Fatalf("explain: %v: %s", err, query)
		}
		return strings.Join(lines, "\n") + "\n"
	}
	rows, err := db.Select[struct {
		ID     int64          `db:"id"`
		Parent int64          `db:"parent"`
		Unused sql.NullString `db:"notused"`
		Detail string         `db:"detail"`
	}](tb.Context(), d, "EXPLAIN QUERY PLAN "+query, args...)
	if err != nil {
		tb.Fatalf("explain: %v: %s", err, query)
	}
	depth := map[int64]int{}
	for _, r := range rows {
		depth[r.ID] = depth[r.Parent] + 1
		fmt.Fprintln(&b, strings.Repeat("  ", depth[r.ID]-1)+r.Detail)
	}
	return b.String()
}

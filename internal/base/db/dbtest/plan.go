package dbtest

import (
	"context"
	"database/sql"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"tenon/internal/base/db"
)

// Plans returns the plans of the statements that fn runs, each with the steps of its tree,
// indented, one to a line. Statements whose text is the same are given once. PostgreSQL
// reads tables as a whole only where it has no index: those of tests are small.
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
		var lines []string
		err := d.InTx(tb.Context(), func(ctx context.Context) error {
			if _, err := d.Exec(ctx, "SET LOCAL enable_seqscan = off"); err != nil {
				return err
			}
			var err error
			lines, err = db.Select[string](ctx, d, "EXPLAIN (COSTS OFF) "+query, args...)
			return err
		})
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

// Scanned returns the lines of a plan that read one of the tables as a whole, each with the steps that
// it is a part of, such as "MATERIALIZE page > SCAN p"; "" for none. Reading an index in its order is none.
func Scanned(plan string, tables ...string) string {
	alias := regexp.MustCompile(`^(?:SCAN|->\s+(?:Parallel )?Seq Scan on|(?:Parallel )?Seq Scan on) (\w+)(.*)$`)
	var scans, path []string
	var depths []int
	for line := range strings.Lines(plan) {
		step := strings.TrimSpace(line)
		depth := len(line) - len(strings.TrimLeft(line, " "))
		for len(depths) > 0 && depths[len(depths)-1] >= depth {
			depths, path = depths[:len(depths)-1], path[:len(path)-1]
		}
		depths, path = append(depths, depth), append(path, step)
		match := alias.FindStringSubmatch(step)
		if match == nil || strings.Contains(match[2], "USING") || strings.Contains(match[2], "VIRTUAL TABLE") {
			continue
		}
		// SQLite names the alias, and all aliases of a table begin as it does.
		for _, table := range tables {
			if match[1] == table || len(match[1]) <= 2 && strings.HasPrefix(table, match[1][:1]) {
				scans = append(scans, strings.Join(path, " > "))
				break
			}
		}
	}
	return strings.Join(scans, ", ")
}

package page_test

import (
	"fmt"
	"testing"

	"tenon/internal/base/db"
	"tenon/internal/base/db/dbtest"
	"tenon/internal/base/page"
)

// Every set of candidates gives the page and the total that the list has without them.
func TestSelect_candidates(t *testing.T) {
	t.Parallel()
	dbtest.Empty(t, func(t *testing.T, d *db.DB) {
		things(t, d, 60)
		all := page.Candidates{SQL: "SELECT id FROM things WHERE id > ?", Args: []any{0}}
		exact := page.Candidates{SQL: "SELECT id FROM things WHERE rank = 1", Exact: true, Costly: true}
		rest := page.Candidates{SQL: exact.SQL, Rest: &db.Where{}}
		table := exact
		table.Table = "things t"
		keyed := page.Candidates{SQL: "SELECT id FROM things UNION ALL SELECT id FROM things WHERE rank > 0", Repeats: true, Rest: &db.Where{}, Keyed: make([]db.Where, 2)}
		keyed.Keyed[0].And("EXISTS (SELECT 1 FROM things x WHERE x.id = candidate.id AND x.rank > ?)", 0)
		keyed.Keyed[1].And("NOT EXISTS (SELECT 1 FROM things x WHERE x.id = candidate.id AND x.rank > ?)", 1)
		for name, sets := range map[string][]page.Candidates{
			"one": {all}, "two": {all, exact}, "costly": {exact}, "at once": {table}, "met": {rest}, "keyed": {keyed}, "two keyed": {keyed, all},
		} {
			for order, o := range orders {
				for _, r := range []page.Range{
					{},
					{Limit: 7},
					{Limit: 7, Offset: 7},
					{Limit: 7, Offset: 900},
					{Limit: 100},
					{Limit: 7, Uncounted: true},
					{Limit: 7, Keyset: true},
					{Limit: 7, Keyset: true, Counted: true},
					{Limit: 100, Keyset: true, Counted: true, Back: true},
				} {
					if r.Keyset && order == "luck" {
						continue
					}
					q := page.Query{Columns: "t.*", From: "things t", Order: o, Key: "t.id", Narrow: "things t", Along: "t.id"}
					q.Where.Raw("t.rank = 1")
					want, err := page.Select[thing](t.Context(), d, q, r)
					if err != nil {
						t.Fatal(err)
					}
					if r == (page.Range{}) && len(want.Items) < 8 {
						t.Fatalf("the list has %d rows alone", len(want.Items))
					}
					q.Candidates = sets
					got, err := page.Select[thing](t.Context(), d, q, r)
					if err != nil {
						t.Fatalf("%s, %s, %+v: %v", name, order, r, err)
					}
					if fmt.Sprint(ids(got.Items)) != fmt.Sprint(ids(want.Items)) || got.Total != want.Total || got.HasNext != want.HasNext || got.Next() != want.Next() {
						t.Errorf("%s, %s, %+v: got %v of %d, next %t, want %v of %d, next %t",
							name, order, r, ids(got.Items), got.Total, got.HasNext, ids(want.Items), want.Total, want.HasNext)
					}
				}
			}
		}
	})
}

// Sets that are not small are searched for what all of them have, in as many statements as before.
func TestSelect_intersection(t *testing.T) {
	t.Parallel()
	dbtest.Empty(t, func(t *testing.T, d *db.DB) {
		numbers(t, d, 12_000)
		by := func(n int) page.Candidates {
			return page.Candidates{SQL: fmt.Sprintf("SELECT id FROM numbers WHERE id %% %d = ? UNION ALL SELECT id FROM numbers WHERE id = %d", n, n), Args: []any{0}, Repeats: true}
		}
		q := page.Query{Columns: "t.id", From: "numbers t", Order: page.Order{page.ID("t.id")}.Desc(), Key: "t.id", Narrow: "numbers t"}
		q.Where.Raw("t.id % 2 = 0 AND t.id % 3 = 0 AND t.id % 5 = 0 AND t.id % 7 = 0")
		for _, sets := range [][]int{{2}, {7, 5}, {2, 3, 5, 7}, {2, 210}, {1, 5, 7}, {1}} {
			q.Candidates = nil
			for _, n := range sets {
				q.Candidates = append(q.Candidates, by(n))
			}
			before := d.Statements()
			p, err := page.Select[int64](t.Context(), d, q, page.Range{Limit: 3, Offset: 1})
			if took := d.Statements() - before; err != nil || fmt.Sprint(p.Items) != "[11760 11550 11340]" || p.Total != 57 || took > 3 {
				t.Errorf("multiples of %v: got %v of %d in %d statements, %v; want [11760 11550 11340] of 57 in 3 at most", sets, p.Items, p.Total, took, err)
			}
		}
	})
}

// numbers makes a table of the numbers from 1 to n.
func numbers(t *testing.T, d *db.DB, n int) {
	t.Helper()
	exec(t, d, "CREATE TABLE numbers (id BIGINT PRIMARY KEY)")
	exec(t, d, "INSERT INTO numbers (id) WITH RECURSIVE n(i) AS (SELECT CAST(1 AS BIGINT) UNION ALL SELECT i + 1 FROM n WHERE i < ?) SELECT i FROM n", n)
}

// A list that is less than a larger one has the total that counting its rows gives.
func TestQuery_Count_less(t *testing.T) {
	t.Parallel()
	dbtest.Empty(t, func(t *testing.T, d *db.DB) {
		numbers(t, d, 60_000)
		for _, tt := range []struct {
			base    int   // the larger list: the numbers up to it
			without []int // multiples of these are left out
			want    int
		}{
			{60_000, []int{100, 30}, page.MaxCounted + 1}, // the sizes tell
			{60_000, []int{2}, page.MaxCounted + 1},       // too many are left out
			{12_000, []int{100, 30}, page.MaxCounted + 1},
			{10_300, []int{100, 30}, 10_300 - 103 - 343 + 34},
			{10_000, []int{2, 1}, 0},
			{20_001, []int{2}, page.MaxCounted + 1},
			{20_000, []int{2}, page.MaxCounted},
			{50, []int{70_000}, 50},
		} {
			q := page.Query{Columns: "t.id", From: "numbers t", Key: "t.id", Narrow: "numbers t", Along: "t.id"}
			q.Where.And("t.id <= ?", tt.base)
			less := &page.Less{Base: q.Where}
			for _, n := range tt.without {
				q.Where.And("t.id % ? <> 0", n)
				less.Without = append(less.Without, page.Candidates{SQL: "SELECT id FROM numbers WHERE id % ? = 0", Args: []any{n}})
			}
			plain, err := q.Count(t.Context(), d)
			if err != nil || plain != tt.want {
				t.Errorf("up to %d without multiples of %v: got %d, %v; want %d", tt.base, tt.without, plain, err, tt.want)
			}
			q.Less = less
			before := d.Statements()
			got, err := q.Count(t.Context(), d)
			if took := d.Statements() - before; err != nil || got != tt.want || took != 1 {
				t.Errorf("up to %d less multiples of %v: got %d in %d statements, %v; want %d in one", tt.base, tt.without, got, took, err, tt.want)
			}
		}
	})
}

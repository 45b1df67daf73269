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
		for name, sets := range map[string][]page.Candidates{"one": {all}, "two": {all, exact}, "costly": {exact}, "at once": {table}, "met": {rest}} {
			for order, o := range orders {
				for _, r := range []page.Range{
					{}, {Limit: 7}, {Limit: 7, Offset: 7}, {Limit: 7, Offset: 900}, {Limit: 100}, {Limit: 7, Uncounted: true}, {Limit: 7, Keyset: true},
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

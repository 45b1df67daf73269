package rest

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"tenon/internal/base/db"
	"tenon/internal/base/db/dbtest"
)

// Issues and notes that come, change and go between two pages neither shift nor hide the
// others, as they do by offset.
func TestKeyset_stable(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		p := newPlanning(t, d)
		next := 0
		add := func(path, field string) {
			next++
			p.do("owner", "POST", path, fmt.Sprintf(`{%q:"row %d"}`, field, next))
		}
		p.do("owner", "POST", appIssues, `{"title":"thread"}`)
		for _, list := range []struct{ path, field, key string }{{appIssues, "title", "iid"}, {appIssues + "/1/notes", "body", "id"}} {
			for range 12 {
				add(list.path, list.field)
			}
			for _, order := range []string{"order_by=created_at&sort=asc", "order_by=created_at&sort=desc", "order_by=updated_at&sort=asc", "order_by=updated_at&sort=desc"} {
				path := list.path + "?per_page=100&" + order
				before := strings.Fields(p.pick("owner", path, list.key))
				touched := map[string]bool{"1": list.key == "iid"} // what has the notes changes with them
				var got []string
				path = list.path + "?pagination=keyset&per_page=3&" + order
				for i := 0; path != "" && i < 50; i++ {
					w := p.send("owner", "GET", path, "")
					seen := strings.Fields(p.pick("owner", path, list.key))
					got = append(got, seen...)
					path = ""
					if _, rest, ok := strings.Cut(w.Header().Get("Link"), "/api/v4"); ok {
						path, _, _ = strings.Cut(rest, ">")
					}
					if i > 2 || path == "" {
						continue
					}
					gone := seen[len(seen)-1] // the row that the cursor names
					changed := before[(i*5+1)%len(before)]
					for row, method := range map[string]string{gone: "DELETE", changed: "PUT"} {
						if row != "1" && !touched[row] {
							p.send("owner", method, list.path+"/"+row, fmt.Sprintf(`{%q:"changed"}`, list.field))
							touched[row] = true
						}
					}
					add(list.path, list.field)
				}
				still := func(rows []string) []string {
					return slices.DeleteFunc(slices.Clone(rows), func(row string) bool {
						n, err := strconv.Atoi(row)
						return err != nil || touched[row] || !slices.Contains(before, strconv.Itoa(n))
					})
				}
				if want := still(before); !slices.Equal(still(got), want) || len(want) < 5 {
					t.Errorf("%s by %s\n got %v\nwant %v", list.path, order, still(got), want)
				}
				for range 4 {
					add(list.path, list.field)
				}
			}
		}
	})
}

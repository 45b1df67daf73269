package rest

import (
	"strings"
	"testing"

	"tenon/internal/base/db"
	"tenon/internal/base/db/dbtest"
)

func TestRepositoryHealth(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		p := newCode(t, d)
		const path = appPath + "/repository/health"
		w := p.send("", "GET", path, "")
		const fields = "size references objects commit_graph bitmap multi_pack_index multi_pack_index_bitmap alternates is_object_pool last_full_repack updated_at"
		if got := strings.Join(keys(t, w.Body.String()), " "); w.Code != 200 || got != fields {
			t.Fatalf("%d, fields %s, want %s", w.Code, got, fields)
		}
		objects := func() float64 {
			return p.do("dev", "GET", path+"?generate=true", "")["objects"].(map[string]any)["loose_objects_count"].(float64)
		}
		before := objects()
		p.commit("maint", "main", "", "create", "more.txt", "x\n")
		if after := objects(); before == 0 || after != before+3 { // blob, tree and commit
			t.Errorf("%v loose objects, then %v", before, after)
		}
		if _, err := d.Exec(t.Context(), "UPDATE projects SET repository_access = ?", 0); err != nil {
			t.Fatal(err)
		}
		p.want("dev", "GET", path, "", 403, "")
		p.want("", "GET", "/projects/none%2Fnone/repository/health", "", 404, `{"message":"404 Project Not Found"}`)
	})
}

package rest

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"tenon/internal/base/db"
	"tenon/internal/base/db/dbtest"
)

// TestMergeRequests_diffs reads raw and unified diffs and patch ids of versions, and has a merge
// request show commits beside its own.
func TestMergeRequests_diffs(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		p := newMerging(t, d)
		p.reviewed()
		const one = requestsPath + "/1"
		raw := p.send("dev", "GET", one+"/raw_diffs", "")
		if got := raw.Body.String(); raw.Code != 200 || !strings.HasPrefix(got, "diff --git a/code.txt b/code.txt\n") || !strings.Contains(got, "\n+new a\n+new b\n") ||
			!strings.HasPrefix(raw.Header().Get("Content-Type"), "text/plain") {
			t.Errorf("raw diffs: %d %v %s", raw.Code, raw.Header(), got)
		}
		p.want("", "GET", one+"/raw_diffs", "", 401, `{"message":"401 Unauthorized"}`)
		changes := p.do("dev", "GET", one+"/changes?unidiff=true", "")["changes"].([]any)[0].(map[string]any)
		if text := changes["diff"].(string); !strings.HasPrefix(text, "--- a/code.txt\n+++ b/code.txt\n@@ ") || changes["collapsed"] != false || changes["too_large"] != false {
			t.Errorf("unified changes: %v", changes)
		}

		// A rebased change has the same patch id, another change another one.
		ids := func() []string { return strings.Fields(p.pick("dev", one+"/versions", "patch_id_sha")) }
		first := ids()
		if len(first) != 1 || len(first[0]) < 40 {
			t.Fatalf("patch ids: %v", first)
		}
		p.commit("maint", "main", "", "create", "other.txt", "x\n")
		p.do("dev", "POST", appPath+"/repository/commits", fmt.Sprintf(
			`{"branch":"topic","start_branch":"main","force":true,"commit_message":"Again","actions":[{"action":"update","file_path":"code.txt","content":%s}]}`,
			mustJSON(t, numbered(20, map[int]string{5: "five\n", 10: "line 10\nnew a\nnew b\n", 15: ""}))))
		p.do("dev", "GET", one, "")
		p.commit("dev", "topic", "", "update", "code.txt", numbered(20, nil)+"more\n")
		p.do("dev", "GET", one, "")
		if got := ids(); len(got) != 3 || got[1] != first[0] || got[2] != first[0] || got[0] == first[0] {
			t.Errorf("patch ids: %v, first %v", got, first)
		}
		var versions []map[string]any
		if err := json.Unmarshal(p.send("dev", "GET", one+"/versions", "").Body.Bytes(), &versions); err != nil {
			t.Fatal(err)
		}
		full := p.do("dev", "GET", fmt.Sprintf("%s/versions/%v", one, versions[0]["id"]), "")
		if full["patch_id_sha"] != versions[0]["patch_id_sha"] || len(full["diffs"].([]any)) != 1 {
			t.Errorf("version: %v", full)
		}

		// Context commits.
		const path = one + "/context_commits"
		main := p.do("dev", "GET", appPath+"/repository/commits/main", "")["id"].(string)
		before := p.do("dev", "GET", appPath+"/repository/commits/main", "")["parent_ids"].([]any)[0].(string)
		const invalid = `{"message":"One or more context commits' sha is not valid."}`
		many := strings.TrimSuffix(strings.Repeat(`"`+main+`",`, 21), ",")
		for _, tt := range []struct {
			as, method, path, body string
			status                 int
			answer                 string
		}{
			{"", "GET", path, "", 401, `{"message":"401 Unauthorized"}`},
			{"dev", "GET", path, "", 200, `[]`},
			{"dev", "POST", path, `{}`, 400, `{"error":"commits is missing"}`},
			{"guest", "POST", path, `{"commits":["` + main + `"]}`, 403, `{"message":"403 Forbidden"}`},
			{"dev", "POST", path, `{"commits":["none"]}`, 400, invalid},
			{"dev", "POST", path, `{"commits":[` + many + `]}`, 400, `{"message":"Context commits array size should not be more than 20"}`},
			{"dev", "POST", path, `{"commits":["` + before + `","` + main + `","` + main[:10] + `"]}`, 201, ""},
			{"dev", "POST", path, `{"commits":["` + main + `"]}`, 201, `[]`},
			{"dev", "DELETE", path + "?commits=none", "", 400, invalid},
			{"guest", "DELETE", path + "?commits=" + main, "", 403, `{"message":"403 Forbidden"}`},
		} {
			p.want(tt.as, tt.method, tt.path, tt.body, tt.status, tt.answer)
		}
		w := p.send("dev", "GET", path, "")
		if got := p.pick("dev", path, "title"); got != "Change other.txt Change code.txt" || w.Header().Get("X-Total") != "2" {
			t.Errorf("context commits: %s, %v", got, w.Header())
		}
		p.want("dev", "DELETE", path+"?commits[]="+before+"&commits[]="+first[0], "", 400, invalid)
		p.want("dev", "DELETE", path+"?commits[]="+before, "", 204, "")
		p.want("dev", "DELETE", path+"?commits[]="+before, "", 400, invalid)
		if got := p.pick("dev", path, "id"); got != main {
			t.Errorf("left: %s, want %s", got, main)
		}
		p.want("owner", "DELETE", one, "", 204, "")
		if n, err := db.Get[int](t.Context(), d, "SELECT COUNT(*) FROM merge_request_context_commits"); err != nil || n != 0 {
			t.Errorf("%d context commits are left, %v", n, err)
		}
	})
}

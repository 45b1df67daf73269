package rest

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"tenon/internal/base/db"
	"tenon/internal/base/db/dbtest"
)

func TestCommitHistory(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		p := newCode(t, d)
		first := p.do("dev", "GET", appPath+"/repository/commits/main", "")["id"].(string)
		request := p.open("feature")
		head := p.do("dev", "GET", appPath+"/repository/commits/feature", "")["id"].(string)
		p.do("dev", "POST", appPath+"/repository/tags", `{"tag_name":"v1","ref":"feature"}`)
		commits := appPath + "/repository/commits/"
		conflict := `"message":"Commit revert failed: Can't perform this action automatically. It may have already been done, ` +
			`or a more recent commit may have updated some of this content. Please perform this action locally."`
		p.rows(commits, []codeRow{
			{"", "GET", "main/refs", "", 200, `[{"type":"branch","name":"feature"},{"type":"branch","name":"main"},{"type":"tag","name":"v1"}]`},
			{"", "GET", "feature/refs?type=branch", "", 200, `[{"type":"branch","name":"feature"}]`},
			{"", "GET", "feature/refs?type=tag&per_page=1", "", 200, `[{"type":"tag","name":"v1"}]`},
			{"", "GET", "none/refs", "", 404, `{"message":"404 Commit Not Found"}`},
			{"", "GET", "main/refs?type=x", "", 400, `{"error":"type does not have a valid value"}`},
			{"", "GET", "feature/sequence", "", 200, `{"count":2}`},
			{"", "GET", head + "/sequence?first_parent=true", "", 200, `{"count":2}`},
			{"", "GET", "feature/merge_requests", "", 401, `{"message":"401 Unauthorized"}`},
			{"dev", "GET", first + "/merge_requests", "", 200, `[]`},
			{"dev", "GET", head + "/merge_requests?state=merged", "", 200, `[]`},
			{"", "GET", "main/signature", "", 404, `{"message":"404 Signature Not Found"}`},
			{"", "GET", "none/signature", "", 404, `{"message":"404 Commit Not Found"}`},
			{"guest", "POST", "feature/cherry_pick", `{"branch":"main"}`, 403, `{"message":"403 Forbidden - You are not allowed to push into this branch"}`},
			{"maint", "POST", "feature/cherry_pick", `{}`, 400, `{"error":"branch is missing"}`},
			{"maint", "POST", "none/cherry_pick", `{"branch":"main"}`, 404, `{"message":"404 Commit Not Found"}`},
			{"maint", "POST", "feature/cherry_pick", `{"branch":"none"}`, 404, `{"message":"404 Branch Not Found"}`},
			{"maint", "POST", "feature/cherry_pick", `{"branch":"main","dry_run":true}`, 200, `{"dry_run":"success"}`},
			{"maint", "POST", "feature/revert", `{"branch":"main"}`, 400, `{` + conflict + `,"error_code":"empty"}`},
		})
		if got := p.pick("dev", commits+head+"/merge_requests", "iid"); got != "1" || request["iid"] != float64(1) {
			t.Errorf("merge requests of the commit: %s", got)
		}
		made := p.do("maint", "POST", commits+"feature/cherry_pick", `{"branch":"main"}`)
		if want := "Change feature.txt\n\n(cherry picked from commit " + head + ")"; made["message"] != want {
			t.Errorf("got %v", made)
		}
		p.rows(appPath+"/repository", []codeRow{
			{"", "GET", "/tags/v1/signature", "", 404, `{"message":"404 Signature Not Found"}`},
			{"", "GET", "/tags/none/signature", "", 404, `{"message":"404 Tag Not Found"}`},
			{"", "HEAD", "/branches/main", "", 204, ""},
			{"", "HEAD", "/branches/none", "", 404, ""},
			{"", "GET", "/contributors", "", 200, `[{"name":"Dev","email":"dev@example.com","commits":1,"additions":0,"deletions":0},` +
				`{"name":"Maint","email":"maint@example.com","commits":1,"additions":0,"deletions":0}]`},
			{"", "GET", "/contributors?order_by=name", "", 200, ""},
			{"", "GET", "/contributors?ref=none", "", 404, `{"message":"404 Not Found"}`},
			{"", "GET", "/tree?pagination=none", "", 400, `{"error":"pagination cannot be \"none\" unless \"recursive\" is true"}`},
			{
				"", "GET", "/compare?from=main&to=feature&from_project_id=99999", "", 403,
				`{"message":"403 Forbidden - You don't have access to this fork's parent project"}`,
			},
		})
		diff := p.do("dev", "GET", appPath+"/repository/compare?from="+first+"&to=feature&unidiff=true", "")["diffs"].([]any)[0].(map[string]any)
		if diff["diff"] != "--- /dev/null\n+++ b/feature.txt\n@@ -0,0 +1 @@\n+x\n" {
			t.Errorf("unidiff %v", diff)
		}
		if w := p.send("", "GET", appPath+"/repository/tree?pagination=none&recursive=true", ""); w.Code != 200 || w.Header().Get("X-Total") != "" || strings.Count(w.Body.String(), `"id"`) != 2 {
			t.Errorf("whole tree: %d %v %s", w.Code, w.Header(), w.Body)
		}
	})
}

// A commit that is read or made by itself never carries its trailers, on which clients fail;
// a list carries them where it is asked to.
func TestCommit_trailers(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		p := newCode(t, d)
		commits := appPath + "/repository/commits"
		made := p.do("maint", "POST", commits, `{"branch":"signed","start_branch":"main","commit_message":"Sign it\n\nSigned-off-by: Ann <ann@example.com>\nSigned-off-by: Ben <ben@example.com>",`+
			`"actions":[{"action":"create","file_path":"signed.txt","content":"x"}]}`)
		picked := p.do("maint", "POST", commits+"/signed/cherry_pick", `{"branch":"main"}`)
		first := func(query string) map[string]any {
			var list []map[string]any
			if body := p.send("dev", "GET", commits+"?ref_name=signed"+query, "").Body.Bytes(); json.Unmarshal(body, &list) != nil || len(list) == 0 {
				t.Fatalf("list %s: %s", query, body)
			}
			return list[0]
		}
		for what, got := range map[string]map[string]any{
			"create": made, "get": p.do("dev", "GET", commits+"/signed", ""), "cherry-pick": picked,
			"revert":         p.do("maint", "POST", commits+"/"+picked["id"].(string)+"/revert", `{"branch":"main"}`),
			"branch":         p.do("dev", "GET", appPath+"/repository/branches/signed", "")["commit"].(map[string]any),
			"list unasked":   first(""),
			"compared":       p.do("dev", "GET", appPath+"/repository/compare?from=main&to=signed", "")["commit"].(map[string]any),
			"list for false": first("&trailers=false"),
		} {
			if !equalJSON(got["trailers"], map[string]any{}) || !equalJSON(got["extended_trailers"], map[string]any{}) {
				t.Errorf("%s: got %v and %v, want them empty", what, got["trailers"], got["extended_trailers"])
			}
		}
		listed := first("&trailers=true")
		if want := (map[string]any{"Signed-off-by": "Ben <ben@example.com>"}); !equalJSON(listed["trailers"], want) {
			t.Errorf("trailers of the list: got %v, want %v", listed["trailers"], want)
		}
		if want := (map[string]any{"Signed-off-by": []string{"Ann <ann@example.com>", "Ben <ben@example.com>"}}); !equalJSON(listed["extended_trailers"], want) {
			t.Errorf("extended trailers of the list: got %v, want %v", listed["extended_trailers"], want)
		}
	})
}

func TestBlame(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		p := newCode(t, d)
		p.commit("maint", "main", "", "update", "a.txt", "a\nb\nc\n")
		path := appPath + "/repository/files/a.txt/"
		p.rows(path, []codeRow{
			{"", "GET", "blame", "", 400, `{"error":"ref is missing"}`},
			{"", "GET", "blame?ref=none", "", 404, `{"message":"404 Commit Not Found"}`},
			{"", "GET", "blame?ref=main&range[start]=3&range[end]=2", "", 400, `{"message":"400 Bad request - range[start] must be less than or equal to range[end]"}`},
			{"", "GET", "blame?ref=main&range[start]=1", "", 400, `{"error":"range[end] is missing"}`},
			{"", "GET", "blame?ref=main&range[start]=90&range[end]=99", "", 200, `[]`},
		})
		p.want("", "GET", appPath+"/repository/files/none/blame?ref=main", "", 404, `{"message":"404 File Not Found"}`)
		if got := p.pick("", path+"blame?ref=main", "lines"); got != `["a"] ["b","c"]` {
			t.Errorf("lines %s", got)
		}
		if got := p.pick("", path+"blame?ref=main&range[start]=2&range[end]=2", "lines"); got != `["b"]` {
			t.Errorf("lines %s", got)
		}
		if w := p.send("", "HEAD", path+"blame?ref=main", ""); w.Code != 200 || w.Header().Get("X-Gitlab-Size") != "6" {
			t.Errorf("HEAD: %d %v", w.Code, w.Header())
		}
	})
}

// Raw content may be read in parts.
func TestRawParts(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		p := newCode(t, d)
		long := strings.Repeat("0123456789", 200_000)
		p.commit("maint", "main", "", "create", "long.txt", long)
		file := p.do("dev", "GET", appPath+"/repository/files/long.txt?ref=main", "")
		for _, path := range []string{appPath + "/repository/files/long.txt/raw", appPath + "/repository/blobs/" + file["blob_id"].(string) + "/raw"} {
			whole := p.fetch("", path)
			if whole.Code != 200 || whole.Body.String() != long || whole.Header().Get("Content-Type") != "text/plain; charset=utf-8" ||
				whole.Header().Get("Cache-Control") != "max-age=0, private, must-revalidate, no-store, no-cache" {
				t.Errorf("whole: %d, %d bytes, %v", whole.Code, whole.Body.Len(), whole.Header())
			}
			for _, tt := range []struct {
				part   string
				status int
				want   string
			}{
				{"bytes=5-14", 206, "5678901234"},
				{"bytes=1500000-1500003", 206, "0123"},
				{"bytes=-3", 206, "789"},
				{"bytes=3000000-", http.StatusRequestedRangeNotSatisfiable, ""},
				{"bytes=0-1,5-6", 200, long},
			} {
				if w := p.fetch("", path, "Range", tt.part); w.Code != tt.status || tt.want != "" && w.Body.String() != tt.want {
					t.Errorf("%s: got %d, %d bytes", tt.part, w.Code, w.Body.Len())
				}
			}
			if w := p.fetch("", path, "If-None-Match", whole.Header().Get("Etag")); w.Code != http.StatusNotModified {
				t.Errorf("known content: %d", w.Code)
			}
		}
	})
}

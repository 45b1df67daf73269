package app

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// TestSearch tells the story of searches over REST: what each scope finds for which users, and what is refused.
func TestSearch(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, s *server) {
		for _, name := range []string{"ann", "ben", "cat"} {
			s.user(name, nil)
		}
		group := number(s.do("ann", "POST", "/groups", obj{"name": "Bakery", "path": "bakery", "visibility": "public"}), "id")
		p := number(s.do("ann", "POST", "/projects", obj{"name": "Sourdough", "namespace_id": group, "visibility": "public", "initialize_with_readme": true}), "id")
		secret := number(s.do("ann", "POST", "/projects", obj{"name": "Sourdough secret", "namespace_id": group, "visibility": "private"}), "id")
		at := "/projects/" + p
		s.do("ann", "POST", at+"/members", obj{"user_id": int64(s.ids["ben"]), "access_level": 10})
		s.do("ann", "POST", at+"/repository/commits", obj{"branch": "main", "commit_message": "Knead the Dough\n\nlong", "actions": []obj{
			{"action": "create", "file_path": "docs/yeast.md", "content": "one\nFresh Yeast\nthree\n"},
			{"action": "create", "file_path": "src/oven.go", "content": "package oven\n\nconst yeast = 1\n"},
		}})
		s.do("ann", "POST", at+"/repository/branches", obj{"branch": "other", "ref": "main"})
		s.do("ann", "POST", at+"/repository/files/rye.md", obj{"branch": "other", "commit_message": "Rye", "content": "yeast of rye"})
		issue := number(s.do("ann", "POST", at+"/issues", obj{"title": "Buy flour", "description": "and yeast"}), "iid")
		s.do("ann", "POST", at+"/issues", obj{"title": "Yeast is gone", "confidential": true})
		s.do("ann", "POST", at+"/issues", obj{"title": "Old yeast"})
		s.do("ann", "PUT", at+"/issues/3", obj{"state_event": "close"})
		s.do("ann", "POST", "/projects/"+secret+"/issues", obj{"title": "Hidden yeast"})
		s.do("ann", "POST", at+"/issues/"+issue+"/notes", obj{"body": "No YEAST today"})
		s.do("ann", "POST", at+"/issues/"+issue+"/notes", obj{"body": "internal yeast", "internal": true})
		s.do("ann", "POST", at+"/merge_requests", obj{"title": "Draft: more yeast", "source_branch": "other", "target_branch": "main"})
		s.do("ann", "POST", at+"/milestones", obj{"title": "Yeast day"})
		s.do("ann", "POST", at+"/wikis", obj{"title": "recipes/Bread", "content": "flour\nyeast\nsalt"})
		s.do("ann", "POST", "/snippets", obj{"title": "Timer", "file_name": "yeast.sh", "content": "sleep 1", "visibility": "internal"})
		s.do("ann", "POST", "/snippets", obj{"title": "Yeast of mine", "file_name": "x", "content": "x", "visibility": "private"})

		// find returns one field of each thing that is found.
		find := func(as, path, field string) string {
			t.Helper()
			a := s.send(t.Context(), get(as, path))
			var list []map[string]any
			if a.Code != http.StatusOK || json.Unmarshal(a.Body.Bytes(), &list) != nil {
				t.Errorf("GET %s as %s: got %d %s", path, as, a.Code, a.Body)
			}
			if got := a.Header().Get("X-Search-Type"); got != "basic" {
				t.Errorf("GET %s: X-Search-Type is %q, want basic", path, got)
			}
			out := make([]string, len(list))
			for i, e := range list {
				out[i] = fmt.Sprint(e[field])
			}
			if total := a.Header().Get("X-Total"); total != "" && total != fmt.Sprint(len(list)) {
				t.Errorf("GET %s as %s: X-Total is %s, and the list has %d", path, as, total, len(list))
			}
			return strings.Join(out, "|")
		}
		for _, tt := range []struct{ as, path, field, want string }{
			{"ann", "/search?scope=projects&search=SOURDOUGH", "name", "Sourdough|Sourdough secret"},
			{"cat", "/search?scope=projects&search=sourdough", "name", "Sourdough"},
			{"cat", "/groups/bakery/-/search?scope=projects&search=sour", "path_with_namespace", "bakery/sourdough"},
			{"ann", "/search?scope=issues&search=yeast", "title", "Yeast is gone|Hidden yeast|Old yeast|Buy flour"},
			{"cat", "/search?scope=issues&search=yeast", "title", "Old yeast|Buy flour"},
			{"cat", "/groups/bakery/search?scope=issues&search=yeast&state=closed", "title", "Old yeast"},
			{"cat", at + "/search?scope=issues&search=yeast&order_by=created_at&sort=asc", "title", "Buy flour|Old yeast"},
			{"ann", at + "/-/search?scope=issues&search=yeast&confidential=true", "title", "Yeast is gone"},
			{"cat", at + "/search?scope=issues&search=yeast&confidential=true", "title", ""},
			{"cat", "/search?scope=merge_requests&search=more+yeast", "title", "Draft: more yeast"},
			{"cat", at + "/search?scope=merge_requests&search=yeast&state=merged", "title", ""},
			{"cat", "/search?scope=milestones&search=yeast", "title", "Yeast day"},
			{"cat", at + "/search?scope=milestones&search=day", "title", "Yeast day"},
			{"cat", "/search?scope=users&search=ann", "username", "ann"},
			{"cat", at + "/search?scope=users&search=cat", "username", ""},
			{"cat", at + "/search?scope=users&search=ben", "username", "ben"},
			{"cat", "/groups/bakery/search?scope=users&search=ben", "username", "ben"},
			{"cat", "/search?scope=notes&search=yeast", "body", "No YEAST today"},
			{"ann", at + "/search?scope=notes&search=yeast", "noteable_iid", "1|1"},
			{"ben", at + "/search?scope=notes&search=yeast", "body", "No YEAST today"},
			{"cat", "/search?scope=snippet_titles&search=yeast", "title", "Timer"},
			{"ann", "/search?scope=snippet_titles&search=yeast", "title", "Yeast of mine|Timer"},
			{"cat", at + "/search?scope=commits&search=knead+the", "title", "Knead the Dough"},
			{"cat", at + "/search?scope=commits&search=rye", "title", ""},
			{"cat", at + "/search?scope=commits&search=rye&ref=other", "title", "Rye"},
			{"cat", at + "/search?scope=blobs&search=yeast", "path", "docs/yeast.md|docs/yeast.md|src/oven.go"},
			{"cat", at + "/search?scope=blobs&search=yeast", "startline", "1|1|1"},
			{"cat", at + "/search?scope=blobs&search=yeast+extension:go", "data", "package oven\n\nconst yeast = 1\n"},
			{"cat", at + "/search?scope=blobs&search=yeast+-path:docs", "basename", "src/oven"},
			{"cat", at + "/search?scope=blobs&search=filename:*.md", "filename", "README.md|docs/yeast.md"},
			{"cat", at + "/search?scope=blobs&search=rye&ref=other", "ref", "other|other"},
			{"cat", at + "/search?scope=blobs&search=rye&ref=none", "path", ""},
			{"cat", at + "/search?scope=wiki_blobs&search=yeast", "path", "recipes/Bread.md"},
			{"cat", at + "/search?scope=wiki_blobs&search=bread", "basename", "recipes/Bread"},
			{"cat", at + "/search?scope=blobs&search=", "path", ""},
		} {
			if got := find(tt.as, tt.path, tt.field); got != tt.want {
				t.Errorf("%s as %s\n got %q\nwant %q", tt.path, tt.as, got, tt.want)
			}
		}
		sha := find("ann", at+"/search?scope=commits&search=knead", "id")
		if got := find("ann", at+"/search?scope=commits&search="+sha[:12], "id"); got != sha {
			t.Errorf("commit by the beginning of its id: got %q, want %s", got, sha)
		}
		// An archived project is searched where it is named.
		s.do("ann", "POST", at+"/archive", nil)
		for path, want := range map[string]string{
			"/search?scope=issues&search=flour": "", at + "/search?scope=issues&search=flour": "Buy flour", "/search?scope=issues&search=flour&include_archived=true": "Buy flour",
			"/search?scope=merge_requests&search=yeast": "", at + "/search?scope=merge_requests&search=yeast": "Draft: more yeast",
			"/search?scope=milestones&search=yeast": "", at + "/search?scope=milestones&search=yeast": "Yeast day",
		} {
			if got := find("cat", path, "title"); got != want {
				t.Errorf("%s of an archived project: got %q, want %q", path, got, want)
			}
		}
		s.do("ann", "POST", at+"/unarchive", nil)
		s.do("ann", "PUT", at, obj{"issues_access_level": "private", "wiki_access_level": "disabled", "repository_access_level": "private", "merge_requests_access_level": "private"})
		for _, scope := range []string{"issues", "merge_requests", "notes", "blobs", "commits", "wiki_blobs"} {
			if got := find("cat", at+"/search?scope="+scope+"&search=yeast", "id"); got != "" {
				t.Errorf("%s of a project that keeps them to members: got %q", scope, got)
			}
		}
		for _, tt := range []struct {
			as, path string
			status   int
			want     string
		}{
			{"", "/search?scope=issues&search=x", 401, `{"message":"401 Unauthorized"}`},
			{"cat", "/search?scope=issues", 400, `{"error":"search is missing"}`},
			{"cat", "/search?search=x", 400, `{"error":"scope is missing"}`},
			{"cat", "/search?search=x&scope=files", 400, `{"error":"scope does not have a valid value"}`},
			{"cat", "/groups/bakery/search?search=x&scope=snippet_titles", 400, `{"error":"scope does not have a valid value"}`},
			{"cat", at + "/search?search=x&scope=projects", 400, `{"error":"scope does not have a valid value"}`},
			{"cat", "/search?search=x&scope=blobs", 400, `{"message":"Scope not supported without Elasticsearch!"}`},
			{"cat", "/groups/bakery/search?search=x&scope=commits", 400, `{"message":"Scope not supported without Elasticsearch!"}`},
			{"cat", "/projects/" + secret + "/search?scope=issues&search=yeast", 404, `{"message":"404 Project Not Found"}`},
			{"cat", "/groups/none/search?scope=issues&search=yeast", 404, `{"message":"404 Group Not Found"}`},
		} {
			if a := s.send(t.Context(), get(tt.as, tt.path)); a.Code != tt.status || a.Body.String() != tt.want {
				t.Errorf("GET %s as %q\n got %d %s\nwant %d %s", tt.path, tt.as, a.Code, a.Body, tt.status, tt.want)
			}
		}
	})
}

// A search without a term of three characters has to be the whole title or description in the lists of the instance; in a
// project and a group it matches parts of them.
func TestSearch_short(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, s *server) {
		s.user("ann", nil)
		s.do("ann", "POST", "/groups", obj{"name": "Bakery", "path": "bakery"})
		group := number(s.do("ann", "GET", "/groups/bakery", nil), "id")
		at := "/projects/" + number(s.do("ann", "POST", "/projects", obj{"name": "Bread", "namespace_id": group, "initialize_with_readme": true}), "id")
		texts := []obj{
			{"title": "Ab"},
			{"title": "abc"},
			{"title": "in a text", "description": "AB"},
			{"title": "cab driver", "description": "an ab b"},
			{"title": "\u65e5\u672c"},
			{"title": "\u65e5\u672c\u8a9e"},
			{"title": "a b"},
		}
		for i, text := range texts {
			s.do("ann", "POST", at+"/issues", text)
			branch := fmt.Sprint("topic-", i)
			s.do("ann", "POST", at+"/repository/branches", obj{"branch": branch, "ref": "main"})
			text["source_branch"], text["target_branch"] = branch, "main"
			s.do("ann", "POST", at+"/merge_requests", text)
		}
		for _, tt := range []struct{ search, parts, whole string }{
			{"ab", "1 2 3 4", "1 3"},
			{" AB ", "1 2 3 4", "1 3"},
			{`"ab"`, "1 2 3 4", "1 3"},
			{"b", "1 2 3 4 7", ""},
			{"b a", "1 2 3 4 7", ""},
			{"a b", "1 2 3 4 7", "7"},
			{"\u65e5\u672c", "5 6", "5"},
			{"\u65e5\u672c\u8a9e", "6", "6"},
			{"abc", "2", "2"},
			{"driver ab", "4", "4"},
			{"", "1 2 3 4 5 6 7", "1 2 3 4 5 6 7"},
		} {
			for path, want := range map[string]string{
				at + "/issues?": tt.parts, "/groups/" + group + "/issues?": tt.parts, "/issues?scope=all&": tt.whole, "/issues?": tt.whole,
				at + "/merge_requests?": tt.parts, "/groups/" + group + "/merge_requests?": tt.parts, "/merge_requests?scope=all&": tt.whole,
			} {
				path += "sort=asc&order_by=created_at&search=" + url.QueryEscape(tt.search)
				a := s.send(t.Context(), get("ann", path))
				var list []struct{ IID int }
				if a.Code != http.StatusOK || json.Unmarshal(a.Body.Bytes(), &list) != nil {
					t.Fatalf("GET %s: got %d %s", path, a.Code, a.Body)
				}
				iids := make([]string, len(list))
				for i, e := range list {
					iids[i] = fmt.Sprint(e.IID)
				}
				if got := strings.Join(iids, " "); got != want || a.Header().Get("X-Total") != fmt.Sprint(len(list)) {
					t.Errorf("GET %s: got %q of %s, want %q", path, got, a.Header().Get("X-Total"), want)
				}
			}
			counts := s.do("ann", "GET", "/issues_statistics?scope=all&search="+url.QueryEscape(tt.search), nil)
			if got, want := fmt.Sprint(counts), fmt.Sprintf("map[statistics:map[counts:map[all:%d closed:0 opened:%[1]d]]]", len(strings.Fields(tt.whole))); got != want {
				t.Errorf("statistics of %q: got %s, want %s", tt.search, got, want)
			}
			a := s.send(t.Context(), request{as: "ann", way: bearer, method: http.MethodPost, path: "/api/graphql", whole: true, body: obj{
				"query":     `query($text: String) { everywhere: issues(search: $text) { count } group(fullPath: "bakery") { issues(search: $text, includeSubgroups: true) { count } } }`,
				"variables": obj{"text": tt.search},
			}})
			want := fmt.Sprintf(`{"data":{"everywhere":{"count":%d},"group":{"issues":{"count":%d}}},`, len(strings.Fields(tt.whole)), len(strings.Fields(tt.parts)))
			if got := a.Body.String(); !strings.HasPrefix(got, want) {
				t.Errorf("GraphQL %q: got %s, want %s", tt.search, got, want)
			}
		}
		if got := s.send(t.Context(), get("ann", "/search?scope=issues&search=ab")).Header().Get("X-Total"); got != "2" {
			t.Errorf("search of the instance: got %s issues, want 2", got)
		}
	})
}

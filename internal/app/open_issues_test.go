package app

import (
	"encoding/json"
	"fmt"
	"testing"
)

// openIssues finds every open_issues_count of a project by its name, however deep it stands.
func openIssues(v any, name string) []any {
	var out []any
	switch v := v.(type) {
	case []any:
		for _, item := range v {
			out = append(out, openIssues(item, name)...)
		}
	case map[string]any:
		if count, ok := v["open_issues_count"]; ok && v["path"] == name {
			out = append(out, count)
		}
		for _, inner := range v {
			out = append(out, openIssues(inner, name)...)
		}
	}
	return out
}

// Who may not read all confidential issues of a project never learns from it how many
// there are, be they its own.
func TestOpenIssuesCount(t *testing.T) {
	walker(t)
	eachEngine(t, func(t *testing.T, s *server) {
		callers := []string{"", "stranger", "guest", "planner", "reporter", "auditor", "admin"}
		levels := map[string]int{"guest": 10, "planner": 15, "reporter": 20}
		for _, name := range callers[1:6] {
			s.user(name, nil)
		}
		s.exec("UPDATE users SET auditor = ? WHERE username = ?", true, "auditor")
		s.do("admin", "POST", "/groups", map[string]any{"name": "team", "path": "team", "visibility": "public"})
		group := s.do("admin", "GET", "/groups/team", nil)
		app := s.do("admin", "POST", "/projects", map[string]any{"name": "app", "namespace_id": group["id"], "visibility": "public"})
		at := fmt.Sprintf("/projects/%v", app["id"])
		for name, level := range levels {
			s.do("admin", "POST", at+"/members", map[string]any{"user_id": s.ids[name], "access_level": level})
		}
		s.do("guest", "POST", at+"/star", nil)
		issue := func(as string, confidential bool) string {
			return fmt.Sprintf("%s/issues/%v", at, s.do(as, "POST", at+"/issues", map[string]any{"title": "x", "confidential": confidential})["iid"])
		}
		count := func(when string, all, public float64) {
			t.Helper()
			for _, as := range callers {
				want := public
				if as != "" && as != "guest" && as != "stranger" {
					want = all
				}
				for _, path := range []string{at, "/projects", "/projects?simple=false&statistics=true", "/groups/team", "/groups/team/projects", fmt.Sprintf("/users/%v/starred_projects", s.ids["guest"])} {
					w := s.send(t.Context(), request{as: as, method: "GET", path: path})
					var answer any
					if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil || w.Code != 200 {
						t.Errorf("%s, %s as %q: got %d %s", when, path, as, w.Code, w.Body)
					}
					got := openIssues(answer, "app")
					if as == "" && len(got) == 0 { // is told no counter
						continue
					}
					if len(got) != 1 || got[0] != want {
						t.Errorf("%s, %s as %q: got %v, want %v", when, path, as, got, want)
					}
				}
			}
		}
		issue("guest", false)
		count("one issue", 1, 1)
		secret, open := issue("guest", true), issue("reporter", false)
		count("with a confidential one", 3, 2)
		s.do("reporter", "PUT", secret, map[string]any{"title": "y"})
		s.do("reporter", "PUT", open, map[string]any{"confidential": true})
		count("with two", 3, 1)
		s.do("reporter", "PUT", secret, map[string]any{"confidential": false, "state_event": "close"})
		s.do("reporter", "PUT", open, map[string]any{"state_event": "close"})
		count("both closed, one made public on the way", 1, 1)
		s.do("reporter", "PUT", secret, map[string]any{"confidential": true})
		s.do("reporter", "PUT", open, map[string]any{"confidential": false})
		count("changed while they are closed", 1, 1)
		s.do("reporter", "PUT", secret, map[string]any{"state_event": "reopen"})
		s.do("reporter", "PUT", open, map[string]any{"confidential": true, "state_event": "reopen"})
		count("opened again", 3, 1)
		s.do("admin", "DELETE", open, nil)
		count("one deleted", 2, 1)
		s.do("reporter", "PUT", secret, map[string]any{"confidential": false})
		count("the other public", 2, 2)
	})
}

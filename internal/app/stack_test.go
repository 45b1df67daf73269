package app

import (
	"encoding/json"
	"fmt"
	"net/http"
	"testing"
)

// A stack of merge requests is merged from below: what the upper one becomes, its notes say. A fixup commit makes it a draft,
// and the deletion of its branch closes it.
func TestStack(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, s *server) {
		s.user("mona", nil)
		p := s.do("mona", "POST", "/projects", obj{"name": "app", "initialize_with_readme": true})
		at := "/projects/" + number(p, "id")
		commit := func(branch, from, message string) obj {
			t.Helper()
			in := obj{"branch": branch, "commit_message": message, "actions": []obj{{"action": "create", "file_path": message, "content": message}}}
			if from != "" {
				in["start_branch"] = from
			}
			return s.do("mona", "POST", at+"/repository/commits", in)
		}
		drain := func() {
			t.Helper()
			if err := s.jobs.Drain(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		commit("lower", "main", "One")
		commit("upper", "lower", "Two")
		s.do("mona", "POST", at+"/merge_requests", obj{"source_branch": "lower", "target_branch": "main", "title": "Lower"})
		s.do("mona", "POST", at+"/merge_requests", obj{"source_branch": "upper", "target_branch": "lower", "title": "Upper"})
		s.do("mona", "PUT", at+"/merge_requests/1/merge", obj{"should_remove_source_branch": true})
		drain()
		sha := commit("upper", "", "fixup! Two")["short_id"]
		drain()
		if m := s.do("mona", "GET", at+"/merge_requests/2", nil); m["target_branch"] != "main" || m["title"] != "Draft: Upper" || m["draft"] != true || m["state"] != "opened" {
			t.Errorf("upper: into %v, %v, draft %v, %v", m["target_branch"], m["title"], m["draft"], m["state"])
		}
		if w := s.send(t.Context(), request{as: "mona", method: http.MethodDelete, path: at + "/repository/branches/upper"}); w.Code != http.StatusNoContent {
			t.Fatalf("delete the branch: %d %s", w.Code, w.Body)
		}
		drain()
		if m := s.do("mona", "GET", at+"/merge_requests/2", nil); m["state"] != "closed" || m["closed_by"] == nil {
			t.Errorf("upper is %v, closed by %v", m["state"], m["closed_by"])
		}
		w := s.send(t.Context(), request{as: "mona", method: http.MethodPut, path: at + "/merge_requests/2", body: obj{"state_event": "reopen"}})
		if want := `{"message":["Source branch \"upper\" does not exist"]}`; w.Code != http.StatusUnprocessableEntity || w.Body.String() != want {
			t.Errorf("reopen: got %d %s, want 422 %s", w.Code, w.Body, want)
		}
		var notes []obj
		if err := json.Unmarshal(s.send(t.Context(), get("mona", at+"/merge_requests/2/notes?sort=asc")).Body.Bytes(), &notes); err != nil {
			t.Fatal(err)
		}
		got := ""
		for _, n := range notes {
			if text := n["body"].(string); len(text) < 100 {
				got += text + "\n"
			}
		}
		want := fmt.Sprintf("deleted the `lower` branch. This merge request now targets the `main` branch\nmarked this merge request as **draft** from %s\ndeleted source branch `upper`\n", sha)
		if got != want {
			t.Errorf("notes:\n%swant:\n%s", got, want)
		}
	})
}

package app

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
)

// The scope of a list of jobs is one status or several.
func TestJobs_scope(t *testing.T) {
	t.Parallel()
	s := newServer(t, "")
	shop := "/projects/" + number(s.do("admin", "POST", "/projects", obj{"name": "shop", "initialize_with_readme": true}), "id")
	s.do("admin", "POST", shop+"/repository/commits", obj{
		"branch": "main", "commit_message": "Build it [skip ci]",
		"actions": []obj{{"action": "create", "file_path": ".gitlab-ci.yml", "content": "build: {script: x}\nship: {stage: deploy, script: x}\n"}},
	})
	pipeline := shop + "/pipelines/" + number(s.do("admin", "POST", shop+"/pipeline", obj{"ref": "main"}), "id")
	for query, want := range map[string]string{
		"": "ship build", "?scope=pending": "build", "?scope[]=pending": "build", "?scope[]=created&scope[]=pending": "ship build", "?scope=success": "",
		"?scope=wrong": "400", "?scope[]=pending&scope[]=wrong": "400",
	} {
		for _, path := range []string{shop, pipeline} {
			res := s.send(t.Context(), request{as: "admin", method: "GET", path: path + "/jobs" + query})
			got := "400"
			if res.Code == http.StatusOK {
				var jobs []struct{ Name string }
				if err := json.Unmarshal(res.Body.Bytes(), &jobs); err != nil {
					t.Fatal(err)
				}
				names := make([]string, len(jobs))
				for i, j := range jobs {
					names[i] = j.Name
				}
				got = strings.Join(names, " ")
			} else if text := res.Body.String(); res.Code != http.StatusBadRequest || !strings.Contains(text, "scope does not have a valid value") {
				t.Errorf("%s%s: %d %s", path, query, res.Code, text)
			}
			if got != want {
				t.Errorf("%s/jobs%s: got %q, want %q", path, query, got, want)
			}
		}
	}
}

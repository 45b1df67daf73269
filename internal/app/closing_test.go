package app

import (
	"encoding/json"
	"fmt"
	"net/http"
	"testing"
)

// Commits on the default branch and merge requests close the issues that they name, of other
// projects as well, where these close what is referred to and the person may.
func TestClosing(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, s *server) {
		for _, name := range []string{"mona", "stan"} {
			s.user(name, nil)
		}
		group := s.do("mona", "POST", "/groups", obj{"name": "team", "path": "team", "visibility": "public"})
		project := func(name, visibility string, autoclose bool) string {
			p := s.do("mona", "POST", "/projects", obj{
				"name": name, "namespace_id": group["id"], "initialize_with_readme": true, "visibility": visibility, "autoclose_referenced_issues": autoclose,
			})
			return "/projects/" + number(p, "id")
		}
		app, other, still := project("app", "public", true), project("other", "private", true), project("still", "public", false)
		for _, at := range []string{app, app, app, app, other, other, still} {
			s.do("mona", "POST", at+"/issues", obj{"title": "x"})
		}
		state := func(at string, iid int, want string) {
			t.Helper()
			if got := s.do("mona", "GET", fmt.Sprintf("%s/issues/%d", at, iid), nil)["state"]; got != want {
				t.Errorf("issue %d of %s is %v, want %s", iid, at, got, want)
			}
		}
		iids := func(as, path, want string) {
			t.Helper()
			w := s.send(t.Context(), request{as: as, method: http.MethodGet, path: path})
			var list []struct {
				IID int `json:"iid"`
			}
			err := json.Unmarshal(w.Body.Bytes(), &list)
			var got []int
			for _, e := range list {
				got = append(got, e.IID)
			}
			if err != nil || fmt.Sprint(got) != want {
				t.Errorf("%s for %q = %v, want %s (%d %v)", path, as, got, want, w.Code, err)
			}
		}

		s.do("mona", "POST", app+"/repository/files/a.txt", obj{
			"branch": "main", "content": "a", "commit_message": "Closes #1, team/other#1, " + s.baseURL + "/team/app/-/issues/2 and team/still#1\n\nNot #3",
		})
		if err := s.jobs.Drain(t.Context()); err != nil {
			t.Fatal(err)
		}
		state(app, 1, "closed")
		state(app, 2, "closed")
		state(app, 3, "opened")
		state(other, 1, "closed")
		state(still, 1, "opened")
		source := func(as, at, field string) string {
			t.Helper()
			w := s.send(t.Context(), get(as, at+"/resource_state_events"))
			var list []obj
			if err := json.Unmarshal(w.Body.Bytes(), &list); err != nil || len(list) != 1 {
				t.Fatalf("states of %s: %d %s", at, w.Code, w.Body)
			}
			return fmt.Sprint(list[0][field])
		}
		said := func(as, at, want string) {
			t.Helper()
			w := s.send(t.Context(), get(as, at+"/notes?activity_filter=only_activity&sort=asc"))
			var list []obj
			err := json.Unmarshal(w.Body.Bytes(), &list)
			got := []any{}
			for _, n := range list {
				got = append(got, n["body"])
			}
			if err != nil || fmt.Sprint(got) != want || w.Header().Get("X-Total") != fmt.Sprint(len(list)) {
				t.Errorf("%s reads %v on %s, want %s (%v)", as, got, at, want, err)
			}
		}
		short := fmt.Sprint(s.do("mona", "GET", app+"/repository/branches/main", nil)["commit"].(obj)["id"])[:8]
		said("stan", app+"/issues/3", "[mentioned in commit "+short+"]")
		said("stan", app+"/issues/4", "[]")
		said("mona", other+"/issues/1", "[mentioned in commit team/app@"+short+"]")
		head := s.do("mona", "GET", app+"/repository/branches/main", nil)["commit"].(obj)["id"]
		if got := source("mona", app+"/issues/1", "source_commit"); got != head {
			t.Errorf("closed by commit %s, want %s", got, head)
		}
		if got := source("mona", other+"/issues/1", "source_commit"); got != "<nil>" {
			t.Errorf("closed by commit %s, want none: that is of another project", got)
		}
		s.do("mona", "POST", app+"/repository/files/b.txt", obj{
			"branch": "side", "start_branch": "main", "content": "b", "commit_message": "Closes #4",
		})
		if err := s.jobs.Drain(t.Context()); err != nil {
			t.Fatal(err)
		}
		state(app, 4, "opened") // that is not the default branch
		side := fmt.Sprint(s.do("mona", "GET", app+"/repository/branches/side", nil)["commit"].(obj)["id"])[:8]
		said("stan", app+"/issues/4", "[mentioned in commit "+side+"]")
		said("stan", app+"/issues/3", "[mentioned in commit "+short+"]")
		s.do("mona", "PUT", app, obj{"merge_requests_access_level": "private", "repository_access_level": "private", "builds_access_level": "private"})
		said("stan", app+"/issues/4", "[]")
		said("mona", app+"/issues/4", "[mentioned in commit "+side+"]")
		s.do("mona", "PUT", app, obj{"merge_requests_access_level": "enabled", "repository_access_level": "enabled", "builds_access_level": "enabled"})

		request := s.do("mona", "POST", app+"/merge_requests", obj{
			"title": "Mend", "description": "Fixes #3 and team/other#2, see #1", "source_branch": "side", "target_branch": "main",
		})
		iids("mona", app+"/issues/3/closed_by", "[1]")
		iids("mona", app+"/issues/3/related_merge_requests", "[1]")
		iids("mona", app+"/issues/1/closed_by", "[]")
		iids("mona", app+"/issues/1/related_merge_requests", "[1]")
		iids("mona", app+"/merge_requests/1/closes_issues", "[3 4 2]") // by id: one of a commit, one of another project
		iids("stan", app+"/merge_requests/1/closes_issues", "[3 4]")
		iids("mona", app+"/merge_requests/1/related_issues", "[1 3 4 2]")
		iids("stan", app+"/merge_requests/1/related_issues", "[1 3 4]")
		for as, want := range map[string]float64{"mona": 1, "stan": 1, "": 0} { // merge requests are for those who signed in
			if got := s.do(as, "GET", app+"/issues/3", nil)["merge_requests_count"]; got != want {
				t.Errorf("merge_requests_count for %q = %v, want %v", as, got, want)
			}
		}
		s.do("mona", "PUT", app+"/merge_requests/1", obj{"description": "Fixes team/other#2"})
		iids("mona", app+"/issues/3/related_merge_requests", "[]")
		iids("mona", other+"/issues/2/closed_by", "[1]")
		s.do("mona", "PUT", app+"/merge_requests/"+number(request, "iid")+"/merge", nil)
		state(app, 3, "opened")
		state(app, 4, "closed")
		state(other, 2, "closed")
		for _, at := range []string{app + "/issues/4", other + "/issues/2"} {
			if got := source("mona", at, "source_merge_request_id"); got != number(request, "id") {
				t.Errorf("%s closed by merge request %s, want %s", at, got, number(request, "id"))
			}
		}
		s.do("mona", "PUT", app, obj{"merge_requests_access_level": "private", "repository_access_level": "private", "builds_access_level": "private"})
		for at, field := range map[string]string{app + "/issues/4": "source_merge_request_id", app + "/issues/1": "source_commit"} {
			if got := source("stan", at, field); got != "<nil>" {
				t.Errorf("stan reads that %s was closed by %s", at, got)
			}
		}
		s.do("mona", "PUT", app, obj{"merge_requests_access_level": "enabled", "repository_access_level": "enabled", "builds_access_level": "enabled"})
		for path, want := range map[string]int{app + "/issues/3/closed_by": 401, other + "/issues/2/related_merge_requests": 401} {
			if w := s.send(t.Context(), anonymous(path)); w.Code != want {
				t.Errorf("%s without a token: %d, want %d", path, w.Code, want)
			}
		}
		if w := s.send(t.Context(), get("stan", other+"/issues/2/closed_by")); w.Code != http.StatusNotFound {
			t.Errorf("merge requests of a hidden issue: %d, want 404", w.Code)
		}
	})
}

func anonymous(path string) request { return request{method: http.MethodGet, path: path} }

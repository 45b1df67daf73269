package app

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"tenon/internal/core/authz"
)

// TestGroupProtectedBranches protects branches of all projects below a group: each role pushes, merges and commits over each transport as
// far as the rules of the group and of the project both allow, whatever the project's own say.
func TestGroupProtectedBranches(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, s *server) {
		group := s.do("admin", "POST", "/groups", obj{"name": "Team", "path": "team"})
		below := s.do("admin", "POST", "/groups", obj{"name": "Sub", "path": "sub", "parent_id": group["id"]})
		at, sub := "/groups/"+number(group, "id"), "/groups/"+number(below, "id")
		for name, level := range map[string]int{"dave": 30, "mary": 40, "olga": 50} {
			s.user(name, nil)
			s.token(name, name, authz.ScopeAPI)
			s.do("admin", "POST", at+"/members", obj{"user_id": s.ids[name], "access_level": level})
		}
		project := "/projects/" + number(s.do("admin", "POST", "/projects", obj{"name": "app", "namespace_id": below["id"], "initialize_with_readme": true}), "id")
		s.do("admin", "DELETE", project+"/protected_branches/main", nil)
		// The project lets developers do everything with its branches.
		s.do("mary", "POST", project+"/protected_branches", obj{"name": "ma*", "push_access_level": 30, "merge_access_level": 30, "allow_force_push": true})

		c := s.workCopy(t)
		c.git("", "clone", "-q", fmt.Sprintf("http://mary:%s@%s/team/sub/app.git", s.keys["mary"], c.host), ".")
		n := 0
		push := func(as string, flags ...string) (bool, string) {
			t.Helper()
			n++
			c.git("", "commit", "-q", "--allow-empty", "-m", fmt.Sprint("change ", n))
			out, err := c.try("", append([]string{"push", fmt.Sprintf("http://%s:%s@%s/team/sub/app.git", as, s.keys[as], c.host), "HEAD:refs/heads/main"}, flags...)...)
			if err != nil { // the next push begins at what is there
				c.git("", "reset", "-q", "--hard", "HEAD~1")
			}
			return err == nil, out
		}
		commit := func(as string) bool {
			t.Helper()
			n++
			for what, q := range map[string]request{
				"file":   {path: project + fmt.Sprintf("/repository/files/f%d.md", n), body: obj{"branch": "main", "content": "x", "commit_message": "Add"}},
				"commit": {path: project + "/repository/commits", body: obj{"branch": "main", "commit_message": "Add", "actions": []obj{{"action": "create", "file_path": fmt.Sprintf("c%d.md", n), "content": "x"}}}},
			} {
				q.as, q.method = as, http.MethodPost
				a := s.send(t.Context(), q)
				if a.Code == http.StatusCreated && what == "commit" {
					return true
				}
				if a.Code != http.StatusCreated && a.Code != http.StatusForbidden {
					t.Errorf("%s by %s: got %d %s", what, as, a.Code, a.Body)
				}
			}
			return false
		}
		merge := func(as string) bool {
			t.Helper()
			n++
			branch := fmt.Sprint("topic-", n)
			s.do("mary", "POST", project+"/repository/commits", obj{
				"branch": branch, "start_branch": "main", "commit_message": "Add", "actions": []obj{{"action": "create", "file_path": branch, "content": "x"}},
			})
			made := s.do("mary", "POST", project+"/merge_requests", obj{"title": branch, "source_branch": branch, "target_branch": "main"})
			if err := s.jobs.Drain(t.Context()); err != nil {
				t.Fatal(err)
			}
			q := request{as: as, method: http.MethodPut, path: project + "/merge_requests/" + number(made, "iid") + "/merge"}
			a := s.send(t.Context(), q)
			if a.Code != http.StatusOK && a.Code != http.StatusUnauthorized {
				t.Errorf("merge by %s: got %d %s", as, a.Code, a.Body)
			}
			return a.Code == http.StatusOK
		}
		who := []string{"dave", "mary", "olga"}
		check := func(when, pushes, merges string) {
			t.Helper()
			for i, as := range who {
				want := pushes[i] == 'y'
				if got, out := push(as); got != want || !want && !strings.Contains(out, "You are not allowed to push code to protected branches on this project.") {
					t.Errorf("%s, push by %s: got %v %s", when, as, got, out)
				}
				if got := commit(as); got != want {
					t.Errorf("%s, commit by %s: got %v", when, as, got)
				}
				if got, want := merge(as), merges[i] == 'y'; got != want {
					t.Errorf("%s, merge by %s: got %v", when, as, got)
				}
				c.git("", "fetch", "-q", "origin", "main")
				c.git("", "reset", "-q", "--hard", "FETCH_HEAD")
				access := s.do(as, "GET", project+"/repository/branches/main", nil)
				if access["can_push"] != want || access["protected"] != true {
					t.Errorf("%s, %s reads %v", when, as, access)
				}
			}
		}
		check("the project's rule alone", "yyy", "yyy")
		c.git("", "commit", "-q", "--amend", "--allow-empty", "-m", "rewritten")
		if ok, out := push("mary", "--force"); !ok {
			t.Fatalf("the project allows to force: %s", out)
		}

		made := s.do("olga", "POST", at+"/protected_branches", obj{"name": "main"})
		check("maintainers of the group's rule", "nyy", "nyy")
		c.git("", "commit", "-q", "--amend", "--allow-empty", "-m", "rewritten")
		if ok, out := push("mary", "--force"); ok || !strings.Contains(out, "You are not allowed to force push code to a protected branch on this project.") {
			t.Errorf("a forced push: got %v %s", ok, out)
		}
		c.git("", "fetch", "-q", "origin", "main")
		c.git("", "reset", "-q", "--hard", "FETCH_HEAD")

		s.do("olga", "POST", sub+"/protected_branches", obj{"name": "m*", "push_access_level": 0, "merge_access_level": 40})
		check("nobody pushes below", "nnn", "nyy")
		s.do("olga", "DELETE", sub+"/protected_branches/m%2A", nil)

		// What the project says of it, and does not change.
		var listed []obj
		for _, name := range []string{"ma*", "main"} {
			listed = append(listed, s.do("dave", "GET", project+"/protected_branches/"+strings.ReplaceAll(name, "*", "%2A"), nil))
		}
		if listed[0]["inherited"] != false || listed[1]["inherited"] != true || listed[1]["id"] != made["id"] {
			t.Errorf("the project lists %v", listed)
		}
		text := "Protected branch 'main' is inherited from the group team"
		s.want("mary", "DELETE", project+"/protected_branches/main", nil, 403, text)
		s.want("olga", "PATCH", project+"/protected_branches/main", obj{"allow_force_push": true}, 403, text)
		s.want("admin", "PUT", project+"/repository/branches/main/unprotect", nil, 403, text)
		s.want("mary", "POST", project+"/protected_branches", obj{"name": "main", "push_access_level": 30}, 201, `"inherited":false`)
		if ok, _ := push("dave"); ok {
			t.Error("a weaker rule of the project of the same name lets a developer push")
		}

		// Who may, and what is refused.
		rules := at + "/protected_branches"
		s.want("mary", "GET", rules, nil, 403, "")
		s.want("mary", "POST", rules, obj{"name": "x"}, 403, "")
		s.want("olga", "GET", rules+"?search=nothing", nil, 200, "[]")
		s.want("olga", "GET", rules+"/other", nil, 404, "404 ProtectedBranch Not Found")
		s.want("olga", "POST", rules, obj{"name": "main"}, 409, "Protected branch 'main' already exists")
		s.want("olga", "POST", rules, obj{"name": "x", "allowed_to_push": []obj{{"user_id": s.ids["dave"]}}}, 422, "Push access levels user must be blank")
		s.want("olga", "POST", rules, obj{"name": "x", "push_access_level": 30, "allowed_to_push": []obj{{"access_level": 30}}}, 422, "Push access levels access level has already been taken")
		s.want("olga", "POST", rules, obj{"name": "admins", "unprotect_access_level": 60}, 201, "")
		s.want("olga", "DELETE", rules+"/admins", nil, 403, "")
		level := made["push_access_levels"].([]any)[0].(obj)["id"]
		changed := s.do("olga", "PATCH", rules+"/main", obj{"allow_force_push": true, "allowed_to_push": []obj{{"id": level, "_destroy": true}, {"access_level": 30}}})
		if changed["allow_force_push"] != true || fmt.Sprint(changed["push_access_levels"].([]any)[0].(obj)["access_level"]) != "30" {
			t.Errorf("changed: %v", changed)
		}
		if ok, out := push("dave"); !ok {
			t.Errorf("a developer pushes after the change: %s", out)
		}
		trail := map[string]int{}
		for _, e := range s.trail("admin", at+"/audit_events?per_page=100") {
			trail[e.EventName]++
		}
		if trail["protected_branch_created"] != 2 || trail["protected_branch_updated"] != 1 {
			t.Errorf("audit events of the group: %v", trail)
		}
		s.do("olga", "DELETE", rules+"/main", nil)
		s.want("olga", "GET", rules+"/main", nil, 404, "")
	})
}

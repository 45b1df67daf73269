package app

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"tenon/internal/core/authz"
)

// TestApprovals takes a merge request from its creation to the merge in a project that wants one
// approval: the author gives none, a push takes it back, and without it nothing is merged.
func TestApprovals(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, s *server) {
		const password = "a long passphrase of cat's"
		s.user("ann", nil)
		s.user("ben", nil)
		s.person("cat", password)
		s.user("dan", nil)
		p := "/projects/" + number(s.do("ann", "POST", "/projects", obj{"name": "shop", "visibility": "private", "initialize_with_readme": true}), "id")
		for name, level := range map[string]authz.Level{"ben": authz.Developer, "cat": authz.Developer, "dan": authz.Reporter} {
			s.do("ann", "POST", p+"/members", obj{"user_id": s.ids[name], "access_level": level})
		}
		mr := p + "/merge_requests/1"
		push := func(file string) {
			s.do("ben", "POST", p+"/repository/commits", obj{
				"branch": "topic", "start_branch": "main", "force": true, "commit_message": "Add " + file,
				"actions": []any{obj{"action": "create", "file_path": file, "content": "x"}},
			})
		}
		push("a.txt")
		s.do("ben", "POST", p+"/merge_requests", obj{"source_branch": "topic", "target_branch": "main", "title": "Topic"})
		want := func(as, method, path string, body obj, status int, words string) {
			t.Helper()
			a := s.send(t.Context(), request{as: as, method: method, path: path, body: body})
			if a.Code != status || !strings.Contains(a.Body.String(), words) {
				t.Errorf("%s: %s %s %v: got %d %.400s, want %d with %q", as, method, path, body, a.Code, a.Body, status, words)
			}
		}
		stands := func(as, want string) {
			t.Helper()
			a := s.do(as, "GET", mr+"/approvals", nil)
			got := fmt.Sprint(a["approved"], a["approvals_required"], a["approvals_left"], a["user_has_approved"], a["user_can_approve"], len(a["approved_by"].([]any)))
			if got != want {
				t.Errorf("approvals for %s: got %s, want %s", as, got, want)
			}
		}

		// A rule of the project, with a group that the author does not see.
		hidden := s.do("ann", "POST", "/groups", obj{"name": "secret", "path": "secret", "visibility": "private"})
		rule := s.do("ann", "POST", p+"/approval_rules", obj{"name": "two eyes", "approvals_required": 1, "usernames": []any{"cat"}, "group_ids": []any{hidden["id"]}})
		if groups := rule["groups"].([]any); len(groups) != 1 || rule["contains_hidden_groups"] != false {
			t.Errorf("rule for its maker: %v", rule)
		}
		want("ben", "GET", p+"/approval_rules", nil, http.StatusOK, `"groups":[],"contains_hidden_groups":true`)
		want("ben", "POST", p+"/approval_rules", obj{"name": "mine", "approvals_required": 0}, http.StatusForbidden, "")
		want("ann", "POST", p+"/approval_rules", obj{"name": "two eyes", "approvals_required": 0}, http.StatusBadRequest, "has already been taken")
		want("ann", "POST", p+"/approval_rules", obj{"name": "many", "approvals_required": 101}, http.StatusBadRequest, "")

		// One for the protected branches, whose levels only developers see.
		every := s.do("ann", "POST", p+"/approval_rules", obj{"name": "main", "approvals_required": 0, "protected_branch_ids": []any{1}})
		at := p + "/approval_rules/" + number(every, "id")
		want("ben", "GET", at, nil, http.StatusOK, `"protected_branches":[{"id":1,"name":"main",`)
		want("dan", "GET", at, nil, http.StatusOK, `"protected_branches":[]`)
		s.do("ann", "DELETE", at, nil)

		want("ann", "GET", mr, nil, http.StatusOK, `"detailed_merge_status":"not_approved"`)
		want("ann", "PUT", mr+"/merge", nil, http.StatusMethodNotAllowed, "not approved")
		stands("cat", "false 1 1 false true 0")
		stands("ben", "false 1 1 false false 0")
		want("ben", "POST", mr+"/approve", nil, http.StatusUnauthorized, "")
		want("dan", "POST", mr+"/approve", nil, http.StatusUnauthorized, "")
		want("cat", "POST", mr+"/approve", obj{"sha": strings.Repeat("0", 40)}, http.StatusConflict, "SHA does not match HEAD of source branch: ")
		want("cat", "POST", mr+"/approve", nil, http.StatusCreated, `"approved":true`)
		want("cat", "POST", mr+"/approve", nil, http.StatusUnauthorized, "")
		stands("cat", "true 1 0 true false 1")
		want("ann", "GET", mr, nil, http.StatusOK, `"detailed_merge_status":"mergeable"`)
		want("ann", "GET", mr+"/approval_state", nil, http.StatusOK, `"approved":true`)

		// A push takes it back, and so does who gave it.
		push("b.txt")
		stands("cat", "false 1 1 false true 0")
		s.do("cat", "POST", mr+"/notes", obj{"body": "Fine.\n/approve"})
		stands("cat", "true 1 0 true false 1")
		want("cat", "POST", mr+"/unapprove", nil, http.StatusCreated, `"approved":false`)
		want("cat", "POST", mr+"/unapprove", nil, http.StatusNotFound, "")

		// The project may ask for the password.
		want("ben", "POST", p+"/approvals", obj{"require_password_to_approve": true}, http.StatusForbidden, "")
		want("ann", "POST", p+"/approvals", obj{"require_password_to_approve": true}, http.StatusCreated, `"require_password_to_approve":true`)
		want("cat", "POST", mr+"/approve", nil, http.StatusUnauthorized, "")
		want("cat", "POST", mr+"/approve", obj{"approval_password": "wrong"}, http.StatusUnauthorized, "")
		want("cat", "POST", mr+"/approve", obj{"approval_password": password}, http.StatusCreated, `"approved":true`)
		want("ann", "PUT", mr+"/merge", nil, http.StatusOK, `"state":"merged"`)
		want("cat", "POST", mr+"/unapprove", nil, http.StatusNotFound, "")
		stands("cat", "true 1 0 true false 1")
	})
}

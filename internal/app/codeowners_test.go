package app

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"tenon/internal/core/authz"
)

// TestApprovals_clients changes files with code owners, and makes and reads rules with the calls
// of Terraform's provider and of python-gitlab, down to the fields that those send beside what is
// asked for.
func TestApprovals_clients(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, s *server) {
		for _, name := range []string{"ann", "ben", "cat", "dan"} {
			s.user(name, nil)
		}
		group := s.do("ann", "POST", "/groups", obj{"name": "team", "path": "team", "visibility": "private"})
		secret := s.do("ann", "POST", "/groups", obj{"name": "secret", "path": "secret", "visibility": "private"})
		s.do("ann", "POST", "/groups/"+number(secret, "id")+"/members", obj{"user_id": s.ids["dan"], "access_level": authz.Developer})
		p := "/projects/" + number(s.do("ann", "POST", "/projects", obj{"name": "shop", "visibility": "private", "initialize_with_readme": true, "namespace_id": group["id"]}), "id")
		for _, name := range []string{"ben", "cat"} {
			s.do("ann", "POST", p+"/members", obj{"user_id": s.ids[name], "access_level": authz.Developer})
		}
		s.do("ann", "POST", p+"/share", obj{"group_id": secret["id"], "group_access": authz.Developer})
		want := func(as, method, path string, body obj, status int, words ...string) {
			t.Helper()
			a := s.send(t.Context(), request{as: as, method: method, path: path, body: body})
			for _, w := range append(words, "") {
				if a.Code != status || !strings.Contains(a.Body.String(), w) {
					t.Errorf("%s: %s %s %v: got %d %.900s, want %d with %q", as, method, path, body, a.Code, a.Body, status, w)
				}
			}
		}
		commit := func(as, branch string, files obj) {
			t.Helper()
			var actions []any
			for name, text := range files {
				actions = append(actions, obj{"action": "create", "file_path": name, "content": text})
			}
			s.do(as, "POST", p+"/repository/commits", obj{"branch": branch, "start_branch": "main", "commit_message": "Add files", "actions": actions})
		}
		s.do("ann", "POST", p+"/repository/commits", obj{"branch": "main", "commit_message": "Owners", "actions": []any{
			obj{"action": "create", "file_path": ".gitlab/CODEOWNERS", "content": "*.go @cat\n[Database] @secret\n/db/\n"},
		}})
		commit("ben", "topic", obj{"a.go": "a", "db/x": "x"})
		s.do("ben", "POST", p+"/merge_requests", obj{"source_branch": "topic", "target_branch": "main", "title": "Topic"})
		mr := p + "/merge_requests/1"
		want("ann", "GET", mr+"/approval_state", nil, http.StatusOK, `"section":"Database"`, `"code_owner":true`, `"approvals_required":0`)
		want("ann", "GET", mr, nil, http.StatusOK, `"detailed_merge_status":"mergeable"`)
		want("ann", "PATCH", p+"/protected_branches/main", obj{"code_owner_approval_required": true}, http.StatusOK, `"code_owner_approval_required":true`)
		want("ann", "GET", mr+"/approval_rules", nil, http.StatusOK, `"rule_type":"code_owner"`, `"section":"codeowners"`, `"name":"*.go"`, `"name":"/db/"`)
		want("ann", "GET", mr, nil, http.StatusOK, `"detailed_merge_status":"not_approved"`)
		want("ann", "GET", mr+"/approvals", nil, http.StatusOK, `"approvals_required":2`, `"rule_type":"code_owner"`, `"approvals_left":2`)
		want("ann", "PUT", mr+"/merge", nil, http.StatusMethodNotAllowed, "not approved")
		// Who can change that: users that the caller may see.
		want("ann", "GET", mr+"/mergeability", nil, http.StatusOK, `"permission":"approve_merge_request","access_level":null`, `"username":"cat"`, `"username":"dan"`, `"hidden_users":false`)
		want("cat", "GET", mr+"/mergeability", nil, http.StatusOK, `"username":"cat"`, `"hidden_users":true,"current_user":true`)
		want("ben", "GET", mr+"/mergeability", nil, http.StatusOK, `"hidden_users":true,"current_user":false`)
		if a := s.send(t.Context(), request{as: "ben", method: "GET", path: mr + "/mergeability"}); strings.Contains(a.Body.String(), `"username":"dan"`) {
			t.Errorf("a member of a hidden group is named: %s", a.Body)
		}
		want("cat", "POST", mr+"/approve", nil, http.StatusCreated, `"approvals_left":1`)
		want("dan", "POST", mr+"/approve", nil, http.StatusCreated, `"approved":true`)
		want("ann", "GET", mr, nil, http.StatusOK, `"detailed_merge_status":"mergeable"`)

		// Lists by approvals, and by the users of rules.
		commit("ben", "other", obj{"README": "r"})
		s.do("ben", "POST", p+"/merge_requests", obj{"source_branch": "other", "target_branch": "main", "title": "Other"})
		id := func(names ...string) string {
			out := ""
			for _, name := range names {
				out += fmt.Sprintf("&%s[]=%d", "IDS", s.ids[name])
			}
			return out
		}
		for _, list := range []string{p + "/merge_requests?", "/groups/team/merge_requests?", "/merge_requests?scope=all"} {
			for query, want := range map[string]string{
				strings.ReplaceAll(id("cat"), "IDS", "approved_by_ids"):                                    "1",
				strings.ReplaceAll(id("cat", "dan"), "IDS", "approved_by_ids"):                             "1",
				strings.ReplaceAll(id("cat", "ben"), "IDS", "approved_by_ids"):                             "",
				strings.ReplaceAll(id("cat", "cat", "cat", "cat", "dan", "ben"), "IDS", "approved_by_ids"): "1", // the first five
				"&approved_by_ids=Any":                                      "1",
				"&approved_by_ids=None":                                     "2",
				"&approved_by_ids=x":                                        "",
				"&approved_by_usernames[]=CAT":                              "1",
				"&approved_by_usernames[]=ben":                              "",
				"&approved_by_usernames=None":                               "2",
				strings.ReplaceAll(id("cat"), "IDS", "approver_ids"):        "1",
				strings.ReplaceAll(id("cat", "ben"), "IDS", "approver_ids"): "",
				"&approver_ids=Any":                                         "1",
				"&approver_ids=None":                                        "2",
			} {
				got := ""
				a := s.send(t.Context(), request{as: "ann", method: "GET", path: list + query})
				var found []map[string]any
				if err := json.Unmarshal(a.Body.Bytes(), &found); err != nil {
					t.Errorf("%s%s: %d %s", list, query, a.Code, a.Body)
				}
				for _, one := range found {
					got += number(one, "iid")
				}
				if got != want {
					t.Errorf("%s%s: got %q, want %q", list, query, got, want)
				}
			}
		}
		want("ann", "GET", p+"/merge_requests?approved_by_ids=1&approved_by_usernames=x", nil, http.StatusBadRequest, "mutually exclusive")

		// Terraform: create, read, update and read the list; a second rule for any approver is found
		// by the message and imported from the list.
		rules := p + "/approval_rules"
		rule := s.do("ann", "POST", rules, obj{
			"name": "two eyes", "approvals_required": 1, "rule_type": "regular", "user_ids": []any{s.ids["cat"]}, "group_ids": []any{group["id"]},
			"protected_branch_ids": []any{}, "applies_to_all_protected_branches": true,
		})
		at := rules + "/" + number(rule, "id")
		want("ann", "GET", at, nil, http.StatusOK, `"name":"two eyes"`, `"applies_to_all_protected_branches":true`, `"protected_branches":[]`, `"rule_type":"regular"`)
		want("ann", "PUT", at, obj{"name": "four eyes", "approvals_required": 2, "user_ids": []any{}, "group_ids": []any{}, "protected_branch_ids": []any{1}}, http.StatusOK,
			`"name":"four eyes"`, `"users":[]`, `"groups":[]`)
		want("ann", "POST", rules, obj{"name": "All members", "approvals_required": 1, "rule_type": "any_approver"}, http.StatusCreated, `"rule_type":"any_approver"`)
		want("ann", "POST", rules, obj{"name": "All members", "approvals_required": 1, "rule_type": "any_approver"}, http.StatusBadRequest, "any-approver for the project already exists")
		want("ann", "GET", rules+"?page=1&per_page=20", nil, http.StatusOK, `"rule_type":"any_approver"`)
		want("ann", "DELETE", at, nil, http.StatusNoContent)

		// A report asks for nothing until there is one.
		want("ann", "POST", rules, obj{"name": "Coverage-Check", "approvals_required": 1, "rule_type": "report_approver"}, http.StatusBadRequest, "report_type")
		report := s.do("ann", "POST", rules, obj{
			"name": "Coverage-Check", "approvals_required": 1, "rule_type": "report_approver", "report_type": "code_coverage", "user_ids": []any{s.ids["ben"]},
		})
		want("ann", "PUT", rules+"/"+number(report, "id"), obj{"approvals_required": 2}, http.StatusOK, `"report_type":"code_coverage"`, `"approvals_required":2`)
		if a := s.send(t.Context(), request{as: "ann", method: "GET", path: mr + "/approval_state"}); strings.Contains(a.Body.String(), "Coverage-Check") {
			t.Errorf("a report without results asks for approvals: %s", a.Body)
		}
		want("ann", "DELETE", rules+"/"+number(report, "id"), nil, http.StatusNoContent)

		// python-gitlab: project.approvals, mr.approvals.set_approvers, and the save of a rule, which
		// sends IDs of the path again.
		want("ann", "POST", p+"/approvals", obj{"reset_approvals_on_push": false, "selective_code_owner_removals": true}, http.StatusCreated,
			`"reset_approvals_on_push":false`, `"selective_code_owner_removals":true`)
		want("ann", "GET", mr+"/approval_rules", nil, http.StatusOK)
		own := s.do("ann", "POST", mr+"/approval_rules", obj{
			"name": "name", "approvals_required": 1, "rule_type": "regular", "user_ids": []any{s.ids["cat"]}, "group_ids": []any{}, "approver_ids": []any{s.ids["cat"]},
		})
		want("ann", "PUT", mr+"/approval_rules/"+number(own, "id"), obj{
			"id": own["id"], "merge_request_iid": 1, "approval_rule_id": own["id"], "name": "name", "approvals_required": 2, "user_ids": []any{s.ids["cat"], s.ids["ben"]}, "group_ids": []any{},
		}, http.StatusOK, `"approvals_required":2`)
		want("ann", "GET", mr+"/approval_state", nil, http.StatusOK, `"approval_rules_overwritten":true`)
		want("ann", "GET", p+"/merge_requests?approver_ids[]="+fmt.Sprint(s.ids["ben"]), nil, http.StatusOK, `"iid":1`)
		want("ann", "DELETE", mr+"/approval_rules/"+number(own, "id"), nil, http.StatusNoContent)

		// Renovate: a rule that asks for nothing stands for those of the project, not for code owners.
		want("ann", "GET", mr+"/approvals", nil, http.StatusOK, `"approvals_required":3`)
		mine := s.do("ann", "POST", mr+"/approval_rules", obj{"name": "renovateIgnoreApprovals", "approvals_required": 0})
		want("ann", "GET", mr+"/approvals", nil, http.StatusOK, `"approvals_required":2`)
		want("ann", "DELETE", mr+"/approval_rules/"+number(mine, "id"), nil, http.StatusNoContent)

		// A push that leaves approvals takes those of the owners of its files.
		s.do("ben", "POST", p+"/repository/commits", obj{"branch": "topic", "commit_message": "More", "actions": []any{obj{"action": "create", "file_path": "b.go", "content": "b"}}})
		want("ann", "GET", mr+"/approvals", nil, http.StatusOK, `"approved_by":[{"user":{"id":`+fmt.Sprint(s.ids["dan"]))
		want("ann", "PUT", mr+"/merge", nil, http.StatusMethodNotAllowed, "not approved")
		want("cat", "POST", mr+"/approve", nil, http.StatusCreated, `"approved":true`)
		want("ann", "PUT", mr+"/merge", nil, http.StatusOK, `"state":"merged"`)

		// Who may push to the branch may do so without its owners; others may not push at all.
		push := obj{"branch": "main", "commit_message": "Past the owners", "actions": []any{obj{"action": "create", "file_path": "c.go", "content": "c"}}}
		want("ben", "POST", p+"/repository/commits", push, http.StatusForbidden, "")
		want("ann", "POST", p+"/repository/commits", push, http.StatusCreated, "")
	})
}

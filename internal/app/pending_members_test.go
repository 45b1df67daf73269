package app

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"tenon/internal/core/account"
)

// Owners of a group see who is to be a member of it, or of a place inside, and is not yet: users whose account awaits approval
// and invited addresses. An administrator who owns the group approves the users.
func TestPendingMembers(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, s *server) {
		s.user("ann", nil)
		s.user("eva", nil)
		for _, name := range []string{"ben", "cat", "dan"} {
			s.user(name, nil)
		}
		group := number(s.do("ann", "POST", "/groups", obj{"name": "Yard", "path": "yard"}), "id")
		inside := number(s.do("ann", "POST", "/groups", obj{"name": "Dock", "path": "dock", "parent_id": group}), "id")
		project := number(s.do("ann", "POST", "/projects", obj{"name": "crane", "namespace_id": inside}), "id")
		other := number(s.do("ann", "POST", "/groups", obj{"name": "Other", "path": "other"}), "id")
		for _, name := range []string{"ben", "cat"} {
			s.exec("UPDATE users SET state = ? WHERE id = ?", account.PendingApproval, s.ids[name])
			s.do("admin", "PUT", "/users/"+fmt.Sprint(s.ids[name]), obj{"note": "signed up"}) // evicts the user from caches
		}
		add := func(place, name string) {
			t.Helper()
			s.do("ann", "POST", place+"/members", obj{"user_id": s.ids[name], "access_level": 30})
		}
		add("/groups/"+group, "dan")
		add("/groups/"+inside, "ben")
		add("/projects/"+project, "ben")
		add("/projects/"+project, "cat")
		add("/groups/"+other, "cat")
		s.do("ann", "POST", "/groups/"+group+"/invitations", obj{"email": "eve@example.com", "access_level": 30})
		s.do("ann", "POST", "/projects/"+project+"/invitations", obj{"email": "EVE@example.com,flo@example.com", "access_level": 30})

		pending := "/groups/" + group + "/pending_members"
		list := func(as, path string) (out []obj) {
			t.Helper()
			a := s.send(t.Context(), request{as: as, method: "GET", path: path})
			if err := json.Unmarshal(a.Body.Bytes(), &out); err != nil || a.Code != 200 {
				t.Fatalf("%s: %d %s", path, a.Code, a.Body)
			}
			return out
		}
		shown := func(as, path string) string {
			t.Helper()
			var b strings.Builder
			for _, m := range list(as, path) {
				fmt.Fprint(&b, m["username"], " ", m["email"], " ", m["approved"], " ", m["invited"], "\n")
			}
			return b.String()
		}
		const invited = "<nil> EVE@example.com true true\n<nil> flo@example.com true true\n"
		if got, want := shown("ann", pending), "ben <nil> false false\ncat <nil> false false\n"+invited; got != want {
			t.Errorf("got\n%swant\n%s", got, want)
		}
		if got, want := shown("admin", pending), "ben ben@example.com false false\ncat cat@example.com false false\n"+invited; got != want {
			t.Errorf("an administrator: got\n%swant\n%s", got, want)
		}
		if got := shown("ann", pending+"?per_page=2&page=2"); got != invited {
			t.Errorf("the second page: got\n%s", got)
		}
		member := func(name string) string {
			return number(list("ann", pending)[map[string]int{"ben": 0, "cat": 1}[name]], "id")
		}
		approve := func(name string) string { return "/groups/" + group + "/members/" + member(name) + "/approve" }
		ben := approve("ben")
		waiting, members := "/projects/"+project+"/members/all?state=awaiting", "/projects/"+project+"/members/all?state=active"
		if got := list("ann", waiting); len(got) != 2 || got[0]["membership_state"] != "awaiting" {
			t.Errorf("awaiting: %v", got)
		}
		if got := list("ann", members); len(got) != 2 || got[0]["membership_state"] != "active" {
			t.Errorf("active: %v", got)
		}

		for _, tt := range []struct {
			name, as, method, path string
			code                   int
			text                   string
		}{
			{"list of a member", "dan", "GET", pending, 403, "403 Forbidden"},
			{"list of a stranger", "eva", "GET", pending, 404, "404 Group Not Found"},
			{"list of a group inside", "ann", "GET", "/groups/" + inside + "/pending_members", 400, "400 Bad request"},
			{"approval of a member", "dan", "PUT", ben, 403, "403 Forbidden"},
			{"approval of an owner, who approves no accounts", "ann", "PUT", ben, 403, "403 Forbidden"},
			{"approval of all, likewise", "ann", "POST", "/groups/" + group + "/members/approve_all", 403, "403 Forbidden"},
			{"approval in a group inside", "admin", "PUT", "/groups/" + inside + "/members/" + member("ben") + "/approve", 400, "400 Bad request"},
			{"approval in another group", "admin", "PUT", "/groups/" + other + "/members/" + member("ben") + "/approve", 404, "404"},
			{"approval", "admin", "PUT", ben, 200, `{"status":"success"}`},
		} {
			t.Run(tt.name, func(*testing.T) { s.want(tt.as, tt.method, tt.path, nil, tt.code, tt.text) })
		}
		if got, want := shown("ann", pending), "cat <nil> false false\n"+invited; got != want {
			t.Errorf("approved: got\n%swant\n%s", got, want)
		}
		s.want("ben", "GET", "/projects/"+project, nil, 200, "crane")
		s.want("admin", "PUT", ben, nil, 400, `{"message":"No memberships found"}`)

		s.want("admin", "POST", "/groups/"+group+"/members/approve_all", nil, 201, `{"status":"success"}`)
		if got := shown("ann", pending); got != invited {
			t.Errorf("all approved: got\n%s", got)
		}
		s.want("admin", "POST", "/groups/"+group+"/members/approve_all", nil, 400, `{"message":"No memberships found"}`)
		if got := list("ann", waiting); len(got) != 0 {
			t.Errorf("awaiting: %v", got)
		}
		if names := eventNames(s.trail("admin", "/audit_events?per_page=50")); strings.Count(names, "user_approved") != 2 {
			t.Errorf("audit: %s", names)
		}
	})
}

package app

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"tenon/internal/core/account"
	"tenon/internal/core/authz"
)

// Users without an address of an allowed domain never become members of a group, or of what is inside it.
func TestEmailDomains(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, s *server) {
		s.user("ann", func(in *account.Input) { in.Email = "ann@corp.test" })
		for _, name := range []string{"out", "asks"} {
			s.user(name, nil)
		}
		s.user("in", func(in *account.Input) { in.Email = "in@corp.test" })
		create := func(path string, body obj) string {
			t.Helper()
			return number(s.do("ann", "POST", path, body), "id")
		}
		group := create("/groups", obj{"name": "Yard", "path": "yard", "visibility": "public"})
		below := create("/groups", obj{"name": "Dock", "path": "dock", "parent_id": group, "visibility": "public"})
		project := create("/projects", obj{"name": "crane", "namespace_id": below, "visibility": "public"})
		guests := create("/groups", obj{"name": "Guests", "path": "guests"})
		source := create("/projects", obj{"name": "source"})
		s.do("ann", "POST", "/groups/"+guests+"/members", obj{"user_id": s.ids["out"], "access_level": 20})
		s.do("ann", "POST", "/projects/"+source+"/members", obj{"user_id": s.ids["out"], "access_level": 20})
		places := []string{"/groups/" + group, "/groups/" + below, "/projects/" + project}
		for _, place := range places {
			s.do("asks", "POST", place+"/access_requests", nil)
			s.do("ann", "POST", place+"/invitations", obj{"email": "late@example.com", "access_level": 20})
		}
		s.do("ann", "PUT", "/groups/"+group, obj{"allowed_email_domains_list": "corp.test"})

		for _, place := range places {
			for _, tt := range []struct {
				name, path string
				body       obj
			}{
				{"member", "/members", obj{"user_id": s.ids["out"], "access_level": 20}},
				{"member by name", "/members", obj{"username": "out", "access_level": 20}},
				{"invited address", "/invitations", obj{"email": "new@example.com", "access_level": 20}},
				{"invited address of a user", "/invitations", obj{"email": "out@example.com", "access_level": 20}},
				{"invited user", "/invitations", obj{"user_id": s.ids["out"], "access_level": 20}},
				{"invited group", "/share", obj{"group_id": guests, "group_access": 20}},
				{"domain that ends alike", "/invitations", obj{"email": "x@evilcorp.test", "access_level": 20}},
				{"domain below", "/invitations", obj{"email": "x@sub.corp.test", "access_level": 20}},
			} {
				a := s.send(t.Context(), request{as: "ann", method: "POST", path: place + tt.path, body: tt.body})
				if refused := a.Code == http.StatusUnprocessableEntity || strings.Contains(a.Body.String(), `"status":"error"`); !refused || !strings.Contains(a.Body.String(), "allowed_email_domains_list") {
					t.Errorf("%s of %s: %d %s", tt.name, place, a.Code, a.Body)
				}
			}
			s.want("ann", "POST", place+"/members", obj{"user_id": s.ids["in"], "access_level": 20}, 201, "")
			s.want("ann", "POST", place+"/invitations", obj{"email": "more@CORP.test", "access_level": 20}, 201, `"status":"success"`)
			s.want("ann", "PUT", fmt.Sprintf("%s/access_requests/%d/approve", place, s.ids["asks"]), nil, 422, "allowed_email_domains_list")
		}
		s.do("ann", "POST", "/projects/"+project+"/import_project_members/"+source, nil)
		late := s.user("late", func(in *account.Input) { in.Email = "late@example.com" })
		for _, place := range places {
			for _, id := range []authz.UserID{s.ids["out"], s.ids["asks"], late} {
				s.want("ann", "GET", fmt.Sprintf("%s/members/all/%d", place, id), nil, 404, "")
			}
		}
	})
}

package app

import (
	"fmt"
	"strings"
	"testing"
)

// TestPrivateProfiles opens private profiles, over REST and GraphQL, while users may not have one.
func TestPrivateProfiles(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, s *server) {
		s.user("ann", nil)
		s.user("ben", nil)
		p := s.do("ann", "POST", "/projects", obj{"name": "crane", "visibility": "public"})
		s.do("ann", "POST", "/projects/"+number(p, "id")+"/star", nil)
		s.do("ann", "POST", "/groups", obj{"name": "Team", "path": "team", "visibility": "public"})
		s.do("ann", "POST", "/projects/"+number(p, "id")+"/issues", obj{"title": "x"})
		at := fmt.Sprintf("/users/%d", s.ids["ann"])
		s.do("admin", "PUT", at, obj{"private_profile": true})
		check := func(open bool) {
			t.Helper()
			for path, has := range map[string]string{
				at: `"created_at":`, at + "/events": `"target_title"`, at + "/starred_projects": `"crane"`, at + "/contributed_projects": `"crane"`,
				"/projects/" + number(p, "id") + "/starrers": `"ann"`,
			} {
				a := s.send(t.Context(), request{as: "ben", method: "GET", path: path})
				if strings.Contains(a.Body.String(), has) != open {
					t.Errorf("%s: %d %s, want %s %v", path, a.Code, a.Body, has, open)
				}
			}
			document := `{ user(username: "ann") { groupMemberships { nodes { group { fullPath } } } } }`
			a := s.send(t.Context(), request{as: "ben", method: "POST", path: "/api/graphql", whole: true, body: obj{"query": document}})
			if strings.Contains(a.Body.String(), `"team"`) != open {
				t.Errorf("memberships: %s, want them %v", a.Body, open)
			}
		}
		check(false)
		s.set(obj{"make_profile_private": false, "user_defaults_to_private_profile": true})
		check(true)
		made := s.do("admin", "POST", "/users", obj{"username": "cleo", "name": "x", "email": "cleo@example.com", "password": annPassword})
		s.set(obj{"make_profile_private": true})
		check(false)
		if made["private_profile"] != false {
			t.Errorf("a user made while there are none has a private profile: %v", made["private_profile"])
		}
	})
}

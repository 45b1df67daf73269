package app

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"tenon/internal/core/authz"
)

// auditEvent is what the tests read of one.
type auditEvent struct {
	ID         int64          `json:"id"`
	AuthorID   int64          `json:"author_id"`
	EntityID   int64          `json:"entity_id"`
	EntityType string         `json:"entity_type"`
	EventName  string         `json:"event_name"`
	Details    map[string]any `json:"details"`
	CreatedAt  string         `json:"created_at"`
}

// trail asks for a list of audit events.
func (s *server) trail(as, path string) []auditEvent {
	s.tb.Helper()
	var out []auditEvent
	a := s.send(s.tb.Context(), get(as, path))
	if err := json.Unmarshal(a.Body.Bytes(), &out); err != nil || a.Code != http.StatusOK {
		s.tb.Fatalf("%s: GET %s: %d %s", as, path, a.Code, a.Body)
	}
	return out
}

// eventNames are the names of events, the newest first.
func eventNames(list []auditEvent) string {
	var out []string
	for i := range list {
		out = append(out, list[i].EventName)
	}
	return strings.Join(out, " ")
}

// Owners of groups and Maintainers of projects read all audit events of their place, Developers what they did themselves.
func TestAuditEvents(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, s *server) {
		for _, name := range []string{"owner", "maintainer", "developer", "reporter", "stranger"} {
			s.user(name, nil)
		}
		group := number(s.do("owner", "POST", "/groups", obj{"name": "Team", "path": "team", "visibility": "private"}), "id")
		for name, level := range map[string]authz.Level{"maintainer": authz.Maintainer, "developer": authz.Developer, "reporter": authz.Reporter} {
			s.do("owner", "POST", "/groups/"+group+"/members", obj{"user_id": s.ids[name], "access_level": level})
		}
		project := number(s.do("developer", "POST", "/projects", obj{"name": "App", "namespace_id": group, "visibility": "private"}), "id")
		s.do("maintainer", "POST", "/projects/"+project+"/variables", obj{"key": "A", "value": "secret of a variable"})

		instance, ofGroup, ofProject := "/audit_events", "/groups/"+group+"/audit_events", "/projects/"+project+"/audit_events"
		one := func(path, name string) string {
			for _, e := range s.trail("admin", path+"?per_page=100") {
				if e.EventName == name {
					return fmt.Sprintf("%s/%d", path, e.ID)
				}
			}
			t.Fatalf("no %s in %s", name, path)
			return ""
		}
		created, variable := one(ofGroup, "group_created"), one(ofProject, "ci_variable_created")
		for _, tt := range []struct {
			path string
			want map[string]int
		}{
			{instance, map[string]int{"": 401, "stranger": 403, "owner": 403, "admin": 200}},
			{instance + "/1", map[string]int{"": 401, "owner": 403, "admin": 200}},
			{instance + "/99999", map[string]int{"owner": 403, "admin": 404}},
			{ofGroup, map[string]int{"": 401, "stranger": 404, "reporter": 403, "developer": 200, "maintainer": 200, "owner": 200, "admin": 200}},
			{created, map[string]int{"": 401, "stranger": 404, "reporter": 403, "developer": 403, "maintainer": 403, "owner": 200, "admin": 200}},
			{ofProject, map[string]int{"": 401, "stranger": 404, "reporter": 403, "developer": 200, "maintainer": 200, "owner": 200, "admin": 200}},
			{variable, map[string]int{"": 401, "stranger": 404, "reporter": 403, "developer": 403, "maintainer": 200, "owner": 200, "admin": 200}},
			{ofProject + strings.TrimPrefix(created, ofGroup), map[string]int{"owner": 404, "developer": 403}}, // an event of another place
			{ofGroup + strings.TrimPrefix(variable, ofProject), map[string]int{"admin": 404}},
		} {
			for who, want := range tt.want {
				if a := s.send(t.Context(), get(who, tt.path)); a.Code != want {
					t.Errorf("GET %s as %q: got %d %s, want %d", tt.path, who, a.Code, a.Body, want)
				}
			}
		}
		for _, tt := range []struct{ as, path, want string }{
			{"owner", ofGroup, "member_created member_created member_created group_created"},
			{"developer", ofGroup, ""},
			{"maintainer", ofGroup, ""},
			{"owner", ofProject, "ci_variable_created project_created"},
			{"maintainer", ofProject, "ci_variable_created project_created"},
			{"developer", ofProject, "project_created"},
			{"admin", instance + "?entity_type=Project", "ci_variable_created project_created"},
			{"admin", instance + "?entity_type=Project&entity_id=" + project, "ci_variable_created project_created"},
			{"admin", instance + "?entity_type=Group&entity_id=" + project + "999", ""},
			{"admin", instance + "?per_page=2", "ci_variable_created project_created"},
		} {
			if got := s.trail(tt.as, tt.path); eventNames(got) != tt.want {
				t.Errorf("GET %s as %s: got %q, want %q", tt.path, tt.as, eventNames(got), tt.want)
			}
		}
		s.auditFilters(t, ofProject)
		s.auditPages(t, instance)

		var single auditEvent
		a := s.send(t.Context(), get("owner", variable))
		if err := json.Unmarshal(a.Body.Bytes(), &single); err != nil {
			t.Fatal(err)
		}
		got, _ := json.Marshal(single.Details)
		want := `{"add":"ci_variable","author_class":"User","author_email":"maintainer@example.com","author_name":"maintainer","custom_message":"Added ci variable",` +
			`"entity_path":"team/app","event_name":"ci_variable_created","ip_address":"192.0.2.1","target_details":"A","target_id":1,"target_type":"Ci::Variable"}`
		if string(got) != want || single.AuthorID != int64(s.ids["maintainer"]) || fmt.Sprint(single.EntityID) != project || single.EntityType != "Project" {
			t.Errorf("got %+v\n got %s\nwant %s", single, got, want)
		}
		if text := fmt.Sprint(s.trail("admin", instance+"?per_page=100")); strings.Contains(text, "secret of a variable") {
			t.Error("the value of a variable is in the audit events")
		}
	})
}

// auditFilters asks for audit events by their time.
func (s *server) auditFilters(t *testing.T, path string) {
	t.Helper()
	all := s.trail("owner", path)
	newest, oldest := all[0].CreatedAt, all[len(all)-1].CreatedAt
	for query, want := range map[string]string{
		"created_after=" + newest: eventNames(all[:1]), "created_before=" + oldest: eventNames(all[1:]), "created_after=" + oldest + "&created_before=" + newest: eventNames(all),
		"created_after=2099-01-01T00:00:00Z": "", "created_before=2001-01-01T00:00:00Z": "",
	} {
		if got := s.trail("owner", path+"?"+query); eventNames(got) != want {
			t.Errorf("GET %s?%s: got %q, want %q", path, query, eventNames(got), want)
		}
	}
	for query, want := range map[string]string{
		"/audit_events?entity_id=1":                               `400 {"error":"entity_type is missing"}`,
		"/audit_events?entity_type=Issue":                         `400 {"error":"entity_type does not have a valid value"}`,
		"/audit_events?entity_type=User&entity_id=x":              `400 {"error":"entity_id is invalid"}`,
		path + "?created_after=yesterday":                         `400 {"error":"created_after is invalid"}`,
		path + "?pagination=keyset&order_by=created_at":           `405 {"error":"Keyset pagination is not yet available for this type of request"}`,
		"/audit_events?pagination=keyset&order_by=id&sort=asc":    `405 {"error":"Keyset pagination is not yet available for this type of request"}`,
		"/audit_events?pagination=keyset&order_by=id&cursor=none": `400 {"error":"cursor is invalid"}`,
	} {
		if a := s.send(t.Context(), get("admin", query)); fmt.Sprintf("%d %s", a.Code, a.Body) != want {
			t.Errorf("GET %s: got %d %s, want %s", query, a.Code, a.Body, want)
		}
	}
}

// auditPages walks the instance's list by cursor, and counts the statements of a page.
func (s *server) auditPages(t *testing.T, path string) {
	t.Helper()
	all := s.trail("admin", path+"?per_page=100")
	var walked []auditEvent
	cursor := ""
	for range all {
		before := s.db.Statements()
		a := s.send(t.Context(), get("admin", path+"?pagination=keyset&order_by=id&sort=desc&per_page=3&cursor="+cursor))
		if n := s.db.Statements() - before; n > 5 {
			t.Errorf("a page takes %d statements", n)
		}
		var list []auditEvent
		if err := json.Unmarshal(a.Body.Bytes(), &list); err != nil || a.Code != http.StatusOK {
			t.Fatalf("%d %s: %v", a.Code, a.Body, err)
		}
		walked = append(walked, list...)
		next := a.Header().Get("X-NEXT-CURSOR")
		if linked := strings.Contains(a.Header().Get("Link"), `rel="next"`); linked != (next != "") {
			t.Errorf("X-NEXT-CURSOR %q, Link %q", next, a.Header().Get("Link"))
		}
		if cursor = next; cursor == "" {
			break
		}
	}
	if eventNames(walked) != eventNames(all) || len(all) < 8 {
		t.Errorf("by cursor: got %s\nwant %s", eventNames(walked), eventNames(all))
	}
}

// Changes tell what was and what is, in words, and no secrets.
func TestAuditEvents_changes(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, s *server) {
		s.user("ann", nil)
		ann := fmt.Sprint(s.ids["ann"])
		group := number(s.do("ann", "POST", "/groups", obj{"name": "Team", "path": "team", "visibility": "private"}), "id")
		project := number(s.do("ann", "POST", "/projects", obj{"name": "App", "namespace_id": group, "visibility": "private"}), "id")
		last := s.trail("admin", "/audit_events")[0].ID

		s.do("admin", "PUT", "/users/"+ann, obj{"email": "new@example.com", "skip_reconfirmation": true, "name": "Ann A.", "admin": true})
		s.do("admin", "PUT", "/users/"+ann, obj{"admin": false, "bio": "not audited"})
		email := number(s.do("ann", "POST", "/user/emails", obj{"email": "second@example.com"}), "id")
		s.do("ann", "DELETE", "/user/emails/"+email, nil)
		s.do("ann", "PUT", "/groups/"+group, obj{"name": "Crew", "path": "crew", "membership_lock": true})
		s.do("ann", "PUT", "/projects/"+project, obj{
			"wiki_access_level": "private", "releases_access_level": "disabled", "merge_method": "ff", "topics": []string{"a", "b"},
			"resolve_outdated_diff_discussions": true, "description": "words", "remove_source_branch_after_merge": false,
		})
		s.do("admin", "PUT", "/application/settings", obj{"max_attachment_size": 77})
		s.do("admin", "PUT", "/users/"+ann, obj{"password": "a planted passphrase"})

		type change struct{ event, entity, message, from, to string }
		var got []change
		for _, e := range s.trail("admin", "/audit_events?per_page=100") {
			if e.ID > last {
				word := func(key string) string { text, _ := e.Details[key].(string); return text }
				got = append(got, change{e.EventName, fmt.Sprintf("%s %s", e.EntityType, word("entity_path")), word("custom_message"), word("from"), word("to")})
				if e.Details["ip_address"] != "192.0.2.1" {
					t.Errorf("%s: from %v", e.EventName, e.Details["ip_address"])
				}
				if text := fmt.Sprint(e.Details); strings.Contains(text, "planted") {
					t.Errorf("a password is in %s", text)
				}
			}
		}
		slices.Reverse(got)
		user, of, place := "User ann", "Group team", "Project crew/app"
		want := []change{
			{"user_email_address_updated", user, "Changed email address from ann@example.com to new@example.com", "ann@example.com", "new@example.com"},
			{"user_name_updated", user, "Changed name from ann to Ann A.", "ann", "Ann A."},
			{"user_admin_status_updated", user, "Changed admin status from false to true", "false", "true"},
			{"user_admin_status_updated", user, "Changed admin status from true to false", "true", "false"},
			{"email_created", user, "Email created", "", ""},
			{"email_destroyed", user, "Email destroyed", "", ""},
			{"group_name_updated", of, "Changed name from Team to Crew", "Team", "Crew"},
			{"group_path_updated", of, "Changed path from team to crew", "team", "crew"},
			{"group_membership_lock_updated", of, "Changed membership_lock from false to true", "false", "true"},
			{"project_description_updated", place, "Changed description to words", "", "words"},
			{"project_topics_updated", place, "topics changed to: 'a,b'", "", "a,b"},
			{"project_feature_wiki_access_level_updated", place, "Changed wiki from enabled to private", "enabled", "private"},
			{"project_merge_method_updated", place, "Changed merge method to ff", "merge", "ff"},
			{"project_remove_source_branch_after_merge_updated", place, "Changed remove_source_branch_after_merge from true to false", "true", "false"},
			{"project_feature_releases_access_level_updated", place, "Changed releases from enabled to disabled", "enabled", "disabled"},
			{"project_resolve_outdated_diff_discussions_updated", place, "Changed resolve_outdated_diff_discussions from false to true", "false", "true"},
			{"application_setting_updated", "User root", "Changed max_attachment_size from 100 to 77", "100", "77"},
			{"user_password_updated", user, "Changed password", "", ""},
		}
		for _, w := range want {
			if !slices.Contains(got, w) {
				t.Errorf("no %+v", w)
			}
		}
		for _, g := range got {
			if !slices.Contains(want, g) {
				t.Errorf("unwanted %+v", g)
			}
		}
	})
}

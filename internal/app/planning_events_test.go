package app

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// TestPlanningEvents tells what becomes of milestones and pages of wikis in the events of a
// project, and that events of pages are for those who may read the wiki.
func TestPlanningEvents(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, s *server) {
		for _, name := range []string{"ann", "ben", "cat"} {
			s.user(name, nil)
		}
		group := number(s.do("ann", "POST", "/groups", obj{"name": "Team", "path": "team", "visibility": "public"}), "id")
		at := "/projects/" + number(s.do("ann", "POST", "/projects", obj{"name": "Shop", "namespace_id": group, "visibility": "public", "initialize_with_readme": true}), "id")
		s.do("ann", "POST", at+"/members", obj{"user_id": int64(s.ids["ben"]), "access_level": 10})

		m := number(s.do("ann", "POST", at+"/milestones", obj{"title": "v1"}), "id")
		s.do("ann", "PUT", at+"/milestones/"+m, obj{"description": "no event"})
		for _, event := range []string{"close", "activate"} {
			s.do("ann", "PUT", at+"/milestones/"+m, obj{"state_event": event})
		}
		s.do("ann", "DELETE", at+"/milestones/"+m, nil)
		s.do("ann", "POST", "/groups/"+group+"/milestones", obj{"title": "of a group"})
		s.do("ann", "POST", "/groups/"+group+"/wikis", obj{"title": "Of a group", "content": "none"})
		s.do("ann", "POST", at+"/wikis", obj{"title": "docs/First page", "content": "one"})
		s.do("ann", "POST", at+"/wikis", obj{"title": "Second", "content": "two"})
		s.do("ann", "PUT", at+"/wikis/docs%2FFirst-page", obj{"title": "Home page", "format": "org"})
		s.do("ann", "DELETE", at+"/wikis/Second", nil)

		from := at
		events := func(as, query string) (list []obj) {
			t.Helper()
			a := s.send(t.Context(), get(as, from+"/events?sort=asc&per_page=100&"+query))
			if err := json.Unmarshal(a.Body.Bytes(), &list); err != nil || a.Header().Get("X-Total") != fmt.Sprint(len(list)) {
				t.Fatalf("%s as %q: %v, X-Total is %s: %s", query, as, err, a.Header().Get("X-Total"), a.Body)
			}
			return list
		}
		names := func(as, query string) string {
			t.Helper()
			var out []string
			for _, e := range events(as, query) {
				out = append(out, fmt.Sprint(e["action_name"], " ", e["target_title"]))
			}
			return strings.Join(out, ", ")
		}
		for query, want := range map[string]string{
			"target_type=milestone":                  "opened v1, closed v1, opened v1, destroyed v1",
			"target_type=milestone&action=destroyed": "destroyed v1",
			"target_type=wiki":                       "created First page, created Second, updated Home page, destroyed Second",
			"target_type=wiki&action=updated":        "updated Home page",
			"action=destroyed":                       "destroyed v1, destroyed Second",
		} {
			for _, as := range []string{"ann", "ben", "cat", ""} {
				if got := names(as, query); got != want {
					t.Errorf("%s as %q: got %q, want %q", query, as, got, want)
				}
			}
		}
		list := events("ann", "target_type=wiki")
		first, second := list[0], list[1]
		page, ok := first["wiki_page"].(obj)
		if !ok || page["slug"] != "docs/Home-page" || page["format"] != "org" || page["title"] != "Home page" || page["wiki_page_meta_id"] != first["target_id"] || first["target_type"] != "WikiPage::Meta" {
			t.Errorf("a page that was renamed: got %v", first)
		}
		if page, ok := second["wiki_page"]; ok {
			t.Errorf("a page that is gone: got %v, want none", page)
		}

		// Clients look up the project of each event. What is in groups is in lists of its kind alone.
		s.do("ann", "POST", "/groups/"+group+"/epics", obj{"title": "Epic"})
		from = "/users/ann"
		if all := events("ann", ""); len(all) < 10 || slices.ContainsFunc(all, func(e obj) bool { return e["project_id"] == nil }) {
			t.Errorf("events of a user: got %v, want each in a project", all)
		}
		if got := names("ann", "target_type=epic"); got != "opened Epic" {
			t.Errorf("events of epics: got %q", got)
		}
		// Milestones and wikis of groups have no events.
		for query, want := range map[string]string{
			"target_type=milestone": "opened v1, closed v1, opened v1, destroyed v1",
			"target_type=wiki":      "created First page, created Second, updated Home page, destroyed Second",
		} {
			if got := names("ann", query); got != want {
				t.Errorf("events of a user, %s: got %q, want %q", query, got, want)
			}
		}
		from = at

		count := func(as string) int { return len(events(as, "target_type=wiki")) }
		for _, tt := range []struct {
			access           string
			members, foreign int
		}{{"private", 4, 0}, {"disabled", 0, 0}, {"enabled", 4, 4}} {
			s.do("ann", "PUT", at, obj{"wiki_access_level": tt.access})
			for as, want := range map[string]int{"ann": tt.members, "ben": tt.members, "cat": tt.foreign, "": tt.foreign} {
				if got := count(as); got != want {
					t.Errorf("a wiki that is %s: %q sees %d events, want %d", tt.access, as, got, want)
				}
			}
		}
	})
}

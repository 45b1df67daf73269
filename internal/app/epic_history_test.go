package app

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// TestEpicHistory changes an epic and reads its history as several users: a line that names
// something is for users who may read that.
func TestEpicHistory(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, s *server) {
		for _, name := range []string{"ann", "bob"} {
			s.user(name, nil)
		}
		group := "/groups/" + number(s.do("admin", "POST", "/groups", obj{"name": "team", "path": "team", "visibility": "public"}), "id")
		s.do("admin", "POST", group+"/members", obj{"user_id": s.ids["ann"], "access_level": 50})
		project := s.do("ann", "POST", "/projects", obj{"name": "app", "path": "app", "namespace_id": strings.TrimPrefix(group, "/groups/"), "visibility": "public"})
		at := "/projects/" + number(project, "id") + "/issues"
		epics := group + "/epics"
		sail := number(s.do("ann", "POST", epics, obj{"title": "Sail", "labels": "sea"}), "id")
		s.do("ann", "POST", epics, obj{"title": "Secret", "confidential": true})
		open, quiet := s.do("ann", "POST", at, obj{"title": "open"}), s.do("ann", "POST", at, obj{"title": "quiet", "confidential": true})

		s.do("ann", "PUT", epics+"/1", obj{"title": "Sail on", "start_date_fixed": "2023-06-01", "start_date_is_fixed": true, "remove_labels": "sea"})
		s.do("ann", "PUT", epics+"/1", obj{"state_event": "close"})
		s.do("ann", "PUT", epics+"/1", obj{"state_event": "reopen", "start_date_is_fixed": false})
		link := s.do("ann", "POST", epics+"/1/issues/"+number(open, "id"), nil)
		s.do("ann", "POST", epics+"/1/issues/"+number(quiet, "id"), nil)
		s.do("ann", "DELETE", epics+"/1/issues/"+number(link, "id"), nil)
		s.do("ann", "PUT", epics+"/1", obj{"parent_id": s.do("ann", "GET", epics+"/2", nil)["id"]})
		s.do("ann", "PUT", epics+"/1", obj{"parent_id": 0})
		s.do("ann", "POST", epics, obj{"title": "Row"})
		for _, iid := range []int{2, 3} {
			s.do("ann", "POST", epics+"/1/related_epics", obj{"target_group_id": "team", "target_epic_iid": iid, "link_type": "is_blocked_by"})
		}
		s.do("ann", "DELETE", epics+"/1/related_epics/2", nil)

		texts := func(as, path, key string) string {
			a := s.send(t.Context(), get(as, path))
			var list []map[string]any
			if err := json.Unmarshal(a.Body.Bytes(), &list); err != nil {
				t.Fatalf("%s: %d %s", path, a.Code, a.Body)
			}
			var out []string
			for _, e := range list {
				out = append(out, fmt.Sprint(e[key]))
			}
			return strings.Join(out, "; ")
		}
		const told = "changed title from **Sail** to **Sail{+ on+}**; changed start date to June 1, 2023; removed start date June 1, 2023; added issue team/app#1"
		for as, want := range map[string]string{
			"ann": told + "; added issue team/app#2; removed issue team/app#1; added parent epic team&2; removed parent epic team&2" +
				"; marked this epic as blocked by &2; marked this epic as blocked by &3; removed the relation with &3",
			"bob": told + "; removed issue team/app#1; marked this epic as blocked by &3; removed the relation with &3",
		} {
			if got := texts(as, epics+"/"+sail+"/notes?sort=asc", "body"); got != want {
				t.Errorf("history for %s: got %q\nwant %q", as, got, want)
			}
		}
		if got, want := texts("bob", epics+"/"+fmt.Sprint(s.do("bob", "GET", epics+"/3", nil)["id"])+"/notes?sort=asc", "body"), "marked this epic as blocking &1; removed the relation with &1"; got != want {
			t.Errorf("history of the linked epic: got %q, want %q", got, want)
		}
		if got, want := texts("bob", at+"/1/notes?sort=asc", "body"), "added to epic team&1; removed from epic team&1"; got != want {
			t.Errorf("history of the issue: got %q, want %q", got, want)
		}
		if got, want := texts("bob", epics+"/"+sail+"/resource_label_events", "action"), "add; remove"; got != want {
			t.Errorf("label events: got %q, want %q", got, want)
		}
		if got, want := texts("bob", epics+"/"+sail+"/resource_state_events", "state"), "closed; reopened"; got != want {
			t.Errorf("state events: got %q, want %q", got, want)
		}
		s.do("ann", "POST", epics+"/"+sail+"/notes", obj{"body": "Between us", "internal": true})
		s.do("ann", "POST", epics+"/"+sail+"/notes", obj{"body": "For all"})
		for as, want := range map[string]string{
			"ann": "opened Sail; opened Secret; closed Sail on; opened Sail on; opened Row", "bob": "opened Sail; closed Sail on; opened Sail on; opened Row",
		} {
			path := "/users/ann/events?sort=asc&target_type="
			did, about := strings.Split(texts(as, path+"epic", "action_name"), "; "), strings.Split(texts(as, path+"epic", "target_title"), "; ")
			for i := range did {
				did[i] += " " + about[i]
			}
			if got := strings.Join(did, "; "); got != want {
				t.Errorf("events for %s: got %q, want %q", as, got, want)
			}
			said := map[string]string{"ann": "Sail on; Sail on", "bob": "Sail on"}[as]
			if got := texts(as, path+"note", "target_title"); got != said {
				t.Errorf("comments for %s: got %q, want %q", as, got, said)
			}
		}
		html := s.do("bob", "POST", "/markdown", obj{"text": "see &1 and &2, team&1", "gfm": true, "project": "team/app"})["html"]
		if text := fmt.Sprint(html); strings.Count(text, "/groups/team/-/epics/1") < 2 || strings.Contains(text, "epics/2") {
			t.Errorf("references to epics: got %s", text)
		}
	})
}

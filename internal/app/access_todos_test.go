package app

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	gitlab "gitlab.com/gitlab-org/api/client-go/v2"
)

// TestAccessRequests_todos asks for access to a project and a group: who decides it sees what is asked for, with an
// address of the members, until it is decided. A page of such to-do items takes as many statements as one of each kind.
func TestAccessRequests_todos(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, s *server) {
		for _, name := range []string{"mona", "rick", "ann"} {
			s.user(name, nil)
			s.token(name, name, "api")
		}
		g := s.do("mona", "POST", "/groups", obj{"name": "Works", "path": "works", "visibility": "public"})
		p := s.do("mona", "POST", "/projects", obj{"name": "Plant", "namespace_id": g["id"], "visibility": "public"})
		group, project := "/groups/"+number(g, "id"), "/projects/"+number(p, "id")
		s.do("mona", "POST", project+"/members", obj{"user_id": s.ids["rick"], "access_level": 40})
		s.do("ann", "POST", project+"/access_requests", nil)
		s.do("ann", "POST", group+"/access_requests", nil)
		s.do("ann", "POST", "/projects/"+number(s.do("mona", "POST", "/projects", obj{"name": "Own", "visibility": "public"}), "id")+"/access_requests", nil)
		list := func(as, query string) []map[string]any {
			t.Helper()
			a := s.send(t.Context(), get(as, "/todos?"+query))
			var out []map[string]any
			if err := json.Unmarshal(a.Body.Bytes(), &out); err != nil || a.Code != http.StatusOK {
				t.Fatalf("%s: %d %s", query, a.Code, a.Body)
			}
			var typed []gitlab.Todo
			if err := json.Unmarshal(a.Body.Bytes(), &typed); err != nil {
				t.Errorf("as the client reads it: %v", err)
			}
			return out
		}
		const asked = "action=member_access_requested"
		want := func(what string, got []map[string]any, lines ...string) {
			t.Helper()
			var out []string
			for _, d := range got {
				target, _ := d["target"].(map[string]any)
				where, _ := d["project"].(map[string]any)
				in, _ := d["group"].(map[string]any)
				by, _ := d["author"].(map[string]any)
				out = append(out, fmt.Sprint(d["target_type"], " ", target["web_url"], " ", d["body"], " ", d["target_url"], " ", where["path_with_namespace"], " ", in["full_path"], " ", by["username"]))
			}
			if fmt.Sprint(out) != fmt.Sprint(lines) {
				t.Errorf("%s: got\n%s\nwant\n%s", what, strings.Join(out, "\n"), strings.Join(lines, "\n"))
			}
		}
		at := func(path string) string { return s.core.URLs.Root() + path }
		ofGroup := fmt.Sprint("Namespace ", at("/groups/works"), " works ", at("/groups/works/-/group_members?tab=access_requests"), " <nil> works ann")
		ofProject := fmt.Sprint("Project ", at("/works/plant"), " works/plant ", at("/works/plant/-/project_members?tab=access_requests"), " works/plant works ann")
		ofOwn := fmt.Sprint("Project ", at("/mona/own"), " mona/own ", at("/mona/own/-/project_members?tab=access_requests"), " mona/own <nil> ann")
		want("the owner", list("mona", asked), ofOwn, ofGroup)
		want("a maintainer", list("rick", asked), ofProject)
		want("by project", list("rick", "type=Project&project_id="+number(p, "id")), ofProject)
		want("by group", list("mona", "type=Namespace&group_id="+number(g, "id")), ofGroup)
		want("who asks", list("ann", ""))
		if counts := s.do("mona", "GET", "/user_counts", nil); counts["todos"] != 2.0 {
			t.Errorf("counts: %v", counts)
		}

		one, statements := 0, func() int {
			a, least := 0, 1<<30
			for range 3 {
				before := s.db.Statements()
				a = len(list("mona", ""))
				least = min(least, int(s.db.Statements()-before))
			}
			if a < 2 {
				t.Errorf("%d to-do items", a)
			}
			return least
		}
		one = statements()
		for i := range 6 {
			sub := s.do("mona", "POST", "/groups", obj{"name": fmt.Sprint("Sub", i), "path": fmt.Sprint("sub", i), "parent_id": g["id"], "visibility": "public"})
			inner := s.do("mona", "POST", "/projects", obj{"name": fmt.Sprint("Own", i), "visibility": "public"})
			s.do("ann", "POST", "/groups/"+number(sub, "id")+"/access_requests", nil)
			s.do("ann", "POST", "/projects/"+number(inner, "id")+"/access_requests", nil)
		}
		if many := statements(); many > one || many > 10 {
			t.Errorf("%d statements for 14 to-do items, %d for two", many, one)
		}

		s.do("rick", "PUT", fmt.Sprint(project, "/access_requests/", s.ids["ann"], "/approve"), nil)
		want("granted", list("rick", ""))
		want("what is done", list("rick", "state=done"), ofProject)
		s.do("ann", "DELETE", fmt.Sprint(group, "/access_requests/", s.ids["ann"]), nil)
		want("withdrawn", list("mona", "group_id="+number(g, "id")+"&state=done"), ofGroup)
	})
}

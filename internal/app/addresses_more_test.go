package app

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/vektah/gqlparser/v2"

	"tenon/internal/transport/web"
)

// TestAddresses_pages opens every page from an address that a group does not let in: what is in the group is not found, and no other page names it.
func TestAddresses_pages(t *testing.T) {
	t.Parallel()
	s := newServer(t, "")
	w := newWebWorld(t, s)
	callers, samples := w.callers(t), w.samples()
	top, _, _ := strings.Cut(w.group, "/")
	w.do("mona", "PUT", "/groups/"+top, obj{"ip_restriction_ranges": "10.99.0.0/16"})
	asked := 0
	for _, route := range web.Routes() {
		method, path, _ := strings.Cut(route, " ")
		sample, known := samples[path]
		if method != http.MethodGet || !known {
			continue
		}
		inside := strings.Contains(sample, w.path) || strings.Contains(sample, "/"+w.group)
		for _, role := range []string{"nobody", "reporter", "owner"} {
			p := callers[role].get(sample)
			switch signIn := strings.Contains(p.header.Get("Location"), "sign_in"); {
			case inside && p.status != http.StatusNotFound && !signIn:
				t.Errorf("%s as %s: %d %.300s", sample, role, p.status, p.text)
			case !inside && strings.Contains(p.text, w.group):
				t.Errorf("%s as %s names what is in the group: %s", sample, role, around(p.text, strings.Index(p.text, w.group)))
			case inside:
				asked++
			}
		}
	}
	if asked < 100 {
		t.Errorf("only %d pages were asked for", asked)
	}
}

// TestAddresses_largeFiles asks for Git LFS objects of a project over HTTP from an address that its group does not let in, with a token and with
// the grant that was given out before.
func TestAddresses_largeFiles(t *testing.T) {
	t.Parallel()
	s := newServer(t, "")
	s.user("mona", nil)
	s.do("mona", "POST", "/groups", obj{"name": "Depot", "path": "depot", "visibility": "public"})
	group := s.do("mona", "GET", "/groups/depot", nil)
	s.do("mona", "POST", "/projects", obj{"name": "app", "namespace_id": group["id"], "visibility": "public"})
	grant := s.largeFiles("depot/app", "mona", s.keys["mona"])
	oid := strings.Repeat("ab", 32)
	ask := func(method, path, body string, sign func(r *http.Request)) int {
		r := httptest.NewRequestWithContext(t.Context(), method, "/depot/app.git"+path, strings.NewReader(body))
		r.Header.Set("Content-Type", "application/vnd.git-lfs+json")
		sign(r)
		a := httptest.NewRecorder()
		s.http.Handler.ServeHTTP(a, r)
		return a.Code
	}
	signs := map[string]func(r *http.Request){
		"token": func(r *http.Request) { r.SetBasicAuth("mona", s.keys["mona"]) }, "administrator": func(r *http.Request) { r.SetBasicAuth("root", rootToken) },
		"grant": func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+grant) }, "nobody": func(*http.Request) {},
	}
	batch := func(operation string) string {
		return fmt.Sprintf(`{"operation":%q,"objects":[{"oid":%q,"size":5}]}`, operation, oid)
	}
	if got := ask("POST", "/info/lfs/objects/batch", batch("download"), signs["token"]); got != http.StatusOK {
		t.Fatalf("before: %d", got)
	}
	s.do("mona", "PUT", "/groups/depot", obj{"ip_restriction_ranges": "10.99.0.0/16"})
	for name, sign := range signs {
		for _, q := range [][3]string{
			{"POST", "/info/lfs/objects/batch", batch("download")},
			{"POST", "/info/lfs/objects/batch", batch("upload")},
			{"GET", "/gitlab-lfs/objects/" + oid, ""},
			{"PUT", "/gitlab-lfs/objects/" + oid + "/5", "12345"},
			{"GET", "/info/lfs/locks", ""},
			{"POST", "/info/lfs/locks", `{"path":"a"}`},
		} {
			if got := ask(q[0], q[1], q[2], sign); got != http.StatusNotFound && got != http.StatusUnauthorized {
				t.Errorf("%s %s with %s: %d", q[0], q[1], name, got)
			}
		}
	}
	s.do("mona", "PUT", "/groups/depot", obj{"ip_restriction_ranges": "192.0.2.0/24"})
	if got := ask("POST", "/info/lfs/objects/batch", batch("download"), signs["token"]); got != http.StatusOK {
		t.Errorf("let in again: %d", got)
	}
}

// TestAddresses_fields asks for each field of GraphQL that leads to what is in a group, from an address that the group does not let in.
func TestAddresses_fields(t *testing.T) {
	walker(t)
	w := newWorld(newServer(t, ""))
	schema, err := gqlparser.LoadSchema(w.schemaText())
	if err != nil {
		t.Fatal(err)
	}
	p := w.projects[0]
	values := w.more(p)
	values["group path"], _, _ = strings.Cut(values["full_path"], "/")
	g := &fieldWalk{schema: schema, below: map[string]int{}}
	g.from("{ %s }", "Query", nil, 0)
	for _, root := range []struct{ around, typ, path string }{
		{`{ project(fullPath: "{full_path}") { %s } }`, "Project", "project"},
		{`{ group(fullPath: "{group path}") { %s } }`, "Group", "group"},
		{`{ namespace(fullPath: "{full_path}") { %s } }`, "Namespace", "namespace"},
		{`{ issue(id: "gid://gitlab/Issue/{issues/:id}") { %s } }`, "Issue", "issue"},
		{`{ workItem(id: "gid://gitlab/WorkItem/{issues/:id}") { %s } }`, "WorkItem", "workItem"},
		{`{ mergeRequest(id: "gid://gitlab/MergeRequest/{merge_requests/:id}") { %s } }`, "MergeRequest", "mergeRequest"},
		{`{ milestone(id: "gid://gitlab/Milestone/{:milestone_id}") { %s } }`, "Milestone", "milestone"},
		{`{ runner(id: "gid://gitlab/Ci::Runner/{:runner_id}") { %s } }`, "CiRunner", "runner"},
		{`{ snippets(ids: ["gid://gitlab/ProjectSnippet/{:snippet_id}"]) { nodes { %s } } }`, "Snippet", "snippets nodes"},
		{`{ projects(fullPaths: ["{full_path}"]) { nodes { %s } } }`, "Project", "projects nodes"},
		{`{ user(username: "owner") { %s } }`, "UserCore", "user"},
	} {
		from := &fieldWalk{schema: schema, below: map[string]int{}}
		from.from(fill(root.around, values), root.typ, strings.Fields(root.path), 0)
		g.out = append(g.out, from.out...)
	}
	inside := values["group path"] + "/"
	naming := func(as string) map[string]bool {
		out := map[string]bool{}
		for _, d := range g.out {
			a := w.send(t.Context(), request{as: as, way: bearer, method: http.MethodPost, path: "/api/graphql", whole: true, body: obj{"query": d.text}})
			if a.Code != http.StatusOK || strings.Contains(a.Body.String(), "Internal server error") {
				t.Fatalf("%s: %d %.500s", d.text, a.Code, a.Body)
			}
			if strings.Contains(a.Body.String(), inside) {
				out[d.text] = true
			}
		}
		return out
	}
	if before := naming("owner"); len(before) < 50 {
		t.Fatalf("only %d of %d documents name what is in the group: the test proves nothing", len(before), len(g.out))
	}
	w.do("owner", "PUT", "/groups/"+values["group path"], obj{"ip_restriction_ranges": "10.99.0.0/16"})
	for _, as := range []string{"owner", "admin", "guest"} {
		for document := range naming(as) {
			t.Errorf("as %s names what is in the group: %s", as, document)
		}
	}
}

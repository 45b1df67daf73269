package app

import (
	"bytes"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"tenon/internal/core/namespace"
	"tenon/internal/core/project"
)

// TestAddresses restricts a group to addresses that no request comes from, and reads every route: what is below the group is not
// found, for administrators and owners too, and no list names it. These two still read the group itself.
func TestAddresses(t *testing.T) {
	walker(t)
	s := newServer(t, "")
	w := newWorld(s)
	inside := map[string]bool{}
	group := w.groups[slices.IndexFunc(w.groups, func(g *place) bool {
		clear(inside)
		for _, p := range w.projects {
			if strings.HasPrefix(p.values["full_path"], g.values["full_path"]+"/") {
				inside[p.values["projects/:id"]] = true
			}
		}
		return len(inside) > 0
	})]
	id := group.values["groups/:id"]
	path := w.projects[slices.IndexFunc(w.projects, func(p *place) bool { return inside[p.values["projects/:id"]] })].values["full_path"]
	asks := []request{
		{method: "GET", path: "/" + path},
		{method: "GET", path: "/" + path + "/-/raw/main/README.md"},
		{method: "GET", path: "/" + path + "/-/archive/main/app.tar.gz"},
		{method: "GET", path: "/" + path + "/-/issues"},
		{method: "GET", path: "/" + path + ".git/info/refs?service=git-upload-pack"},
		{method: "GET", path: "/" + path + ".git/info/refs?service=git-receive-pack"},
	}
	names := func(as string) (out []string) {
		for _, document := range []string{
			fmt.Sprintf("{ project(fullPath: %q) { id fullPath } }", path), "{ projects { nodes { fullPath } } }", "{ issues(state: all) { nodes { webPath } } }",
			"{ currentUser { todos(state: [pending, done]) { nodes { targetUrl } } authoredMergeRequests { nodes { webUrl } } projectMemberships { nodes { project { fullPath } } } } }",
			fmt.Sprintf("{ group(fullPath: %q) { projects(includeSubgroups: true) { nodes { fullPath } } issues { nodes { webPath } } mergeRequests { nodes { webUrl } } } }", group.values["full_path"]),
		} {
			a := w.send(t.Context(), request{as: as, way: bearer, method: http.MethodPost, path: "/api/graphql", whole: true, body: obj{"query": document}})
			if a.Code != http.StatusOK || strings.Contains(a.Body.String(), "Cannot query field") {
				t.Fatalf("%s as %s: %d %s", document, as, a.Code, a.Body)
			}
			if strings.Contains(a.Body.String(), group.values["full_path"]+"/") {
				out = append(out, document)
			}
		}
		return out
	}
	if got := names("owner"); len(got) < 4 {
		t.Fatalf("before, only these name what is inside: %q", got)
	}
	w.do("admin", "PUT", "/groups/"+id, obj{"ip_restriction_ranges": "10.99.0.0/16"})
	asked := 0
	for _, as := range []string{"admin", "owner", "guest"} {
		if got := names(as); got != nil {
			t.Errorf("as %s these name what is inside: %q", as, got)
		}
		for _, q := range asks {
			q.as, q.way, q.whole = as, bearer, true
			a := w.send(t.Context(), q)
			if login := a.Header().Get("Location"); a.Code != http.StatusNotFound && a.Code != http.StatusUnauthorized && !strings.Contains(login, "sign_in") {
				t.Errorf("%s as %s: %d %s %.200s", q.path, as, a.Code, login, a.Body)
			}
		}
	}
	all := samples()
	for _, route := range w.kit().Routes() {
		if route.Method != http.MethodGet {
			continue
		}
		for _, r := range w.rows(route, all) {
			q, missing := r.request()
			if missing != "" || r.sample.note != "" || strings.HasPrefix(route.Path, "/hooks/") { // what administrators have sent to other servers
				continue
			}
			below := r.place == group && strings.HasPrefix(route.Path, "/groups/:id/")
			shut := inside[r.place.values["projects/:id"]] && strings.HasPrefix(route.Path, "/projects/:id")
			if !shut && !below && (strings.HasPrefix(route.Path, "/projects/:id") || strings.HasPrefix(route.Path, "/groups/:id")) {
				continue
			}
			for _, as := range []string{"admin", "owner", "guest"} {
				asked++
				q.as = as
				q.path = wide(q.path)
				a := w.send(t.Context(), q)
				switch {
				case (shut || below && as == "guest") && a.Code != http.StatusNotFound:
					t.Errorf("%s as %s: %d %s", q.path, as, a.Code, a.Body)
				case !shut && strings.Contains(a.Body.String(), group.values["full_path"]+"/"):
					t.Errorf("%s as %s names what is inside the group: %s", q.path, as, around(a.Body.String(), strings.Index(a.Body.String(), group.values["full_path"]+"/")))
				}
			}
		}
	}
	if asked < 300 {
		t.Errorf("only %d requests were made", asked)
	}
	for _, as := range []string{"admin", "owner"} {
		if a := w.send(t.Context(), request{as: as, method: "GET", path: "/groups/" + id}); a.Code != http.StatusOK {
			t.Errorf("the group itself as %s: %d %s", as, a.Code, a.Body)
		}
	}
	w.do("owner", "PUT", "/groups/"+id, obj{"ip_restriction_ranges": "192.0.2.0/24"})
	if a := w.send(t.Context(), request{as: "guest", method: "GET", path: "/groups/" + id}); a.Code != http.StatusOK {
		t.Errorf("the group after the change: %d %s", a.Code, a.Body)
	}
}

// TestAddresses_ssh restricts a group to addresses that no connection comes from: git and large files over SSH find nothing below it, also
// on a connection from before. Other places are served, and the group is when its ranges have the address.
func TestAddresses_ssh(t *testing.T) {
	t.Parallel()
	a, client := newSSH(t)
	root, err := a.core.Accounts.ActorFor(t.Context(), "root")
	if err != nil {
		t.Fatal(err)
	}
	name := "depot"
	group, err := a.core.Namespaces.Create(t.Context(), root, namespace.GroupInput{GroupChanges: namespace.GroupChanges{Name: &name, Path: &name}})
	if err != nil {
		t.Fatal(err)
	}
	app := "app"
	if _, err := a.core.Projects.Create(t.Context(), root, project.Input{
		NamespaceID: &group.ID, Readme: true, Changes: project.Changes{Attributes: project.Attributes{Name: &app}},
	}); err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		ranges, path string
		served       bool
	}{{"", "depot/app", true}, {"192.0.2.0/24", "depot/app", false}, {"192.0.2.0/24", "root/app", true}, {"192.0.2.0/24,127.0.0.0/8", "depot/app", true}} {
		_, err := a.core.Namespaces.Update(t.Context(), root, name, namespace.GroupChanges{Settings: namespace.GroupSettingsChanges{IPRestrictionRanges: &step.ranges}})
		if err != nil {
			t.Fatal(err)
		}
		for _, command := range []string{"git-upload-pack '%s.git'", "git-receive-pack '%s.git'", "git-upload-archive '%s.git'", "git-lfs-authenticate %s.git download", "git-lfs-authenticate %s.git upload"} {
			session, err := client.NewSession()
			if err != nil {
				t.Fatal(err)
			}
			var out, problem bytes.Buffer
			session.Stdin, session.Stdout, session.Stderr = strings.NewReader("0000"), &out, &problem
			err = session.Run(fmt.Sprintf(command, step.path))
			_ = session.Close()
			served := out.Len() > 0 && !strings.Contains(problem.String(), "could not be found")
			if strings.HasPrefix(command, "git-upload-archive") {
				served = !strings.Contains(problem.String(), "could not be found") // which has no arguments here
			}
			if served != step.served || !served && err == nil {
				t.Errorf("%s of %s with ranges %q: %v %s %s, want it served: %t", command, step.path, step.ranges, err, &out, &problem, step.served)
			}
		}
	}
}

package app

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
)

// suffixed adds .json to the path of a request.
func suffixed(q request) request {
	path, query, asked := strings.Cut(q.path, "?")
	q.path = path + ".json"
	if asked {
		q.path += "?" + query
	}
	return q
}

// TestSuffix_writes sends every request that writes to a name that ends in .json, as the
// administrator: it must not reach the thing whose name is the same without the suffix.
func TestSuffix_writes(t *testing.T) {
	walker(t)
	eachEngine(t, func(t *testing.T, s *server) {
		w := newWorld(s)
		all, asked := samples(), 0
		for _, route := range w.kit().Routes() {
			// These answer for any name, whether something has it or not.
			free := key(route) == "POST /projects/:id/repository/files/:file_path" || strings.HasSuffix(route.Path, "/features/:name") || strings.HasSuffix(route.Path, "file_name") || strings.HasSuffix(route.Path, "/maven/*path") ||
				route.Method == http.MethodPut && (strings.HasSuffix(route.Path, "custom_attributes/:key") || strings.Contains(route.Path, "/hooks/"))
			if reads(route) || free {
				continue
			}
			for _, r := range w.rows(route, all) {
				if !slices.Contains([]string{"private", "instance"}, r.place.name) {
					continue
				}
				q, missing := r.request()
				if missing != "" {
					t.Fatalf("%s: no value for %s", key(route), missing)
				}
				q = suffixed(q)
				q.as = "admin"
				asked++
				if a := w.undone(q, r.before()); !slices.Contains([]int{400, 404, 405}, a.Code) {
					t.Errorf("%s as %s: got %d %.200s, want 404", r.title(), q.path, a.Code, a.Body)
				}
			}
		}
		if asked < 100 {
			t.Errorf("only %d requests were made", asked)
		}
	})
}

// TestSuffix_reads compares what is read with and without the suffix, where the path does
// not end in a free capture.
func TestSuffix_reads(t *testing.T) {
	walker(t)
	w := newWorld(newServer(t, ""))
	all, asked := samples(), 0
	for _, route := range w.kit().Routes() {
		last := route.Path[strings.LastIndex(route.Path, "/")+1:]
		free := []string{"*suffix_path", "*package_name", "/dist-tags", "*file_name", "maven/*path", "*file_identifier", "*dists_path", "*pool_path", ":branch", ":target_branch", ":tag_name", ":file_path", ":sha", ":filename", ":slug", "labels/:name", "protected_branches/:name", "protected_tags/:name", "protected_environments/:name"}
		if !reads(route) || strings.Contains(last, "{") || slices.ContainsFunc(free, func(s string) bool { return strings.HasSuffix(route.Path, s) }) {
			continue
		}
		for _, r := range w.rows(route, all) {
			if !slices.Contains([]string{"private", "instance"}, r.place.name) {
				continue
			}
			q, _ := r.request()
			q.as = "admin"
			asked++
			want, got := w.undone(q, nil), w.undone(suffixed(q), nil)
			if got.Code != want.Code || got.Body.Len() != want.Body.Len() { // times of the last use may differ
				t.Errorf("%s: got %d %.300s with .json, want %d %.300s", r.title(), got.Code, got.Body, want.Code, want.Body)
			}
		}
	}
	if asked < 100 {
		t.Errorf("only %d requests were made", asked)
	}
}

// TestSuffix_names reaches things whose names end in .json by every method, beside things
// with the same names without it.
func TestSuffix_names(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, s *server) {
		s.user("owner", nil)
		for _, name := range []string{"x", "x.json"} {
			s.do("owner", "POST", "/projects", obj{"name": name, "path": name, "initialize_with_readme": true})
			s.do("owner", "POST", "/groups", obj{"name": "team " + name, "path": "team-" + name})
		}
		s.do("owner", "POST", "/projects", obj{"name": "y", "path": "y"})
		const whole, short = "/projects/owner%2Fx.json", "/projects/owner%2Fx"
		ask := func(method, path string, body obj, status int, key, want string) {
			t.Helper()
			w := s.send(t.Context(), request{as: "admin", method: method, path: path, body: body})
			if w.Code != status || !strings.Contains(w.Body.String(), quotedPair(key, want)) {
				t.Errorf("%s %s: got %d %.300s, want %d with %s %q", method, path, w.Code, w.Body, status, key, want)
			}
		}
		for _, method := range []string{"GET", "PUT"} {
			ask(method, whole, obj{"description": "whole"}, 200, "path", "x.json")
			ask(method, whole+".json", obj{"description": "whole"}, map[string]int{"GET": 200, "PUT": 404}[method], map[string]string{"GET": "path", "PUT": "message"}[method],
				map[string]string{"GET": "x.json", "PUT": "404 Project Not Found"}[method])
			ask(method, "/groups/team-x.json", obj{"description": "whole"}, 200, "path", "team-x.json")
		}
		ask("GET", short, nil, 200, "path", "x")
		ask("GET", "/projects/owner%2Fy.json", nil, 200, "path", "y")
		ask("DELETE", "/projects/owner%2Fy.json", nil, 404, "message", "404 Project Not Found")
		for _, place := range []string{whole, "/groups/team-x.json"} {
			ask("PUT", place+"/custom_attributes/k.json", obj{"value": "1"}, 200, "key", "k.json")
			ask("DELETE", place+"/custom_attributes/k", nil, 404, "", "")
			ask("GET", place+"/custom_attributes/k.json", nil, 200, "key", "k.json")
			ask("POST", place+"/labels", obj{"name": "l.json", "color": "#ff0000"}, 201, "name", "l.json")
			ask("POST", place+"/labels", obj{"name": "m", "color": "#ff0000"}, 201, "name", "m")
			ask("PUT", place+"/labels/l.json", obj{"description": "d"}, 200, "name", "l.json")
			ask("DELETE", place+"/labels/m.json", nil, 404, "message", "404 Label Not Found")
			ask("DELETE", place+"/labels/l.json", nil, 204, "", "")
			ask("GET", place+"/labels/m.json", nil, 404, "message", "404 Label Not Found")
		}
		const in = whole + "/repository"
		ask("POST", in+"/branches", obj{"branch": "b.json", "ref": "main"}, 201, "name", "b.json")
		ask("POST", in+"/tags", obj{"tag_name": "t.json", "ref": "main"}, 201, "name", "t.json")
		ask("POST", in+"/files/f.json", obj{"branch": "b.json", "content": "x", "commit_message": "x"}, 201, "file_path", "f.json")
		ask("GET", in+"/branches/b.json", nil, 200, "name", "b.json")
		ask("GET", in+"/commits/b.json", nil, 200, "title", "x")
		ask("GET", in+"/files/f.json?ref=b.json", nil, 200, "file_name", "f.json")
		ask("POST", whole+"/protected_branches", obj{"name": "b.json"}, 201, "name", "b.json")
		ask("DELETE", whole+"/protected_branches/main.json", nil, 404, "", "")
		ask("DELETE", whole+"/protected_branches/b.json", nil, 204, "", "")
		ask("DELETE", in+"/branches/main.json", nil, 404, "message", "404 Branch Not Found")
		ask("DELETE", in+"/files/README.md.json", obj{"branch": "main", "commit_message": "x"}, 400, "", "")
		ask("DELETE", in+"/files/f.json", obj{"branch": "b.json", "commit_message": "x"}, 204, "", "")
		ask("DELETE", in+"/branches/b.json", nil, 204, "", "")
		ask("DELETE", in+"/tags/t.json", nil, 204, "", "")
		ask("DELETE", whole, nil, 202, "", "")
		ask("DELETE", "/users/"+url.PathEscape("owner.json"), nil, 404, "", "")
		ask("GET", short, nil, 200, "path", "x")
	})
}

// quotedPair is a key with its text as JSON has them; nothing for no key.
func quotedPair(key, value string) string {
	if key == "" {
		return ""
	}
	return `"` + key + `":"` + value + `"`
}

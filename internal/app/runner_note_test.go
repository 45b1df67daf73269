package app

import (
	"net/http"
	"strings"
	"testing"
)

// TestRunnerNote registers runners with and without a note, which only those see who may change them.
func TestRunnerNote(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, s *server) {
		token := s.do("admin", "POST", "/runners/reset_registration_token", nil)["token"].(string)
		if len(token) != 20 || strings.HasPrefix(token, "GR1348941") {
			t.Errorf("the registration token of the instance is %q, want 20 characters without a prefix", token)
		}
		both := s.send(t.Context(), request{method: http.MethodPost, path: "/runners", body: obj{"token": token, "maintainer_note": "a", "maintenance_note": "b"}})
		if want := `{"error":"maintainer_note, maintenance_note are mutually exclusive"}`; both.Code != http.StatusBadRequest || both.Body.String() != want {
			t.Errorf("both notes: got %d %s, want 400 %s", both.Code, both.Body, want)
		}
		s.user("bob", nil)
		for note, want := range map[string]string{"": `"maintenance_note":null`, "maintainer_note": `"maintenance_note":"Rack 7"`, "maintenance_note": `"maintenance_note":"Rack 7"`} {
			body := obj{"token": token, "description": "one"}
			if note != "" {
				body[note] = "Rack 7"
			}
			path := "/runners/" + number(s.do("", "POST", "/runners", body), "id")
			if a := s.send(t.Context(), request{as: "admin", method: http.MethodGet, path: path}); a.Code != http.StatusOK || !strings.Contains(a.Body.String(), want) {
				t.Errorf("with %q: got %d %s, want %s", note, a.Code, a.Body, want)
			}
			if a := s.send(t.Context(), request{as: "bob", method: http.MethodGet, path: path}); a.Code != http.StatusOK || strings.Contains(a.Body.String(), "maintenance_note") {
				t.Errorf("with %q for others: got %d %s, want no note", note, a.Code, a.Body)
			}
		}
	})
}

// TestSlashes asks with doubled slashes in the path.
func TestSlashes(t *testing.T) {
	t.Parallel()
	s := newServer(t, "")
	s.do("admin", "POST", "/projects", obj{"name": "app", "initialize_with_readme": true})
	s.do("admin", "POST", "/projects/root%2Fapp/issues", obj{"title": "One"})
	for path, want := range map[string]int{
		"//api/v4//projects//root%2Fapp///issues/1/discussions":                  http.StatusOK,
		"/api/v4/projects/root%2Fapp//issues//1":                                 http.StatusOK,
		"/api//v4/projects/root%2F%2Fapp/issues/1":                               http.StatusNotFound,
		"/api/v4/projects/root//app/issues/1":                                    http.StatusNotFound,
		"/api/v4//projects/root%2Fapp/repository/files/README.md/raw?ref=main//": http.StatusNotFound, // no such branch: only the path is meant
		"/api//v4/projects/root%2Fapp/repository/files/README.md/raw":            http.StatusOK,
	} {
		if a := s.send(t.Context(), request{as: "admin", method: http.MethodGet, path: path, whole: true}); a.Code != want {
			t.Errorf("%s: got %d %.200s, want %d", path, a.Code, a.Body, want)
		}
	}
	a := s.send(t.Context(), request{as: "admin", way: bearer, method: http.MethodPost, path: "/api//graphql", whole: true, body: obj{"query": "{ currentUser { username } }"}})
	if want := `{"data":{"currentUser":{"username":"root"}}`; !strings.HasPrefix(a.Body.String(), want) {
		t.Errorf("GraphQL: got %d %s, want %s", a.Code, a.Body, want)
	}
}

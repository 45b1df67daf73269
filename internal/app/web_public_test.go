package app

import (
	"net/http"
	"strings"
	"testing"
)

// The issues of a public project are read by everybody, as in the API. Their notes are not.
func TestWeb_publicIssue(t *testing.T) {
	t.Parallel()
	s := newServer(t, "")
	p := s.do("admin", "POST", "/projects", obj{"name": "app", "visibility": "public"})
	at := "/projects/" + number(p, "id")
	s.do("admin", "POST", at+"/issues", obj{"title": "Broken hammer"})
	s.do("admin", "POST", at+"/issues/1/notes", obj{"body": "It came from the old shed"})
	a := s.fetch("", "/root/app/-/issues/1")
	if page := a.Body.String(); a.Code != http.StatusOK || !strings.Contains(page, "Broken hammer") || strings.Contains(page, "old shed") ||
		!strings.Contains(page, "Sign in to read the comments.") {
		t.Errorf("got %d %s", a.Code, page)
	}
	s.do("admin", "POST", at+"/repository/commits", obj{"branch": "main", "commit_message": "One", "actions": []obj{{"action": "create", "file_path": "a", "content": "a"}}})
	s.do("admin", "POST", at+"/repository/commits", obj{"branch": "side", "start_branch": "main", "commit_message": "Two", "actions": []obj{{"action": "create", "file_path": "b", "content": "b"}}})
	of := s.do("admin", "POST", at+"/milestones", obj{"title": "Spring"})
	s.do("admin", "POST", at+"/merge_requests", obj{"title": "Mend it", "source_branch": "side", "target_branch": "main", "milestone_id": of["id"]})
	s.do("admin", "POST", at+"/merge_requests/1/notes", obj{"body": "From the old shed"})
	// So are its merge requests, though the interfaces ask for a token.
	requests := []string{"merge_requests", "merge_requests/1", "merge_requests/1/commits", "merge_requests/1/diffs"}
	for i, want := range []string{"Mend it", "Sign in to read the comments.", "Two", "1 changed file"} {
		if a := s.fetch("", "/root/app/-/"+requests[i]); a.Code != http.StatusOK || !strings.Contains(a.Body.String(), want) || strings.Contains(a.Body.String(), "old shed") {
			t.Errorf("%s: got %d %s", requests[i], a.Code, a.Body)
		}
	}
	if p := s.browse(t).get("/root/app/-/milestones/1?show=merge_requests"); !strings.Contains(p.text, "Mend it") {
		t.Errorf("a milestone: got %d %s", p.status, p.text)
	}
	if a := s.fetch("", "/api/v4"+at+"/merge_requests/1"); a.Code != http.StatusUnauthorized {
		t.Errorf("REST: got %d, want 401", a.Code)
	}
	for _, change := range []obj{{"merge_requests_access_level": "private"}, {"merge_requests_access_level": "enabled", "repository_access_level": "private"}, {"repository_access_level": "enabled", "visibility": "internal"}} {
		s.do("admin", "PUT", at, change)
		for _, path := range requests {
			if a := s.fetch("", "/root/app/-/"+path); a.Code != http.StatusNotFound {
				t.Errorf("%s after %v: got %d, want 404", path, change, a.Code)
			}
		}
	}
	s.do("admin", "PUT", at, obj{"visibility": "public"})
	s.do("admin", "POST", at+"/issues", obj{"title": "Secret", "confidential": true})
	if a := s.fetch("", "/root/app/-/issues/2"); a.Code != http.StatusNotFound {
		t.Errorf("a confidential issue: got %d, want 404", a.Code)
	}
}

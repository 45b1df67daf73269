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
	s.do("admin", "POST", at+"/issues", obj{"title": "Secret", "confidential": true})
	if a := s.fetch("", "/root/app/-/issues/2"); a.Code != http.StatusNotFound {
		t.Errorf("a confidential issue: got %d, want 404", a.Code)
	}
}

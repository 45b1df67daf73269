package app

import (
	"net/http"
	"strings"
	"testing"
)

// A path with two slashes in a row is no page: links made from it would lead to another server.
func TestWeb_doubleSlash(t *testing.T) {
	t.Parallel()
	s := newServer(t, "")
	s.do("admin", "POST", "/projects", obj{"name": "app", "visibility": "public"})
	for range 21 { // more than a page
		s.do("admin", "POST", "/projects/root%2Fapp/issues", obj{"title": "Broken"})
	}
	b := s.browse(t)
	if p := b.get("/root/app/-/issues"); p.status != http.StatusOK || !strings.Contains(p.text, `href="/root/app/-/issues?page=2"`) {
		t.Fatalf("got %d %s, want a list with a second page", p.status, p.text)
	}
	for _, path := range []string{"//root/app/-/issues", "/root//app/-/issues", "/root/app/-/issues//", "///root/app/-/issues", "//"} {
		if p := b.get(path); p.status != http.StatusNotFound || strings.Contains(p.text, `href="//`) {
			t.Errorf("%s: got %d %s, want 404", path, p.status, p.text)
		}
	}
}

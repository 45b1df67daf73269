package app

import (
	"net/http"
	"strings"
	"testing"
)

// TestTextLimits bounds snippets and wiki pages by the settings that are in force.
func TestTextLimits(t *testing.T) {
	t.Parallel()
	s := newServer(t, "")
	s.user("mona", nil)
	at := "/projects/" + number(s.do("mona", "POST", "/projects", obj{"name": "Tools"}), "id")
	for _, bad := range []obj{{"snippet_size_limit": 0}, {"snippet_size_limit": 200 << 20}, {"wiki_page_max_content_bytes": 1023}} {
		if got := s.send(t.Context(), request{as: "admin", method: http.MethodPut, path: "/application/settings", body: bad}); got.Code != http.StatusBadRequest {
			t.Errorf("%v: %d %s", bad, got.Code, got.Body)
		}
	}
	now := s.do("admin", "PUT", "/application/settings", obj{"snippet_size_limit": 2000, "wiki_page_max_content_bytes": 1024})
	if now["snippet_size_limit"] != 2000.0 || now["wiki_page_max_content_bytes"] != 1024.0 {
		t.Errorf("settings %v, %v", now["snippet_size_limit"], now["wiki_page_max_content_bytes"])
	}
	for _, tt := range []struct {
		path string
		body func(text string) obj
		most int
	}{
		{"/wikis", func(text string) obj { return obj{"title": "Home", "content": text} }, 1024},
		{"/snippets", func(text string) obj {
			return obj{"title": "x", "visibility": "private", "files": []obj{{"file_path": "a.txt", "content": text}}}
		}, 2000},
	} {
		for bytes, want := range map[int]int{tt.most + 1: http.StatusBadRequest, tt.most: http.StatusCreated} {
			got := s.send(t.Context(), request{as: "mona", method: http.MethodPost, path: at + tt.path, body: tt.body(strings.Repeat("x", bytes))})
			if got.Code != want {
				t.Errorf("%s of %d bytes: %d %s, want %d", tt.path, bytes, got.Code, got.Body, want)
			}
		}
	}
}

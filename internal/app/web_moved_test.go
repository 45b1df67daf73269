package app

import (
	"net/http"
	"strings"
	"testing"
)

// Pages of a project or group that was renamed lead to the same page under its present path, for those who may read it.
func TestWeb_moved(t *testing.T) {
	walker(t)
	eachEngine(t, func(t *testing.T, s *server) {
		w := newWebWorld(t, s)
		callers, samples := w.callers(t), w.samples()
		file := s.do("mona", "POST", "/projects/work%2Finner%2Ftools/uploads", obj{"file": attached{"a.txt", "attached"}})["url"].(string)
		s.do("mona", "PUT", "/projects/work%2Finner%2Ftools", obj{"path": "gear"})
		s.do("mona", "PUT", "/groups/work", obj{"path": "shop"})
		s.do("mona", "PUT", "/groups/shop%2Finner", obj{"path": "inside"})
		check := func(path, want string) {
			t.Helper()
			p := callers["owner"].get(path)
			if p.status != http.StatusMovedPermanently || p.header.Get("Location") != want {
				t.Errorf("%s: got %d to %q, want %q", path, p.status, p.header.Get("Location"), want)
				return
			}
			absent := strings.Contains(want, "artifacts/") || strings.HasSuffix(want, "/download_export") // of no job, and never exported
			if p := callers["owner"].get(want); p.status != http.StatusOK && p.status != http.StatusSeeOther && !absent {
				t.Errorf("%s: got %d", want, p.status)
			}
			for _, role := range []string{"nobody", "stranger"} {
				if p := callers[role].get(path); p.status != http.StatusNotFound || strings.Contains(p.text, "inside/gear") {
					t.Errorf("%s as %s: got %d %v, want 404", path, role, p.status, p.header)
				}
			}
		}
		for route, path := range samples {
			switch {
			case strings.HasPrefix(path, "/"+w.path):
				check(path, strings.Replace(path, "/work/inner/tools", "/shop/inside/gear", 1))
			case strings.HasPrefix(path, "/groups/"+w.group):
				check(path, strings.Replace(path, "/groups/work/inner", "/groups/shop/inside", 1))
			case strings.Contains(route, "{project...}"), strings.Contains(route, "{group...}"):
				t.Errorf("%s is not looked at: %s", route, path)
			}
		}
		check("/work/inner/gear/-/issues?state=all&label_name=a%20b", "/shop/inside/gear/-/issues?state=all&label_name=a%20b")
		check("/work", "/shop")
		check("/work/inner", "/shop/inside")
		check("/work/inner/tools.git", "/shop/inside/gear.git")
		check("/work/inner/tools"+file, "/shop/inside/gear"+file)
		if p := callers["owner"].send("POST", "/work/inner/tools/-/merge_requests", nil); p.status == http.StatusMovedPermanently {
			t.Errorf("a form for the old path: got %d", p.status)
		}
		// What is at the old path now counts.
		g := s.do("mona", "POST", "/groups", obj{"name": "Work", "path": "work"})
		if p := callers["owner"].get("/work"); p.status != http.StatusOK || !strings.Contains(p.text, g["name"].(string)) {
			t.Errorf("the new group: got %d %v", p.status, p.header)
		}
	})
}

package app

import (
	"fmt"
	"strings"
	"testing"
)

// Broadcast messages are on the pages that they are for, where looking takes no statement, and after a push.
func TestBroadcast(t *testing.T) {
	t.Parallel()
	s := newServer(t, "")
	s.person("ann", annPassword)
	s.do("ann", "POST", "/projects", obj{"name": "crane", "initialize_with_readme": true, "visibility": "public"})
	visitor, ann := s.browse(t), s.browse(t)
	ann.signIn("ann", annPassword)
	statements := func() uint64 {
		before := s.db.Statements()
		visitor.get("/help/")
		return s.db.Statements() - before
	}
	before := statements()
	s.do("admin", "POST", "/broadcast_messages", obj{"message": "Back at <noon>"})
	s.do("admin", "POST", "/broadcast_messages", obj{"message": "For owners", "target_access_levels": []int{50}, "target_path": "/ann/*", "dismissable": true, "theme": "red"})
	s.do("admin", "POST", "/broadcast_messages", obj{"message": "Quietly", "broadcast_type": "notification", "target_path": "*/crane"})
	for _, tt := range []struct {
		who   string
		by    *browser
		path  string
		shown string
	}{
		{"a visitor", visitor, "/help/", "Back at &lt;noon&gt;"},
		{"a visitor", visitor, "/ann/crane", "Back at &lt;noon&gt;, Quietly"},
		{"ann", ann, "/ann/crane", "Back at &lt;noon&gt;, For owners, Quietly"},
		{"ann", ann, "/explore/projects", "Back at &lt;noon&gt;"},
		{"a visitor", visitor, "/nothing", "Back at &lt;noon&gt;"},
	} {
		page, shown := tt.by.get(tt.path), []string{}
		for _, text := range []string{"Back at &lt;noon&gt;", "For owners", "Quietly"} {
			if strings.Contains(page.text, text) {
				shown = append(shown, text)
			}
		}
		if got := strings.Join(shown, ", "); got != tt.shown {
			t.Errorf("%s as %s: got %q, want %q", tt.path, tt.who, got, tt.shown)
		}
	}
	if n := statements(); n != before {
		t.Errorf("a page with messages took %d statements, without them %d", n, before)
	}
	c := s.workCopy(t)
	c.git("", "clone", "-q", fmt.Sprintf("http://ann:%s@%s/ann/crane.git", s.keys["ann"], c.host), ".")
	c.git("", "commit", "-q", "--allow-empty", "-m", "Lift")
	out := c.git("", "push", "origin", "HEAD")
	if !strings.Contains(out, strings.Repeat("=", 72)) || !strings.Contains(out, "Back at <noon>") || !strings.Contains(out, "For owners") || strings.Contains(out, "Quietly") {
		t.Errorf("push: %s", out)
	}
}

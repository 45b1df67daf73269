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

// Pages show the branch that their path names in full, whatever tags and commits begin so; a
// tag with the name of the default branch does not stand before it.
func TestWeb_refs(t *testing.T) {
	t.Parallel()
	s := newServer(t, "")
	s.do("admin", "POST", "/projects", obj{"name": "app", "visibility": "public"})
	commit := func(branch, start, text string) string {
		in := obj{"branch": branch, "commit_message": text, "actions": []obj{{"action": "create", "file_path": "README.md", "content": text}}}
		if start != "" {
			in["start_branch"] = start
			in["actions"] = []obj{{"action": "update", "file_path": "README.md", "content": text}}
		}
		return s.do("admin", "POST", "/projects/root%2Fapp/repository/commits", in)["id"].(string)
	}
	first := commit("main", "", "of the default branch")
	s.do("admin", "POST", "/projects/root%2Fapp/repository/branches", obj{"branch": "trunk", "ref": "main"})
	deep := strings.Repeat("d/", 10) + "e"
	for _, branch := range []string{"release/1.0", first[:7] + "/x", deep} {
		commit(branch, "main", "of "+branch)
	}
	other := commit("other", "main", "of the tag")
	for _, tag := range []string{"trunk", "release"} {
		s.do("admin", "POST", "/projects/root%2Fapp/repository/tags", obj{"tag_name": tag, "ref": other})
	}
	s.do("admin", "PUT", "/projects/root%2Fapp", obj{"default_branch": "trunk"})
	b := s.browse(t)
	for path, want := range map[string]string{
		"/root/app":                                    "of the default branch",
		"/root/app/-/tree/trunk":                       "of the default branch",
		"/root/app/-/blob/trunk/README.md":             "of the default branch",
		"/root/app/-/commits/trunk":                    "of the default branch",
		"/root/app/-/tree/tags/trunk":                  "of the tag",
		"/root/app/-/tree/release/1.0":                 "of release/1.0",
		"/root/app/-/blob/release/1.0/README.md":       "of release/1.0",
		"/root/app/-/tree/release":                     "of the tag",
		"/root/app/-/tree/" + first[:7] + "/x":         "of " + first[:7] + "/x",
		"/root/app/-/blob/" + first[:7] + "/README.md": "of the default branch",
		"/root/app/-/raw/" + deep + "/README.md":       "of " + deep,
	} {
		p := b.get(path)
		if p.status != http.StatusOK || !strings.Contains(p.text, want) || strings.Contains(p.text, "of the tag") != (want == "of the tag") {
			t.Errorf("%s: got %d %s, want %q", path, p.status, p.text, want)
		}
	}
	if p := b.get("/root/app/-/tags"); !strings.Contains(p.text, `href="/root/app/-/tree/tags/trunk"`) {
		t.Errorf("tags: got %s, want a link that names the tag trunk", p.text)
	}
}

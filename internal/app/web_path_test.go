package app

import (
	"net/http"
	"strings"
	"testing"

	"tenon/internal/base/gitstore"
	"tenon/internal/base/gittest"
	"tenon/internal/core/authz"
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
		"/root/app/-/commit/trunk":                     "of the default branch",
		"/root/app/-/commit/" + other:                  "of the tag",
		"/root/app/-/compare/main..tags/trunk":         "of the tag",
	} {
		p := b.get(path)
		if p.status != http.StatusOK || !strings.Contains(p.text, want) || strings.Contains(p.text, "of the tag") != (want == "of the tag") {
			t.Errorf("%s: got %d %s, want %q", path, p.status, p.text, want)
		}
	}
	// The branch trunk has nothing that main has not, the tag trunk a commit.
	for _, dots := range []string{"..", "..."} {
		if p := b.get("/root/app/-/compare/main" + dots + "trunk"); p.status != http.StatusOK || !strings.Contains(p.text, "There are no commits here.") {
			t.Errorf("main%strunk: got %d %s, want no commits", dots, p.status, p.text)
		}
	}
	for _, path := range []string{"commit/trunk%2FREADME.md", "compare/main...trunk/README.md", "compare/...main", "compare/main..."} {
		if p := b.get("/root/app/-/" + path); p.status != http.StatusNotFound {
			t.Errorf("%s: got %d, want 404", path, p.status)
		}
	}
	if p := b.get("/root/app/-/tags"); !strings.Contains(p.text, `href="/root/app/-/tags/trunk"`) {
		t.Errorf("tags: got %s, want a link that names the tag trunk", p.text)
	}
}

// A page shows the beginning of what is long in a repository, and says that there is more.
func TestWeb_long(t *testing.T) {
	t.Parallel()
	s := newServer(t, "")
	s.do("admin", "POST", "/projects", obj{"name": "app", "visibility": "public"})
	const at = "/projects/root%2Fapp/repository/"
	title, rest := strings.Repeat("\u00e4", 255), "UNSEEN"
	message := title + rest + "\n\n" + strings.Repeat("word ", 14_000) + rest
	change := func(branch, message, name, content string) string {
		return s.do("admin", "POST", at+"commits", obj{"branch": branch, "commit_message": message, "actions": []obj{{"action": "create", "file_path": name, "content": content}}})["id"].(string)
	}
	first := change("main", "First", "long.txt", strings.Repeat("x\n", 20_000)+rest+"\n")
	s.do("admin", "POST", at+"branches", obj{"branch": "side", "ref": "main"})
	change("side", "Oldest", "a.txt", "a\n")
	for i := range 21 { // one more than a page
		change("side", "More", "more"+itoa(int64(i))+".txt", "a\n")
	}
	long := change("side", message, "z.txt", "a\n")
	s.do("admin", "POST", at+"tags", obj{"tag_name": "v1", "ref": first, "message": message[len(title+rest):]})
	as := authz.Actor{UserID: 1, Username: "root", Admin: true}
	p, err := s.core.Projects.Find(t.Context(), as, "root/app")
	if err != nil {
		t.Fatal(err)
	}
	r, err := s.core.Repos.Open(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	var parents []gitstore.ObjectID
	for i := range int64(22) { // two more than are shown
		parents = append(parents, gittest.Commit(t, r, i, nil))
	}
	octopus := gittest.Commit(t, r, 100, nil, parents...).String()
	b := s.browse(t)
	for path, want := range map[string][]string{
		"commit/" + octopus:      {parents[19].Short(), "2 more parents not shown."},
		"blob/main/long.txt":     {`id="L20000"`, "The rest is not shown."},
		"tree/side":              {title + "..."},
		"commits/side":           {">" + title + "...</a>"},
		"branches":               {title + "..."},
		"commit/" + long:         {"<title>" + title + "...", "word", "The rest is not shown."},
		"tags":                   {"word", "The rest is not shown."},
		"compare/main...side":    {title + "...", "3 older commits not shown.", "3 more changed files not shown."},
		"compare/main...main":    {"There are no commits here."},
		"compare/main..." + long: {"3 older commits not shown."},
	} {
		p := b.get("/root/app/-/" + path)
		text := p.text
		if path == "commit/"+long {
			text = strings.Replace(text, rest, "", 1) // the title within the message
		}
		for _, words := range want {
			if p.status != http.StatusOK || !strings.Contains(text, words) {
				t.Errorf("%s: got %d, %d bytes, want %.40q", path, p.status, len(text), words)
			}
		}
		if strings.Contains(text, parents[20].Short()) {
			t.Errorf("%s: got the parent %s, want 20 parents", path, parents[20])
		}
		if strings.Contains(text, rest) || strings.Contains(text, "Oldest") {
			t.Errorf("%s: got %d bytes with what is beyond the bounds", path, len(text))
		}
	}
}

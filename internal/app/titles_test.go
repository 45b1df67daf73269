package app

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
)

// The title of a commit is the first line of its message with text, in REST, in GraphQL and on pages.
func TestTitles_commits(t *testing.T) {
	t.Parallel()
	s := newServer(t, "")
	s.do("admin", "POST", "/projects", obj{"name": "app", "visibility": "public", "initialize_with_readme": true})
	const app, message = "/projects/root%2Fapp", "  \t \n\nThe title\n\nThe body"
	made := s.do("admin", "POST", app+"/repository/commits", obj{"branch": "main", "commit_message": message, "actions": []obj{{"action": "create", "file_path": "a", "content": "a"}}})
	sha := made["id"].(string)
	branch := s.do("admin", "GET", app+"/repository/branches/main", nil)
	for name, c := range map[string]map[string]any{"made": made, "read": s.do("admin", "GET", app+"/repository/commits/"+sha, nil), "of a branch": branch["commit"].(map[string]any)} {
		if c["title"] != "The title" || c["message"] != message {
			t.Errorf("a commit as %s has title %q and message %q", name, c["title"], c["message"])
		}
	}
	a := s.send(t.Context(), request{as: "admin", way: bearer, method: http.MethodPost, path: "/api/graphql", whole: true, body: obj{
		"query": `{ project(fullPath: "root/app") { repository { tree { lastCommit { title description message } } } } }`,
	}})
	if !strings.Contains(a.Body.String(), `"lastCommit":{"title":"The title","description":"The body","message":"`) {
		t.Errorf("GraphQL: got %s", a.Body)
	}
	b := s.browse(t)
	for _, path := range []string{"/root/app", "/root/app/-/commits/main", "/root/app/-/commit/" + sha} {
		if p := b.get(path); p.status != http.StatusOK || !strings.Contains(p.text, "The title") {
			t.Errorf("%s: got %d without the title in %s", path, p.status, p.text)
		}
	}
}

// A hyphen at the beginning of a title of a wiki page stays when the page is saved.
func TestTitles_wiki(t *testing.T) {
	t.Parallel()
	s := newServer(t, "")
	s.do("admin", "POST", "/projects", obj{"name": "app", "initialize_with_readme": true})
	const wikis = "/projects/root%2Fapp/wikis"
	for _, title := range []string{"-leading", "folder/-two words", "--x", "trailing-"} {
		made := s.do("admin", "POST", wikis, obj{"title": title, "content": "one"})
		slug := made["slug"].(string)
		saved := s.do("admin", "PUT", wikis+"/"+url.PathEscape(slug), obj{"title": title, "content": "two"})
		kept := s.do("admin", "PUT", wikis+"/"+url.PathEscape(slug), obj{"content": "three"})
		for name, page := range map[string]map[string]any{"made": made, "saved": saved, "kept": kept, "read": s.do("admin", "GET", wikis+"/"+url.PathEscape(slug), nil)} {
			if want := title[strings.LastIndex(title, "/")+1:]; page["title"] != want || page["slug"] != slug {
				t.Errorf("%q as %s: got title %q and slug %q, want %q", title, name, page["title"], page["slug"], slug)
			}
		}
	}
}

// A range with three dots has the commits that one of two branches has and the other has not, one with two dots those of the second.
func TestCommits_range(t *testing.T) {
	t.Parallel()
	s := newServer(t, "")
	s.do("admin", "POST", "/projects", obj{"name": "app", "initialize_with_readme": true})
	const in = "/projects/root%2Fapp/repository/"
	s.do("admin", "POST", in+"branches", obj{"branch": "topic", "ref": "main"})
	for i, branch := range []string{"main", "topic", "topic"} {
		s.do("admin", "POST", in+"commits", obj{"branch": branch, "commit_message": fmt.Sprint("commit ", i), "actions": []obj{{"action": "create", "file_path": fmt.Sprint(i), "content": "x"}}})
	}
	for name, want := range map[string][]string{
		"main...topic": {"commit 0", "commit 1", "commit 2"}, "topic...main": {"commit 0", "commit 1", "commit 2"}, "main..topic": {"commit 1", "commit 2"},
		"topic..main": {"commit 0"}, "main...main": nil,
	} {
		a := s.send(t.Context(), get("admin", in+"commits?ref_name="+name))
		var list []struct{ Title string }
		if err := json.Unmarshal(a.Body.Bytes(), &list); err != nil || a.Code != http.StatusOK {
			t.Errorf("%s: got %d %s", name, a.Code, a.Body)
		}
		var got []string
		for _, c := range list {
			got = append(got, c.Title)
		}
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
}

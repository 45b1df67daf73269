package app

import (
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"tenon/internal/base/config"
	"tenon/internal/core/authz"
	"tenon/internal/transport/rest/api"
)

// The attack: someone who was a member of a private project reads on in what was left behind: to-do
// items, events, stars, reviews, assignments, comments of their own, searches (CVE-2022-2512,
// CVE-2022-3330, Gitea CVE-2026-20800). All lists of the instance are asked with all filters; the project
// is gone for the former member, and nothing new arrives.
func TestFormerMember(t *testing.T) {
	walker(t)
	eachEngine(t, func(t *testing.T, s *server) {
		w := newWorld(s)
		s.user("leaver", nil)
		leaver := int64(s.ids["leaver"])
		at := "/projects/" + number(w.do("owner", "POST", "/projects", obj{"name": hush, "initialize_with_readme": true}), "id")
		w.do("owner", "POST", at+"/members", obj{"user_id": leaver, "access_level": 30})
		one := w.do("owner", "POST", at+"/issues", obj{"title": hush, "description": hush + " @leaver", "assignee_ids": []any{leaver}, "weight": 5})
		w.do("owner", "POST", at+"/issues", obj{"title": hush, "confidential": true, "assignee_ids": []any{leaver}})
		issue := at + "/issues/" + number(one, "iid")
		w.do("owner", "POST", issue+"/notes", obj{"body": hush + " @leaver", "internal": true})
		w.do("leaver", "POST", at+"/star", nil)
		w.do("leaver", "POST", issue+"/notes", obj{"body": hush})
		w.do("leaver", "POST", issue+"/award_emoji", obj{"name": "tada"})
		w.do("leaver", "POST", issue+"/add_spent_time?duration=1h", nil)
		w.do("leaver", "POST", at+"/issues", obj{"title": hush + " of mine"})
		w.do("leaver", "POST", at+"/repository/files/a", obj{"branch": "topic", "start_branch": "main", "content": hush, "commit_message": hush})
		w.do("leaver", "POST", at+"/merge_requests", obj{"title": hush, "source_branch": "topic", "target_branch": "main", "assignee_id": leaver})
		w.do("owner", "POST", at+"/repository/files/b", obj{"branch": "other", "start_branch": "main", "content": hush, "commit_message": hush})
		w.do("owner", "POST", at+"/merge_requests", obj{"title": hush, "source_branch": "other", "target_branch": "main", "reviewer_ids": []any{leaver}})
		w.do("owner", "POST", at+"/merge_requests/2/notes", obj{"body": hush + " @leaver"})
		w.do("owner", "POST", at+"/snippets", obj{"title": hush, "visibility": "private", "files": []obj{{"file_path": "x", "content": hush}}})

		var paths []string
		values := map[string]string{"search": hush, "my_reaction_emoji": "tada", "author_username": "leaver", "assignee_username": "leaver", "weight": "5", "target_type": "issue"}
		all := samples()
		for _, route := range w.kit().Routes() {
			for _, r := range w.rows(route, all) {
				if !reads(route) || r.place.name != "instance" || r.sample.note != "" {
					continue
				}
				q, _ := r.request()
				for _, query := range r.queries(values) {
					paths = append(paths, wide(withQuery(q.path, query)))
				}
			}
		}
		user := "/users/" + number(obj{"id": float64(leaver)}, "id")
		for _, path := range []string{"/projects", "/starred_projects", "/events", "/contributed_projects"} {
			paths = append(paths, user+path)
		}
		told := func() (out []string) {
			for _, path := range paths {
				if a := w.send(t.Context(), get("leaver", path)); strings.Contains(a.Body.String(), hush) {
					out = append(out, path)
				}
			}
			return out
		}
		before := told()
		for _, path := range []string{"/todos", "/issues", "/merge_requests", "/events", "/projects", user + "/starred_projects"} {
			if !slices.ContainsFunc(before, func(p string) bool { return strings.HasPrefix(p, path) }) {
				t.Errorf("a member finds nothing by %s, so nothing is shown", path)
			}
		}
		w.do("owner", "DELETE", at+"/members/"+number(obj{"id": float64(leaver)}, "id"), nil)
		w.do("owner", "POST", issue+"/notes", obj{"body": hush + " @leaver"})
		w.do("owner", "PUT", at+"/merge_requests/2", obj{"title": hush + " @leaver"})
		for _, path := range told() {
			t.Errorf("a former member reads of the project by %s: %.500s", path, w.send(t.Context(), get("leaver", path)).Body)
		}
		for _, path := range []string{at, issue, issue + "/notes", at + "/merge_requests/2", at + "/snippets", at + "/events", at + "/repository/tree", at + "/members"} {
			got, want := w.send(t.Context(), get("leaver", path)), w.send(t.Context(), get("stranger", path))
			if got.Code != http.StatusNotFound || got.Body.String() != want.Body.String() {
				t.Errorf("GET %s: got %d %s, a stranger %s", path, got.Code, got.Body, want.Body)
			}
		}
	})
}

// The attack: a client stays below every limit of requests and has each of them cost as much as it may
// (CVE-2025-12664). What documents cost is counted over a minute, for each user and for each network.
func TestGraphQL_budget(t *testing.T) {
	t.Parallel()
	s := newServer(t, "", func(c *config.Config) { c.RateLimits = true })
	s.user("ann", nil)
	s.user("ben", nil)
	ask := func(as, address string) string {
		r := httptest.NewRequestWithContext(t.Context(), "POST", "/api/graphql", strings.NewReader(`{"query":"{ a: currentUser { username } b: currentUser { username } }"}`))
		r.Header.Set("Content-Type", "application/json")
		r.RemoteAddr = address
		if as != "" {
			r.Header.Set("Private-Token", s.keys[as])
		}
		w := httptest.NewRecorder()
		s.http.Handler.ServeHTTP(w, r)
		return w.Body.String()
	}
	const cost, refused = 4, `{"errors":[{"message":"This endpoint has been requested too many times. Try again later."}]`
	for as, most := range map[string]int{"ann": 1_000_000, "": 200_000} {
		spender := authz.Actor{UserID: s.ids[as]}
		if as == "" {
			spender.Address = "192.0.2.7"
		}
		minute := func() int64 { return time.Now().Unix() / 60 }
		for began := int64(0); began != minute(); { // again where a new minute begins in between
			began = minute()
			if !s.core.Limits.Spend(spender, most-2*cost) {
				t.Fatalf("%q: the budget is less than %d", as, most)
			}
			var refusals []bool
			for range 3 {
				refusals = append(refusals, strings.HasPrefix(ask(as, "192.0.2.7:1234"), refused))
			}
			if began == minute() && !slices.Equal(refusals, []bool{false, false, true}) {
				t.Errorf("%q: refused are %v, want the third request alone", as, refusals)
			}
		}
	}
	for _, other := range [][2]string{{"ben", "192.0.2.7:1234"}, {"", "198.51.100.9:1234"}} {
		if got := ask(other[0], other[1]); !strings.HasPrefix(got, `{"data":`) {
			t.Errorf("%q from %s pays for others: got %s", other[0], other[1], got)
		}
	}
}

// The attack: a push puts symbolic links into the repository of a wiki or a snippet, and an interface
// that works on files reads or writes through them (CVE-2024-55947, CVE-2025-8110). No path leads through
// a link, and what a link leads to is not read.
func TestLinks_pushed(t *testing.T) {
	t.Parallel()
	s := newServer(t, "")
	s.user("mona", nil)
	web := httptest.NewServer(s.http.Handler)
	t.Cleanup(web.Close)
	at := "/projects/" + number(s.do("mona", "POST", "/projects", obj{"name": "Tools"}), "id")
	s.do("mona", "POST", at+"/wikis", obj{"title": "home", "content": "at home"})
	snippet := "/snippets/" + number(s.do("mona", "POST", "/snippets", obj{"title": "x", "visibility": "private", "files": []obj{{"file_path": "a.txt", "content": "a"}}}), "id")
	outside := t.TempDir()
	const planted = "planted-outside"
	if err := os.WriteFile(filepath.Join(outside, "secret.md"), []byte(planted), 0o600); err != nil {
		t.Fatal(err)
	}
	push := func(repository string) {
		t.Helper()
		folder := t.TempDir()
		git := func(args ...string) {
			t.Helper()
			c := exec.CommandContext(t.Context(), "git", append([]string{"-c", "user.name=m", "-c", "user.email=m@example.com", "-C", folder}, args...)...)
			c.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null", "GIT_TERMINAL_PROMPT=0")
			if out, err := c.CombinedOutput(); err != nil {
				t.Fatalf("git %v: %v\n%s", args, err, out)
			}
		}
		git("clone", "-q", strings.Replace(web.URL, "http://", "http://mona:"+s.keys["mona"]+"@", 1)+repository, ".")
		for name, to := range map[string]string{"page.md": filepath.Join(outside, "secret.md"), "folder": outside, "uploads": outside} {
			if err := os.Symlink(to, filepath.Join(folder, name)); err != nil {
				t.Fatal(err)
			}
		}
		git("add", ".")
		git("commit", "-q", "-m", "links")
		git("push", "-q", "origin", "HEAD")
	}
	push("/mona/tools.wiki.git")
	push(snippet + ".git")
	refused := func(method, path string, body obj) {
		t.Helper()
		if a := s.send(t.Context(), request{as: "mona", method: method, path: path, body: body}); a.Code < 400 || a.Code >= 500 || strings.Contains(a.Body.String(), planted) {
			t.Errorf("%s %s: got %d %s, want it refused", method, path, a.Code, a.Body)
		}
	}
	wikis := at + "/wikis"
	refused("GET", wikis+"/page", nil)
	refused("GET", wikis+"/folder%2Fsecret", nil)
	refused("PUT", wikis+"/page", obj{"content": "evil"})
	refused("DELETE", wikis+"/page", nil)
	refused("POST", wikis, obj{"title": "folder/evil", "content": "evil"})
	refused("PUT", wikis+"/home", obj{"title": "folder/home", "content": "evil"})
	refused("POST", wikis+"/attachments", obj{"file": attached{"evil.txt", "evil"}})
	refused("GET", snippet+"/files/main/folder%2Fsecret.md/raw", nil)
	for _, action := range []obj{
		{"action": "create", "file_path": "folder/evil", "content": "evil"},
		{"action": "move", "previous_path": "a.txt", "file_path": "folder/a.txt"},
		{"action": "update", "file_path": "folder/secret.md", "content": "evil"},
	} {
		refused("PUT", snippet, obj{"files": []obj{action}})
	}
	for _, path := range []string{wikis + "?with_content=1", snippet, snippet + "/files/main/page.md/raw", snippet + "/files/main/folder/raw"} {
		r := httptest.NewRequestWithContext(t.Context(), "GET", api.Prefix+path, http.NoBody)
		r.Header.Set("Private-Token", s.keys["mona"])
		w := httptest.NewRecorder()
		s.http.Handler.ServeHTTP(w, r)
		if w.Code >= 500 || strings.Contains(w.Body.String(), planted) {
			t.Errorf("GET %s: got %d %s", path, w.Code, w.Body)
		}
	}
	if left, err := os.ReadDir(outside); err != nil || len(left) != 1 {
		t.Errorf("outside there are %v, %v", left, err)
	}
	if text, err := os.ReadFile(filepath.Join(outside, "secret.md")); err != nil || string(text) != planted {
		t.Errorf("the file outside holds %q, %v", text, err)
	}
}

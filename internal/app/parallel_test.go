package app

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
)

// pairs is how often two updates of one subject run side by side. A way of storing that
// loses one of them does so in a fifth of the pairs at least.
const pairs = 8

// twice is a subject with two changes that touch different fields.
type twice struct {
	name string
	path string // of its PUT
	read string // of its GET, where that is another
	verb string // where it is not PUT
	a, b func(i int) map[string]any
	more map[string]any // what the PUT needs besides
	at   string         // where the answer has a field, with % in place of its name; "" at its top
}

// text returns a change of one field to texts that differ each time.
func text(field, pattern string) func(i int) map[string]any {
	return func(i int) map[string]any { return map[string]any{field: fmt.Sprintf(pattern, i)} }
}

// toggle returns a change of one field to and fro.
func toggle(field string) func(i int) map[string]any {
	return func(i int) map[string]any { return map[string]any{field: i%2 == 0} }
}

// word returns a change of one field to the words in turn.
func word(field string, words ...any) func(i int) map[string]any {
	return func(i int) map[string]any { return map[string]any{field: words[i%len(words)]} }
}

// field follows a path with dots into an answer.
func field(answer map[string]any, path string) any {
	var v any = answer
	for key := range strings.SplitSeq(path, ".") {
		m, ok := v.(map[string]any)
		if !ok {
			return nil
		}
		v = m[key]
	}
	return v
}

// TestUpdate_pairs updates two different fields of every subject that can be updated at
// once, again and again: both changes are there afterwards.
func TestUpdate_pairs(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, s *server) {
		for _, tt := range s.subjects() {
			t.Run(tt.name, func(t *testing.T) {
				for i := range pairs {
					s.both(t, tt, i)
				}
			})
		}
	})
}

// both sends two changes at once and looks for them.
func (s *server) both(t *testing.T, tt twice, i int) {
	t.Helper()
	want := map[string]any{}
	verb := http.MethodPut
	if tt.verb != "" {
		verb = tt.verb
	}
	var wg sync.WaitGroup
	for _, body := range []map[string]any{tt.a(i), tt.b(i)} {
		for key, value := range body {
			want[key] = value
		}
		for key, value := range tt.more {
			body[key] = value
		}
		wg.Go(func() {
			if w := s.send(t.Context(), request{as: "admin", method: verb, path: tt.path, body: body}); w.Code != http.StatusOK {
				t.Errorf("%s %s %v: got %d %s", verb, tt.path, body, w.Code, w.Body)
			}
		})
	}
	wg.Wait()
	read := tt.read
	if read == "" {
		read = tt.path
	}
	answer := s.alone(t, read)
	for key, value := range want {
		at := key
		if tt.at != "" {
			at = strings.ReplaceAll(tt.at, "%", key)
		}
		if got := field(answer, at); fmt.Sprint(got) != fmt.Sprint(value) {
			t.Errorf("round %d of %s: %s is %v, want %v", i, tt.name, key, got, value)
		}
	}
}

// alone reads a thing, or the only one of a list.
func (s *server) alone(t *testing.T, path string) map[string]any {
	t.Helper()
	w := s.send(t.Context(), request{as: "admin", method: http.MethodGet, path: path})
	var list []map[string]any
	if err := json.Unmarshal(w.Body.Bytes(), &list); err == nil && len(list) == 1 {
		return list[0]
	}
	var one map[string]any
	if err := json.Unmarshal(w.Body.Bytes(), &one); err != nil || w.Code != http.StatusOK {
		t.Fatalf("GET %s: got %d %s, %v", path, w.Code, w.Body, err)
	}
	return one
}

// subjects makes one of everything that can be updated.
func (s *server) subjects() []twice {
	user := fmt.Sprintf("/users/%d", s.user("subject", nil))
	group := "/groups/" + number(s.do("admin", "POST", "/groups", map[string]any{"name": "group", "path": "group"}), "id")
	project := "/projects/" + number(s.do("admin", "POST", "/projects", map[string]any{"name": "p", "initialize_with_readme": true}), "id")
	s.do("admin", "POST", project+"/repository/branches", map[string]any{"branch": "topic", "ref": "main"})
	badge := map[string]any{"link_url": "https://example.com/l", "image_url": "https://example.com/i"}
	label := project + "/labels/" + number(s.do("admin", "POST", project+"/labels", map[string]any{"name": "bug", "color": "#112233"}), "id")
	topic := "/topics/" + number(s.do("admin", "POST", "/topics", map[string]any{"name": "shop", "title": "Shop"}), "id")
	issue := project + "/issues/" + number(s.do("admin", "POST", project+"/issues", map[string]any{"title": "one"}), "iid")
	mr := project + "/merge_requests/" + number(s.do("admin", "POST", project+"/merge_requests", map[string]any{
		"title": "one", "source_branch": "topic", "target_branch": "main",
	}), "iid")
	key := project + "/deploy_keys/" + number(s.do("admin", "POST", project+"/deploy_keys", map[string]any{"title": "ci", "key": deployKey()}), "id")
	s.do("admin", "POST", project+"/push_rule", map[string]any{})
	s.do("admin", "POST", group+"/push_rule", map[string]any{})
	return append(s.plans(project, group, mr), []twice{
		{name: "label", path: label, a: text("description", "words %d"), b: word("color", "#111111", "#222222")},
		{name: "label's name", path: project + "/labels", read: label, a: text("description", "text %d"), b: word("priority", 1, 2), more: map[string]any{"name": "bug"}},
		{name: "topic", path: topic, a: text("title", "Title %d"), b: text("description", "words %d")},
		{
			name: "badge of a project", path: project + "/badges/" + number(s.do("admin", "POST", project+"/badges", badge), "id"),
			a: text("link_url", "https://example.com/l%d"), b: text("image_url", "https://example.com/i%d"),
		},
		{
			name: "badge of a group", path: group + "/badges/" + number(s.do("admin", "POST", group+"/badges", badge), "id"),
			a: text("link_url", "https://example.com/l%d"), b: text("image_url", "https://example.com/i%d"),
		},
		{name: "deploy key", path: key, a: text("title", "ci %d"), b: toggle("can_push")},
		{name: "push rule of a project", path: project + "/push_rule", a: text("author_email_regex", "@e%d"), b: toggle("deny_delete_tag")},
		{name: "push rule of a group", path: group + "/push_rule", a: text("file_name_regex", "f%d"), b: toggle("prevent_secrets")},
		{
			name: "protection of a branch", path: project + "/repository/branches/main/protect", read: project + "/repository/branches/main",
			a: toggle("developers_can_push"), b: toggle("developers_can_merge"),
		},

		{name: "project", path: project, a: text("description", "words %d"), b: word("issues_access_level", "private", "enabled")},
		{name: "name of a project", path: project, a: text("name", "Name %d"), b: toggle("request_access_enabled")},
		{name: "visibility of a project", path: project, a: word("visibility", "public", "private"), b: toggle("lfs_enabled")},
		{name: "settings of a project", path: project, a: word("build_timeout", 3600, 7200), b: word("ci_default_git_depth", 10, 30)},
		{name: "features of a project", path: project, a: word("pages_access_level", "private", "enabled"), b: word("releases_access_level", "private", "enabled")},
		{name: "group", path: group, a: text("description", "words %d"), b: toggle("request_access_enabled")},
		{name: "name of a group", path: group, a: text("name", "Name %d"), b: toggle("share_with_group_lock")},
		{name: "settings of a group", path: group, a: toggle("membership_lock"), b: toggle("prevent_sharing_groups_outside_hierarchy")},
		{name: "issue", path: issue, a: text("title", "title %d"), b: text("description", "words %d")},
		{name: "state of an issue", path: issue, a: text("title", "name %d"), b: func(i int) map[string]any { return map[string]any{"weight": i + 1} }},
		{name: "merge request", path: mr, a: text("title", "title %d"), b: text("description", "words %d")},
		{name: "lock of a merge request", path: mr, a: toggle("discussion_locked"), b: toggle("squash")},
		{name: "user", path: user, a: text("bio", "bio %d"), b: text("location", "place %d")},
		{name: "name of a user", path: user, a: text("name", "Name %d"), b: toggle("external")},
		{name: "preferences", path: "/user/preferences", a: toggle("view_diffs_file_by_file"), b: toggle("show_whitespace_in_diffs")},
		{name: "status", path: "/user/status", verb: http.MethodPatch, a: text("message", "words %d"), b: word("emoji", "tea", "coffee")},
		{name: "settings", path: "/application/settings", a: text("default_branch_name", "branch%d"), b: word("default_projects_limit", 100, 200)},
	}...)
}

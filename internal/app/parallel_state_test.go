package app

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
)

// races is how often an update races a change of state, each time of something new.
const races = 4

// race is an update of something beside a change of its state.
type race struct {
	name   string
	thing  func(i int) string // makes it and returns its path
	update map[string]any
	times  int // how often the update is sent; zero is once
	state  func(path string) request
	want   map[string]any // fields that say what state it is in; nil where it is gone
	late   bool           // an update that comes afterwards is refused
}

// TestUpdate_races updates things while their state changes: the state is what was asked
// for, and so are the fields of an update that was answered with 200.
func TestUpdate_races(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, s *server) {
		for _, tt := range s.stateRaces() {
			t.Run(tt.name, func(t *testing.T) {
				for i := range races {
					s.race(t, tt, i)
				}
			})
		}
	})
}

func (s *server) race(t *testing.T, tt race, i int) {
	t.Helper()
	path := tt.thing(i)
	updates := make([]*httptest.ResponseRecorder, max(tt.times, 1))
	var state *httptest.ResponseRecorder
	var wg sync.WaitGroup
	wg.Go(func() {
		for n := range updates {
			updates[n] = s.send(t.Context(), request{as: "admin", method: http.MethodPut, path: path, body: tt.update})
		}
	})
	wg.Go(func() { state = s.send(t.Context(), tt.state(path)) })
	wg.Wait()
	if state.Code >= 300 {
		t.Errorf("round %d of %s: the change of state got %d %s", i, tt.name, state.Code, state.Body)
		return
	}
	done := false
	for _, w := range updates {
		done = done || w.Code == http.StatusOK
		refused := slices.Contains([]int{http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound}, w.Code)
		if w.Code != http.StatusOK && !(tt.late && refused) {
			t.Errorf("round %d of %s: the update got %d %s", i, tt.name, w.Code, w.Body)
		}
	}
	if tt.want == nil {
		w := s.send(t.Context(), request{as: "admin", method: http.MethodGet, path: path})
		if gone := w.Code == http.StatusNotFound || w.Body.String() == "null"; !gone {
			t.Errorf("round %d of %s: got %d %s, want that it is gone", i, tt.name, w.Code, w.Body)
		}
		return
	}
	answer := s.do("admin", "GET", path, nil)
	for key, value := range tt.want {
		got := field(answer, key)
		if value == something && got != nil {
			continue
		}
		if fmt.Sprint(got) != fmt.Sprint(value) {
			t.Errorf("round %d of %s: %s is %v, want %v", i, tt.name, key, got, value)
		}
	}
	for key, value := range tt.update {
		if got := field(answer, key); done && fmt.Sprint(got) != fmt.Sprint(value) {
			t.Errorf("round %d of %s: %s is %v, want %v", i, tt.name, key, got, value)
		}
	}
}

// something is any value but null.
const something = "something"

// by asks for a change of state at a path below that of the thing.
func by(method, below string, body map[string]any) func(path string) request {
	return func(path string) request {
		return request{as: "admin", method: method, path: path + below, body: body}
	}
}

func (s *server) stateRaces() []race {
	s.do("admin", "PUT", "/application/settings", map[string]any{
		"deletion_adjourned_period": 7, "delayed_project_deletion": true, "delayed_group_deletion": true,
	})
	n := 0
	name := func() string { n++; return fmt.Sprintf("thing%d", n) }
	fresh := func(path, key string, body func() map[string]any) func(int) string {
		return func(int) string { return path + "/" + number(s.do("admin", "POST", path, body()), key) }
	}
	named := func() map[string]any { return map[string]any{"name": name()} }
	group := func() map[string]any { path := name(); return map[string]any{"name": path, "path": path} }
	project := fresh("/projects", "id", named)
	place := number(s.do("admin", "POST", "/groups", map[string]any{"name": "place", "path": "place"}), "id")
	home := "/projects/" + number(s.do("admin", "POST", "/projects", map[string]any{"name": "home", "initialize_with_readme": true}), "id")
	words := map[string]any{"description": "words"}
	issue := fresh(home+"/issues", "iid", func() map[string]any { return map[string]any{"title": "one"} })
	label := fresh(home+"/labels", "id", func() map[string]any { return map[string]any{"name": name(), "color": "#112233"} })
	mr := func(int) string {
		branch := name()
		s.do("admin", "POST", home+"/repository/commits", map[string]any{
			"branch": branch, "start_branch": "main", "commit_message": "m", "actions": []map[string]any{{"action": "create", "file_path": branch, "content": "x"}},
		})
		path := home + "/merge_requests"
		return path + "/" + number(s.do("admin", "POST", path, map[string]any{"title": "one", "source_branch": branch, "target_branch": "main"}), "iid")
	}
	user := func(int) string { return fmt.Sprintf("/users/%d", s.user(name(), nil)) }
	return []race{
		{name: "archive of a project", thing: project, update: words, state: by("POST", "/archive", nil), want: map[string]any{"archived": true}},
		{name: "deletion of a project", thing: project, update: words, state: by("DELETE", "", nil), want: map[string]any{"marked_for_deletion_on": something}, late: true},
		{name: "new name of a project that is deleted", thing: project, update: map[string]any{"request_access_enabled": false}, state: by("DELETE", "", nil), want: map[string]any{"marked_for_deletion_on": something, "archived": true}, late: true},
		{name: "transfer of a project", thing: project, update: words, state: by("PUT", "/transfer", map[string]any{"namespace": place}), want: map[string]any{"namespace.id": place}},
		{name: "first commit", thing: project, update: words, times: 4, state: by("POST", "/repository/commits", map[string]any{
			"branch": "trunk", "commit_message": "m", "actions": []map[string]any{{"action": "create", "file_path": "f", "content": "x"}},
		}), want: map[string]any{"default_branch": "trunk", "empty_repo": false}},
		{name: "star of a project", thing: project, update: words, state: by("POST", "/star", nil), want: map[string]any{"star_count": 1}},
		{name: "new issue of a project", thing: project, update: words, state: by("POST", "/issues", map[string]any{"title": "one"}), want: map[string]any{"open_issues_count": 1}},
		{name: "archive of a group", thing: fresh("/groups", "id", group), update: words, state: by("POST", "/archive", nil), want: map[string]any{"archived": true}, late: true},
		{name: "deletion of a group", thing: fresh("/groups", "id", group), update: words, state: by("DELETE", "", nil), want: map[string]any{"marked_for_deletion_on": something}, late: true},
		{name: "transfer of a group", thing: fresh("/groups", "id", group), update: words, state: by("POST", "/transfer", map[string]any{"group_id": place}), want: map[string]any{"parent_id": place}},
		{name: "close of an issue", thing: issue, update: map[string]any{"title": "two"}, state: by("PUT", "", map[string]any{"state_event": "close"}), want: map[string]any{"state": "closed", "closed_at": something}},
		{name: "note on an issue", thing: issue, update: map[string]any{"title": "two"}, state: by("POST", "/notes", map[string]any{"body": "word"}), want: map[string]any{"user_notes_count": 1}},
		{name: "deletion of an issue", thing: issue, update: map[string]any{"title": "two"}, state: by("DELETE", "", nil), late: true},
		{name: "close of a merge request", thing: mr, update: map[string]any{"title": "two"}, state: by("PUT", "", map[string]any{"state_event": "close"}), want: map[string]any{"state": "closed"}},
		{name: "merge", thing: mr, update: words, state: by("PUT", "/merge", nil), want: map[string]any{"state": "merged", "merged_at": something}},
		{name: "deletion of a merge request", thing: mr, update: words, state: by("DELETE", "", nil), late: true},
		{name: "block of a user", thing: user, update: map[string]any{"bio": "words"}, state: by("POST", "/block", nil), want: map[string]any{"state": "blocked"}},
		{name: "deletion of a label", thing: label, update: words, state: by("DELETE", "", nil), late: true},
		{
			name: "deletion of a topic", thing: fresh("/topics", "id", func() map[string]any { return map[string]any{"name": name(), "title": "Title"} }),
			update: words, state: by("DELETE", "", nil), late: true,
		},
		{name: "deletion of a badge", thing: fresh(home+"/badges", "id", func() map[string]any {
			return map[string]any{"link_url": "https://example.com/l", "image_url": "https://example.com/i"}
		}), update: map[string]any{"name": "two"}, state: by("DELETE", "", nil), late: true},
		{
			name: "deletion of a deploy key", thing: fresh(home+"/deploy_keys", "id", func() map[string]any { return map[string]any{"title": "ci", "key": deployKey()} }),
			update: map[string]any{"title": "two"}, state: by("DELETE", "", nil), late: true,
		},
		{name: "deletion of a push rule", thing: func(int) string {
			s.do("admin", "POST", home+"/push_rule", map[string]any{})
			return home + "/push_rule"
		}, update: map[string]any{"branch_name_regex": "x"}, state: by("DELETE", "", nil), late: true},
	}
}

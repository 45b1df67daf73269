package app

import (
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"tenon/internal/base/db"
	"tenon/internal/core/account"
	"tenon/internal/core/authz"
)

// many is how long the lists are in the end.
const many = 100

// TestStatements counts the SQL statements of every list when its page has one row and
// when it has a hundred: there must be as many. The budgets are those of the slice.
func TestStatements(t *testing.T) {
	walker(t)
	w := newWorld(newServer(t, ""))
	path := "/projects/" + w.projects[0].values["projects/:id"]
	w.decorate(path, 1)
	w.plan(path)
	lists := w.lists()
	few := w.count(t, lists, 1) // a full page, which has to be counted as well
	w.fill(path, "many", many)
	w.exec("UPDATE issues SET iteration_id = (SELECT MAX(id) FROM iterations)")
	full := w.count(t, lists, many)
	for _, title := range sorted(full) {
		before, after := few[title], full[title]
		if before.rows == 0 {
			before.statements++ // a page that is not full needs no count
		}
		for range 5 { // on a slow machine what is cached for seconds may have lapsed each time
			if after.statements > before.statements {
				after = w.count(t, only(lists, title), many)[title]
			}
		}
		t.Logf("%-60s %3d rows %2d statements", title, after.rows, after.statements)
		// One row is of one kind: it needs less than rows of all kinds, as lists of boards do; notes on diffs have suggestions.
		mixed := title == "GET /todos" || strings.HasSuffix(title, "/events") || strings.HasSuffix(title, "/discussions")
		if after.statements > before.statements && !mixed && !strings.HasSuffix(title, "/lists") {
			t.Errorf("%s: %d statements for %d rows, %d for %d", title, before.statements, before.rows, after.statements, after.rows)
		}
		budget := 12
		switch {
		case strings.HasSuffix(title, "/issues"), strings.HasSuffix(title, "/notes"), strings.HasSuffix(title, "/search"),
			strings.HasSuffix(title, "/events"), strings.HasSuffix(title, "/related_issues"):
			budget = 8
		case title == "GET /todos":
			budget = 10 // issues with iterations and merge requests with approvals on one page
		case strings.HasSuffix(title, "/merge_requests"):
			budget = 10
		case strings.HasSuffix(title, "/packages"), strings.Contains(title, "/packages/:package_id/"):
			budget = 10
		}
		if after.statements > budget {
			t.Errorf("%s: %d statements, want %d at most", title, after.statements, budget)
		}
	}
	for _, name := range []string{
		"GET /projects/:id/issues", "GET /issues", "GET /groups/:id/issues", "GET /projects/:id/issues/:noteable_id/notes",
		"GET /projects/:id/merge_requests/:noteable_id/notes", "GET /projects/:id/snippets/:noteable_id/notes", "GET /projects/:id/merge_requests", "GET /merge_requests",
		"GET /groups/:id/merge_requests", "GET /projects/:id/labels", "GET /users",
		"GET /projects/:id/milestones", "GET /groups/:id/milestones", "GET /projects/:id/milestones/:milestone_id/issues",
		"GET /projects/:id/milestones/:milestone_id/merge_requests",
		"GET /projects", "GET /groups",
		"GET /groups/:id/projects", "GET /groups/:id/subgroups", "GET /projects/:id/members/all", "GET /groups/:id/members",
		"GET /projects/:id/repository/branches", "GET /projects/:id/repository/tags", "GET /projects/:id/repository/tree",
		"GET /personal_access_tokens", "GET /projects/:id/deploy_keys", "GET /deploy_keys", "GET /projects/:id/deploy_tokens", "GET /deploy_tokens",
	} {
		if got := full[name]; got.rows < many {
			t.Errorf("%s has %d rows only: what was to be counted?", name, got.rows)
		}
	}
}

type cost struct{ rows, statements int }

func sorted(m map[string]cost) []string {
	out := make([]string, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}

// lists returns the rows of all routes that answer with a list, in the private place.
func (w *world) lists() []row {
	all := samples()
	var out []row
	for _, route := range w.kit().Routes() {
		if route.Method != http.MethodGet || !strings.HasPrefix(route.Result.Name(), "List[") {
			continue
		}
		for _, r := range w.rows(route, all) {
			if r.sample.note == "" && slices.Contains([]string{"private", "instance"}, r.place.name) {
				out = append(out, r)
			}
		}
	}
	return out
}

// wide asks the lists that begin with the caller's own rows for all of them.
func wide(path string) string {
	bare, _, _ := strings.Cut(path, "?")
	for _, list := range []string{"/issues", "/merge_requests", "/issues_statistics"} {
		if strings.HasSuffix(bare, list) && !strings.Contains(path, "scope=") {
			return withQuery(path, "scope=all")
		}
	}
	return path
}

// only picks the rows of one title.
func only(lists []row, title string) []row {
	return slices.DeleteFunc(slices.Clone(lists), func(r row) bool { return r.title() != title })
}

func (w *world) count(t *testing.T, lists []row, perPage int) map[string]cost {
	t.Helper()
	out := map[string]cost{}
	for _, r := range lists {
		q, missing := r.request()
		if missing != "" {
			t.Fatalf("%s: no value for :%s", r.title(), missing)
		}
		most := perPage
		if strings.HasSuffix(r.title(), "/hooks/:hook_id/events") {
			most = min(most, 20) // more is refused
		}
		q.path = withQuery(wide(q.path), fmt.Sprintf("per_page=%d", most))
		q.as = "owner"
		if code := w.send(t.Context(), q).Code; code == http.StatusForbidden || code == http.StatusNotFound { // this fills caches, too
			q.as = "admin"
			w.send(t.Context(), q)
		}
		var a *httptest.ResponseRecorder
		statements := math.MaxInt
		for range 3 { // what is cached for seconds only may lapse in between
			before := w.db.Statements()
			a = w.send(t.Context(), q)
			statements = min(statements, int(w.db.Statements()-before))
		}
		var list []json.RawMessage
		if err := json.Unmarshal(a.Body.Bytes(), &list); err != nil || a.Code != http.StatusOK {
			t.Errorf("%s: got %d %.200s", r.title(), a.Code, a.Body)
			continue
		}
		out[r.title()] = cost{len(list), statements}
	}
	return out
}

// decorate makes n issues and merge requests with people and labels, so that a row
// brings everything it can bring.
func (w *world) decorate(path string, n int) {
	people := []string{"guest", "planner", "reporter", "developer", "maintainer", "owner"}
	for i := range n {
		who, other := people[i%len(people)], people[(i+1)%len(people)]
		label := fmt.Sprintf("label %s %d", who, i)
		w.do("owner", "POST", path+"/issues", obj{
			"title": "Issue", "labels": label, "assignee_ids": []authz.UserID{w.ids[other]}, "description": "Text",
			"milestone_id": w.projects[0].values[":milestone_id"],
		})
		branch := fmt.Sprintf("branch-%d-%d", n, i)
		w.do("owner", "POST", path+"/repository/branches", obj{"branch": branch, "ref": "feature"})
		w.do("developer", "POST", path+"/merge_requests", obj{
			"title": "Request", "source_branch": branch, "target_branch": "main", "labels": label,
			"assignee_ids": []authz.UserID{w.ids[other]}, "reviewer_ids": []authz.UserID{w.ids[who]},
			"milestone_id": w.projects[0].values[":milestone_id"],
		})
	}
}

// plan makes an iteration of the group, in which all issues are, and returns the board of the
// project lists of all kinds.
func (w *world) plan(path string) {
	p := w.projects[0].values
	w.exec(`INSERT INTO iteration_cadences (namespace_id, title, title_fold, active, automatic, duration_in_weeks, upcoming, created_at, updated_at)
		SELECT id, 'Sprints', 'sprints', true, false, 0, 0, created_at, updated_at FROM namespaces WHERE id = ?`, p["groups/:id"])
	w.exec(`INSERT INTO iterations (iid, cadence_id, namespace_id, sequence, title_fold, start_date, due_date, created_at, updated_at)
		SELECT 1, id, namespace_id, 1, '', '2023-05-01', '2023-05-07', created_at, updated_at FROM iteration_cadences`)
	w.exec("UPDATE issues SET iteration_id = (SELECT MAX(id) FROM iterations)")
	iteration, err := db.Get[int64](w.tb.Context(), w.db, "SELECT MAX(id) FROM iterations")
	if err != nil {
		w.tb.Fatal(err)
	}
	for key, id := range map[string]any{"milestone_id": p[":milestone_id"], "assignee_id": w.ids["guest"], "iteration_id": iteration} {
		w.do("owner", "POST", path+"/boards/"+p[":board_id"]+"/lists", obj{key: id})
	}
}

// fill makes n rows of everything that is listed, named with a prefix.
func (w *world) fill(path, prefix string, n int) {
	w.decorate(path, n)
	p := w.projects[0].values
	group := "/groups/" + p["groups/:id"]
	var actions []obj
	for i := range n {
		name := fmt.Sprintf("%s-%d", prefix, i)
		id := w.user(name, func(in *account.Input) { in.ProjectsLimit = nil })
		w.do("admin", "POST", path+"/members", obj{"user_id": id, "access_level": authz.Reporter})
		w.do("admin", "POST", group+"/members", obj{"user_id": id, "access_level": authz.Guest})
		w.do("owner", "POST", group+"/labels", obj{"name": name, "color": "#00ff00"})
		w.do("owner", "POST", group+"/milestones", obj{"title": name})
		w.do("owner", "POST", group+"/boards", obj{"name": name})
		w.do("owner", "POST", path+"/boards", obj{"name": name})
		w.do("owner", "POST", path+"/milestones", obj{"title": name + " of project"})
		w.do("owner", "POST", "/groups", obj{"name": name, "path": name, "parent_id": p["groups/:id"]})
		w.do("owner", "POST", "/projects", obj{"name": "p-" + name, "namespace_id": p["groups/:id"]})
		w.do("owner", "POST", path+"/repository/tags", obj{"tag_name": name, "ref": "main"})
		for _, kind := range []string{"/issues/" + p["issues/:noteable_id"], "/merge_requests/" + p["merge_requests/:noteable_id"], "/snippets/" + p["snippets/:noteable_id"]} {
			w.do([]string{"reporter", "developer", "owner"}[i%3], "POST", path+kind+"/notes", obj{"body": "Word"})
		}
		w.do("owner", "POST", path+"/deploy_keys", obj{"title": name, "key": deployKey()})
		w.do("owner", "POST", path+"/deploy_tokens", obj{"name": name, "scopes": []string{"read_repository"}})
		w.token("owner's "+name, "owner", authz.ScopeAPI)
		actions = append(actions, obj{"action": "create", "file_path": name + ".md", "content": name})
	}
	w.do("owner", "POST", path+"/repository/commits", obj{"branch": "main", "commit_message": "Many", "actions": actions})
}

// TestProcesses reads the same things of a repository again and again: no git process
// is started once it is warm.
func TestProcesses(t *testing.T) {
	walker(t)
	w := newWorld(newServer(t, ""))
	all := samples()
	warm := map[string]bool{}
	for _, name := range []string{
		"/tree", "/branches", "/branches/:branch", "/tags", "/tags/:tag_name", "/commits/:sha", "/commits/:sha/diff", "/files/:file_path",
		"/files/:file_path/raw", "/blobs/:sha", "/blobs/:sha/raw", "/compare",
	} {
		warm["GET /projects/:id/repository"+name] = true
	}
	for _, route := range w.kit().Routes() {
		if !warm[key(route)] {
			continue
		}
		delete(warm, key(route))
		r := w.rows(route, all)[0]
		q, _ := r.request()
		q.as = "owner"
		for range 2 {
			w.send(t.Context(), q)
		}
		before := w.git.Started()
		a := w.send(t.Context(), q)
		if started := w.git.Started() - before; started != 0 || a.Code != http.StatusOK {
			t.Errorf("%s: got %d and %d processes when warm, want none", key(route), a.Code, started)
		}
	}
	for name := range warm {
		t.Errorf("there is no %s", name)
	}
}

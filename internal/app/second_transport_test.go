package app

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"tenon/internal/base/errs"
	"tenon/internal/base/page"
	"tenon/internal/core"
	"tenon/internal/core/authz"
	"tenon/internal/core/issue"
	"tenon/internal/core/project"
)

// textIssues is a second transport: it lists the issues of a project as lines of text. It asks
// core and formats; it knows neither roles nor SQL nor how URLs are made.
type textIssues struct {
	*core.Services
	as func(r *http.Request) (authz.Actor, error)
}

var textStatus = map[errs.Kind]int{errs.NotFound: http.StatusNotFound, errs.Unauthorized: http.StatusUnauthorized, errs.Forbidden: http.StatusForbidden}

// ServeHTTP answers /<id of a project>.
func (h textIssues) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	lines, err := h.lines(r)
	if status, ok := textStatus[errs.KindOf(err)]; ok {
		http.Error(w, err.Error(), status)
	} else if err != nil {
		http.Error(w, "internal error", http.StatusInternalServerError)
	}
	fmt.Fprint(w, strings.Join(lines, "\n"))
}

func (h textIssues) lines(r *http.Request) ([]string, error) {
	as, err := h.as(r)
	if err != nil {
		return nil, err
	}
	p, err := h.Projects.Find(r.Context(), as, strings.TrimPrefix(r.URL.Path, "/"))
	if err != nil {
		return nil, err
	}
	views, err := h.Projects.Views(r.Context(), as, []*project.Project{p}, project.ViewOptions{})
	if err != nil {
		return nil, err
	}
	head := textProject{Name: p.FullPath, URL: h.URLs.Project(p.FullPath)}
	if full := views[0].Full; full != nil {
		head.Open = full.OpenIssues
	}
	list, err := h.Issues.List(r.Context(), as, p.Place(), issue.Filter{Range: page.Range{Limit: 100}})
	if err != nil {
		return nil, err
	}
	found, err := h.Issues.Views(r.Context(), as, list.Items, issue.ViewOptions{Projects: map[project.ID]*project.Project{p.ID: p}})
	if err != nil {
		return nil, err
	}
	lines := []string{head.String()}
	for _, i := range found {
		line := textIssue{IID: int64(i.IID), Title: i.Title, Confidential: i.Confidential, Notes: i.UserNotes, URL: i.URL}
		for _, l := range i.Labels {
			line.Labels = append(line.Labels, l.Title)
		}
		if u := i.Author; u != nil {
			line.Author = textUser{u.Username, u.AvatarURL, u.WebURL}
		}
		for _, u := range i.Assignees {
			line.Assignees = append(line.Assignees, textUser{u.Username, u.AvatarURL, u.WebURL})
		}
		lines = append(lines, line.String())
	}
	return lines, nil
}

// textProject, textIssue and textUser are what both transports say: REST's JSON is read into
// the same structs.
type textProject struct {
	Name string `json:"path_with_namespace"`
	URL  string `json:"web_url"`
	Open *int64 `json:"open_issues_count"`
}

type textUser struct {
	Name   string  `json:"username"`
	Avatar *string `json:"avatar_url"`
	URL    string  `json:"web_url"`
}

type textIssue struct {
	IID          int64      `json:"iid"`
	Title        string     `json:"title"`
	Confidential bool       `json:"confidential"`
	Notes        int64      `json:"user_notes_count"`
	URL          string     `json:"web_url"`
	Labels       []string   `json:"labels"`
	Author       textUser   `json:"author"`
	Assignees    []textUser `json:"assignees"`
}

func (p textProject) String() string { return asLine("project", p) }
func (i textIssue) String() string   { return asLine("issue", i) }

func asLine(kind string, v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return kind + " " + strings.ReplaceAll(strings.ReplaceAll(string(b), `:[]`, ":none"), ":null", ":none")
}

// overREST returns the same lines by way of the REST interface, and the status.
func (s *server) overREST(t *testing.T, as, path string) (string, int) {
	t.Helper()
	var head textProject
	var issues []textIssue
	for _, part := range []struct {
		path string
		into any
	}{{path, &head}, {path + "/issues?per_page=100", &issues}} {
		w := s.send(t.Context(), request{as: as, method: "GET", path: part.path})
		if w.Code != http.StatusOK {
			return "", w.Code
		}
		if err := json.Unmarshal(w.Body.Bytes(), part.into); err != nil {
			t.Fatal(err)
		}
	}
	lines := []string{head.String()}
	for _, i := range issues {
		lines = append(lines, i.String())
	}
	return strings.Join(lines, "\n"), http.StatusOK
}

// A transport that is made of calls to core alone shows each caller what REST shows it, with as
// many statements for many issues as for few.
func TestSecondTransport(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, s *server) {
		levels := map[string]int{"guest": 10, "planner": 15, "reporter": 20, "developer": 30, "maintainer": 40, "owner": 50}
		callers := []string{"", "stranger", "auditor", "admin", "author"}
		for _, name := range callers[1:3] {
			s.user(name, nil)
		}
		s.user("author", nil)
		for name := range levels {
			s.user(name, nil)
			callers = append(callers, name)
		}
		slices.Sort(callers)
		s.exec("UPDATE users SET auditor = ? WHERE username = ?", true, "auditor")
		var paths []string
		for _, visibility := range []string{"private", "internal", "public"} {
			s.do("admin", "POST", "/groups", map[string]any{"name": visibility, "path": "team-" + visibility, "visibility": visibility})
			app := s.do("admin", "POST", "/projects", map[string]any{
				"name": "app", "namespace_id": s.do("admin", "GET", "/groups/team-"+visibility, nil)["id"], "visibility": visibility,
			})
			at := "/projects/" + number(app, "id")
			paths = append(paths, at)
			for name, level := range levels {
				s.do("admin", "POST", at+"/members", map[string]any{"user_id": s.ids[name], "access_level": level})
			}
			s.do("admin", "POST", at+"/issues", map[string]any{"title": "open", "labels": "bug,api", "assignee_ids": s.ids["guest"]})
			s.do("admin", "POST", at+"/issues", map[string]any{"title": "secret", "confidential": true})
			s.do("admin", "POST", at+"/issues", map[string]any{"title": "secret of the guest", "confidential": true, "assignee_ids": s.ids["guest"]})
			if visibility != "private" {
				s.do("author", "POST", at+"/issues", map[string]any{"title": "secret of the author", "confidential": true})
			}
			for _, internal := range []bool{false, true} {
				s.do("admin", "POST", at+"/issues/1/notes", map[string]any{"body": "hm", "internal": internal})
			}
		}
		ask := func(as, path string) *httptest.ResponseRecorder {
			h := textIssues{s.core, func(r *http.Request) (authz.Actor, error) {
				if as == "" {
					return authz.Actor{}, nil
				}
				actor, _, err := s.core.Tokens.Authenticate(r.Context(), s.keys[as])
				return actor, err
			}}
			w := httptest.NewRecorder()
			h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "GET", strings.TrimPrefix(path, "/projects"), nil))
			return w
		}
		seen := map[string]bool{}
		for _, path := range paths {
			for _, as := range callers {
				want, status := s.overREST(t, as, path)
				got := ask(as, path)
				if got.Code != status || status == http.StatusOK && got.Body.String() != want {
					t.Errorf("%s as %q: got %d\n%s\nREST answers %d\n%s", path, as, got.Code, got.Body, status, want)
				}
				seen[want] = true
			}
		}
		if len(seen) < 8 {
			t.Errorf("got %d different answers: the callers see too much alike for a proof", len(seen))
		}
		s.constant(t, paths[0], func() { ask("admin", paths[0]) })
	})
}

// constant checks that reading the issues of a project costs no more when there are many.
func (s *server) constant(t *testing.T, path string, read func()) {
	t.Helper()
	cost := func() uint64 {
		least := ^uint64(0)
		for range 5 { // what runs in the background counts as well
			before := s.db.Statements()
			read()
			least = min(least, s.db.Statements()-before)
		}
		return least
	}
	few := cost()
	for i := range 20 {
		author := []string{"guest", "planner", "reporter", "developer"}[i%4]
		s.do(author, "POST", path+"/issues", map[string]any{"title": fmt.Sprint("more ", i)})
		s.do("owner", "PUT", fmt.Sprintf("%s/issues/%d", path, i+4), map[string]any{"labels": fmt.Sprintf("l%d,m%d", i, i), "assignee_ids": s.ids["owner"]})
	}
	if many := cost(); many > few {
		t.Errorf("got %d statements for 23 issues, %d for 3", many, few)
	} else {
		t.Logf("%d statements", many)
	}
}

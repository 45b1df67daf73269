package app

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"tenon/internal/base/db"
	"tenon/internal/base/db/dbtest"
	"tenon/internal/core/account"
)

// boundRace is how many rows of a table may have something in common, and requests that each add one.
type boundRace struct {
	name  string
	table string
	of    string            // what the rows have in common
	most  int               // as the documentation has it
	set   map[string]string // what differs in the rows that fill it, copies of the first
	as    string
	again bool // or: a request succeeds which adds what is there
	sends func(i int) request
}

// TestBounds_together sends fifty requests at once where there is room for three: they fill what they add to, and no more.
func TestBounds_together(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, s *server) {
		for _, tt := range s.boundRaces() {
			if tt.as == "" {
				tt.as = "admin"
			}
			t.Run(tt.name, func(t *testing.T) {
				s.fillBound(t, &tt)
				var made atomic.Int64
				var all sync.WaitGroup
				for i := range 50 {
					q := tt.sends(i + 1)
					q.as = tt.as
					all.Go(func() {
						a := s.send(t.Context(), q)
						switch {
						case a.Code < 300:
							made.Add(1)
						case a.Code >= 500:
							t.Errorf("%s %s: got %d %s", q.method, q.path, a.Code, a.Body)
						}
					})
				}
				all.Wait()
				if there := s.countRows(t, &tt); there != tt.most || made.Load() != 3 && !tt.again {
					t.Errorf("%d requests succeeded, and %d rows are there; want 3 and %d", made.Load(), there, tt.most)
				}
			})
		}
	})
}

func (s *server) countRows(t *testing.T, b *boundRace) int {
	t.Helper()
	n, err := db.Get[int](t.Context(), s.db, "SELECT COUNT(*) FROM "+b.table+" WHERE "+b.of)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// fillBound leaves room for three rows. The first row is made by the first request.
func (s *server) fillBound(t *testing.T, b *boundRace) {
	t.Helper()
	if s.countRows(t, b) == 0 && b.most > 3 {
		q := b.sends(0)
		if a := s.send(t.Context(), request{as: b.as, method: q.method, path: q.path, body: q.body}); a.Code >= 300 {
			t.Fatalf("%s %s: got %d %s", q.method, q.path, a.Code, a.Body)
		}
	}
	if missing := b.most - 3 - s.countRows(t, b); missing > 0 {
		order := "id"
		if b.table == "follows" || b.table == "job_token_allowlist" {
			order = "created_at"
		}
		first := "(SELECT " + order + " FROM " + b.table + " WHERE " + b.of + " ORDER BY " + order + " LIMIT 1)"
		dbtest.Copies(t, s.db, b.table, b.of+" AND t."+order+" = "+first, missing, b.set)
	}
	if n := s.countRows(t, b); n != b.most-3 {
		t.Fatalf("%d rows of %s, want %d", n, b.table, b.most-3)
	}
}

// boundRaces makes what has bounds.
func (s *server) boundRaces() []boundRace {
	id := number(s.do("admin", "POST", "/projects", obj{"name": "bounds", "initialize_with_readme": true}), "id")
	groupID := number(s.do("admin", "POST", "/groups", obj{"name": "bounds", "path": "bounds-group"}), "id")
	project, group := "/projects/"+id, "/groups/"+groupID
	ns, err := db.Get[int64](s.tb.Context(), s.db, "SELECT namespace_id FROM projects WHERE id = "+id)
	if err != nil {
		s.tb.Fatal(err)
	}
	incident := number(s.do("admin", "POST", project+"/issues", obj{"title": "Down", "issue_type": "incident"}), "iid")
	epic := number(s.do("admin", "POST", group+"/epics", obj{"title": "Parent"}), "id")
	s.do("admin", "POST", project+"/repository/branches", obj{"branch": "topic", "ref": "main"})
	mr := s.do("admin", "POST", project+"/merge_requests", obj{"title": "one", "source_branch": "topic", "target_branch": "main"})
	merging := project + "/merge_requests/" + number(mr, "iid")
	var commits []string
	for i := range 6 {
		commits = append(commits, s.do("admin", "POST", project+"/repository/commits", obj{
			"branch": "main", "commit_message": "one more", "actions": []any{obj{"action": "create", "file_path": fmt.Sprint(i), "content": "x"}},
		})["id"].(string))
	}
	three := int64(3)
	s.user("builder", func(in *account.Input) { in.ProjectsLimit = &three })
	s.user("follower", nil)
	dbtest.Copies(s.tb, s.db, "users", "t.username = 'follower'", 350, map[string]string{
		"username": "'person' || n.i", "username_fold": "'person' || n.i", "namespace_id": "NULL", "id": "10000 + n.i",
	})
	dbtest.Copies(s.tb, s.db, "namespaces", "t.id = "+groupID, 250, map[string]string{
		"id": "10000 + n.i", "name": "'more' || n.i", "path": "'more' || n.i",
	})
	dbtest.Copies(s.tb, s.db, "groups", "t.namespace_id = "+groupID, 250, map[string]string{"namespace_id": "10000 + n.i"})
	dbtest.Copies(s.tb, s.db, "routes", "t.namespace_id = "+groupID, 250, map[string]string{
		"namespace_id": "10000 + n.i", "path": "'more' || n.i", "path_fold": "'more' || n.i",
	})
	ofProject, ofNamespace := "project_id = "+id, fmt.Sprintf("namespace_id = %d", ns)
	named := func(path string, more obj) func(i int) request {
		return func(i int) request {
			body := obj{}
			for key, value := range more {
				if text, ok := value.(string); ok {
					value = strings.ReplaceAll(text, "%d", fmt.Sprint(i))
				}
				body[key] = value
			}
			return request{method: http.MethodPost, path: path, body: body}
		}
	}
	return append(append(s.linkRaces(project, group), s.instanceRaces(project, group)...), []boundRace{
		{name: "boards", table: "boards", of: ofNamespace, most: 500, sends: named(project+"/boards", obj{"name": "board %d"})},
		{
			name: "secure files", table: "secure_files", of: ofProject, most: 100, set: map[string]string{"name": "'copy' || n.i", "object": "'copy' || n.i"},
			sends: func(i int) request {
				return request{method: http.MethodPost, path: project + "/secure_files", body: obj{"name": fmt.Sprintf("%d.jks", i), "file": attached{"new.jks", "content"}}}
			},
		},
		{
			name: "triggers", table: "pipeline_triggers", of: ofProject, most: 1000, set: map[string]string{"digest": "'copy' || n.i"},
			sends: named(project+"/triggers", obj{"description": "trigger %d"}),
		},
		{
			name: "variables", table: "ci_variables", of: ofNamespace, most: 8000, set: map[string]string{"name": "'COPY_' || n.i"},
			sends: named(project+"/variables", obj{"key": "KEY_%d", "value": "x"}),
		},
		{
			name: "schedules", table: "pipeline_schedules", of: ofProject, most: 10,
			sends: named(project+"/pipeline_schedules", obj{"description": "schedule %d", "ref": "main", "cron": "0 1 * * *"}),
		},
		{
			name: "job token allowlist", table: "job_token_allowlist", of: ofNamespace, most: 200, set: map[string]string{"allowed_id": "10050 + n.i"},
			sends: func(i int) request {
				return request{method: http.MethodPost, path: project + "/job_token_scope/groups_allowlist", body: obj{"target_group_id": 10000 + max(i, 1)}}
			},
		},
		{
			name: "follows", table: "follows", of: fmt.Sprintf("follower_id = %d", s.ids["follower"]), most: 300, as: "follower",
			set: map[string]string{"followee_id": "10051 + n.i"}, sends: func(i int) request {
				return request{method: http.MethodPost, path: fmt.Sprintf("/users/%d/follow", 10001+i)}
			},
		},
		{
			name: "context commits", table: "merge_request_context_commits", of: "merge_request_id = " + number(mr, "id"), most: 500, again: true,
			set: map[string]string{"sha": "'copy' || n.i"}, sends: func(i int) request {
				return request{method: http.MethodPost, path: merging + "/context_commits", body: obj{"commits": []string{commits[i%len(commits)]}}}
			},
		},
		{name: "metric images", table: "metric_images", of: "issue_id > 0", most: 100, sends: func(int) request {
			return request{method: http.MethodPost, path: project + "/issues/" + incident + "/metric_images", body: obj{"file": attached{"load.png", onePixel()}}}
		}},
		{
			name: "child epics", table: "epics", of: "parent_id = " + epic, most: 100, set: map[string]string{"iid": "1000 + n.i"},
			sends: named(group+"/epics", obj{"title": "child %d", "parent_id": epic}),
		},
		{name: "draft notes", table: "draft_notes", of: "author_id = 1", most: 500, sends: named(merging+"/draft_notes", obj{"note": "draft %d"})},
		{
			name: "external status checks", table: "external_status_checks", of: ofProject, most: 50,
			set:   map[string]string{"name": "'copy' || n.i", "external_url": "'https://example.com/copy' || n.i"},
			sends: named(project+"/external_status_checks", obj{"name": "check %d", "external_url": "https://example.com/%d"}),
		},
		{
			name: "approval rules", table: "approval_rules", of: ofProject + " AND merge_request_id IS NULL", most: 100, set: map[string]string{"name": "'copy' || n.i"},
			sends: named(project+"/approval_rules", obj{"name": "rule %d", "approvals_required": 0}),
		},
		{
			name: "personal projects", table: "projects", as: "builder", most: 3,
			of:    fmt.Sprintf("parent_id = (SELECT namespace_id FROM users WHERE id = %d)", s.ids["builder"]),
			sends: named("/projects", obj{"name": "project %d"}),
		},
	}...)
}

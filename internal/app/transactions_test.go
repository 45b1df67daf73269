package app

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/base/db/dbtest"
	"tenon/internal/core/project"
)

// costly is an operation on as many rows as there are: one transaction of it has no more
// statements the more they are.
type costly struct {
	name    string
	prepare func(n int) request // makes n rows and the request that works on them
	most    int                 // rows of one transaction where the work goes in pieces; 0 where it does not
	bound   int                 // rows that there can be, or that are many
}

// TestTransactions_costly counts the statements of the largest transaction of each costly operation and
// of the jobs that follow, for few rows and for many. What whole pipelines cost is in core/ci.
func TestTransactions_costly(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, s *server) {
		for _, tt := range s.costly() {
			t.Run(tt.name, func(t *testing.T) {
				run := func(n int) func() {
					q := tt.prepare(n)
					q.as = "admin"
					if err := s.jobs.Drain(t.Context()); err != nil {
						t.Fatal(err)
					}
					return func() {
						if a := s.send(t.Context(), q); a.Code >= 300 {
							t.Errorf("%s %s: got %d %s", q.method, q.path, a.Code, a.Body)
						}
						if err := s.jobs.Drain(t.Context()); err != nil {
							t.Error(err)
						}
					}
				}
				few, many := dbtest.Few, dbtest.Many
				if tt.most > 0 {
					few, many = tt.most, 2*tt.most+1
				}
				least, _ := dbtest.Largest(dbtest.Transactions(t, s.db, run(few)))
				largest, _ := dbtest.Largest(dbtest.Transactions(t, s.db, run(many)))
				t.Logf("%d statements for %d rows, %d for %d", least, few, largest, many)
				if largest > least+1 {
					t.Errorf("the largest transaction has %d statements for %d rows and %d for %d, want the same number", least, few, largest, many)
				}
			})
		}
	})
}

// BenchmarkTransactions prints how long the longest transaction of each costly operation keeps the
// writer of SQLite, at the documented bounds. What a statement waits for is counted.
func BenchmarkTransactions(b *testing.B) {
	s := newServer(b, "")
	for _, tt := range s.costly() {
		b.Run(tt.name, func(b *testing.B) {
			var longest time.Duration
			for range b.N {
				b.StopTimer()
				q := tt.prepare(tt.bound)
				q.as = "admin"
				if err := s.jobs.Drain(b.Context()); err != nil {
					b.Fatal(err)
				}
				b.StartTimer()
				for _, t := range dbtest.Transactions(b, s.db, func() {
					if a := s.send(b.Context(), q); a.Code >= 300 {
						b.Fatalf("%s %s: got %d %s", q.method, q.path, a.Code, a.Body)
					}
					if err := s.jobs.Drain(b.Context()); err != nil {
						b.Fatal(err)
					}
				}) {
					longest = max(longest, t.Took)
				}
			}
			b.ReportMetric(float64(tt.bound), "rows")
			b.ReportMetric(float64(longest.Microseconds())/1000, "ms/longest")
		})
	}
}

// costly lists the operations. Each call of prepare makes a place of its own.
func (s *server) costly() []costly {
	places := 0
	group := func(parent string) (path, id string) {
		places++
		name := fmt.Sprintf("costly%d", places)
		in := obj{"name": name, "path": name}
		if parent != "" {
			in["parent_id"] = parent
		}
		id = number(s.do("admin", "POST", "/groups", in), "id")
		return "/groups/" + id, id
	}
	project := func(in obj) string {
		places++
		in["name"] = fmt.Sprintf("costly%d", places)
		return "/projects/" + number(s.do("admin", "POST", "/projects", in), "id")
	}
	posts := func(n int, path string, body func(i int) obj) (last string) {
		for i := range n {
			last = number(s.do("admin", "POST", path, body(i)), "id")
		}
		return last
	}
	crowd := func(n int) (at, first string) {
		at = project(obj{})
		first = number(s.do("admin", "POST", at+"/issues", obj{"title": "first"}), "iid")
		posts(n, at+"/issues", func(i int) obj { return obj{"title": fmt.Sprint(i)} })
		s.exec("UPDATE issues SET relative_position = 5 WHERE project_id = " + strings.TrimPrefix(at, "/projects/"))
		return at, first
	}
	lastID := func(table, where string) int64 {
		id, err := db.Get[int64](s.tb.Context(), s.db, "SELECT MAX(id) FROM "+table+" WHERE "+where)
		if err != nil {
			s.tb.Fatal(err)
		}
		return id
	}
	return []costly{
		{name: "reorder issues", bound: 3000, prepare: func(n int) request {
			at, first := crowd(n)
			last := lastID("issues", "project_id = "+strings.TrimPrefix(at, "/projects/"))
			return request{method: http.MethodPut, path: at + "/issues/" + first + "/reorder", body: obj{"move_after_id": last - 1, "move_before_id": last}}
		}},
		{name: "reorder epics", bound: 100, prepare: func(n int) request {
			at, _ := group("")
			parent := s.do("admin", "POST", at+"/epics", obj{"title": "parent"})
			posts(n, at+"/epics", func(i int) obj { return obj{"title": fmt.Sprint(i), "parent_id": number(parent, "id")} })
			s.exec("UPDATE epics SET relative_position = 5 WHERE parent_id = " + number(parent, "id"))
			last := lastID("epics", "parent_id = "+number(parent, "id"))
			return request{method: http.MethodPut, path: fmt.Sprintf("%s/epics/%s/epics/%d", at, number(parent, "iid"), last), body: obj{"move_before_id": last - 1, "move_after_id": last - 2}}
		}},
		{name: "move a list of a board", bound: 100, prepare: func(n int) request {
			at := project(obj{})
			board := at + "/boards/" + number(s.do("admin", "POST", at+"/boards", obj{"name": "board"}), "id")
			var list string
			for i := range n {
				label := s.do("admin", "POST", at+"/labels", obj{"name": fmt.Sprintf("list%d", i), "color": "#112233"})
				list = number(s.do("admin", "POST", board+"/lists", obj{"label_id": number(label, "id")}), "id")
			}
			return request{method: http.MethodPut, path: board + "/lists/" + list, body: obj{"position": 0}}
		}},
		{name: "promote a label", bound: 300, prepare: func(n int) request {
			_, id := group("")
			var at string
			for range n {
				at = project(obj{"namespace_id": id})
				s.do("admin", "POST", at+"/labels", obj{"name": "bug", "color": "#112233"})
				s.do("admin", "POST", at+"/issues", obj{"title": "one", "labels": "bug"})
			}
			return request{method: http.MethodPut, path: at + "/labels/bug/promote"}
		}},
		{name: "transfer a project with labels and milestones", bound: 90, prepare: func(n int) request {
			from, id := group("")
			at := project(obj{"namespace_id": id})
			_, to := group("")
			board := at + "/boards/" + number(s.do("admin", "POST", at+"/boards", obj{"name": "board"}), "id")
			for i := range n {
				label := s.do("admin", "POST", from+"/labels", obj{"name": fmt.Sprintf("label%d", i), "color": "#112233"})
				milestone := s.do("admin", "POST", from+"/milestones", obj{"title": fmt.Sprintf("milestone%d", i)})
				s.do("admin", "POST", at+"/issues", obj{"title": "one", "labels": label["name"], "milestone_id": number(milestone, "id")})
				s.do("admin", "POST", board+"/lists", obj{"label_id": number(label, "id")})
			}
			return request{method: http.MethodPut, path: at + "/transfer", body: obj{"namespace": to}}
		}},
		{name: "delete a group", bound: 100, prepare: func(n int) request {
			s.do("admin", "PUT", "/application/settings", obj{"delayed_group_deletion": false, "delayed_project_deletion": false}) // at once
			at, id := group("")
			for i := range n {
				in := project(obj{"namespace_id": id})
				s.do("admin", "POST", in+"/issues", obj{"title": "one"})
				group(id)
				s.do("admin", "POST", at+"/epics", obj{"title": fmt.Sprint(i)})
			}
			return request{method: http.MethodDelete, path: at}
		}},
		{name: "delete a project", most: 500, bound: 20_000, prepare: func(n int) request {
			s.do("admin", "PUT", "/application/settings", obj{"delayed_group_deletion": false, "delayed_project_deletion": false}) // at once
			at := project(obj{})
			s.crowdedProject(at, n)
			return request{method: http.MethodDelete, path: at}
		}},
		{name: "import members", most: 50, bound: 5000, prepare: func(n int) request {
			from, to := project(obj{}), project(obj{})
			places++
			first := 100_000 + places*10_000
			dbtest.Copies(s.tb, s.db, "users", "t.id = 1", n, map[string]string{
				"id": fmt.Sprintf("%d + n.i", first), "username": fmt.Sprintf("'member%d-' || n.i", places),
				"username_fold": fmt.Sprintf("'member%d-' || n.i", places), "namespace_id": "NULL", "admin": "false",
			})
			s.exec(fmt.Sprintf(`INSERT INTO members (namespace_id, user_id, access_level, created_at, updated_at)
				SELECT p.namespace_id, u.id, 30, u.created_at, u.created_at FROM projects p, users u WHERE p.id = %s AND u.id > %d AND u.id <= %d`,
				strings.TrimPrefix(from, "/projects/"), first, first+n))
			return request{method: http.MethodPost, path: to + "/import_project_members/" + strings.TrimPrefix(from, "/projects/")}
		}},
		{name: "publish draft notes", most: 50, bound: 500, prepare: func(n int) request {
			at := project(obj{"initialize_with_readme": true})
			s.do("admin", "POST", at+"/repository/branches", obj{"branch": "topic", "ref": "main"})
			mr := at + "/merge_requests/" + number(s.do("admin", "POST", at+"/merge_requests", obj{"title": "one", "source_branch": "topic", "target_branch": "main"}), "iid")
			s.do("admin", "POST", mr+"/draft_notes", obj{"note": "draft"})
			if n > 1 {
				dbtest.Copies(s.tb, s.db, "draft_notes", "t.id = (SELECT MAX(id) FROM draft_notes)", n-1, nil)
			}
			return request{method: http.MethodPost, path: mr + "/draft_notes/bulk_publish"}
		}},
		{name: "promote a milestone", bound: 300, prepare: func(n int) request {
			_, id := group("")
			var at, milestone string
			for range n {
				at = project(obj{"namespace_id": id})
				milestone = number(s.do("admin", "POST", at+"/milestones", obj{"title": "one"}), "id")
				s.do("admin", "POST", at+"/issues", obj{"title": "one", "milestone_id": milestone})
			}
			return request{method: http.MethodPost, path: at + "/milestones/" + milestone + "/promote"}
		}},
		{name: "delete a label", bound: 4000, prepare: func(n int) request {
			at := project(obj{})
			s.do("admin", "POST", at+"/labels", obj{"name": "bug", "color": "#112233"})
			posts(n, at+"/issues", func(i int) obj { return obj{"title": fmt.Sprint(i), "labels": "bug"} })
			return request{method: http.MethodDelete, path: at + "/labels/bug"}
		}},
		{name: "ship merge requests", most: 500, bound: 5000, prepare: func(n int) request {
			at := project(obj{"initialize_with_readme": true})
			id := strings.TrimPrefix(at, "/projects/")
			s.do("admin", "POST", at+"/repository/branches", obj{"branch": "topic", "ref": "main"})
			s.do("admin", "POST", at+"/merge_requests", obj{"title": "one", "source_branch": "topic", "target_branch": "main"})
			s.exec("UPDATE merge_requests SET state = 'merged', merged_at = created_at WHERE target_project_id = " + id)
			dbtest.Copies(s.tb, s.db, "merge_requests", "t.target_project_id = "+id, n-1, map[string]string{"iid": "t.iid + n.i"})
			head := s.do("admin", "GET", at+"/repository/branches/main", nil)["commit"].(map[string]any)["id"]
			return request{method: http.MethodPost, path: at + "/deployments", body: obj{"environment": "production", "sha": head, "ref": "main", "tag": false, "status": "success"}}
		}},
		{name: "mark to-do items as done", bound: 1000, prepare: func(n int) request {
			at := project(obj{})
			for i := range n {
				s.do("admin", "POST", at+"/issues/"+number(s.do("admin", "POST", at+"/issues", obj{"title": fmt.Sprint(i)}), "iid")+"/todo", nil)
			}
			return request{method: http.MethodPost, path: "/todos/mark_as_done"}
		}},
	}
}

// crowdedProject fills a project with n issues that have a label, a reaction and a comment each, and with n
// merge requests, pipelines and jobs.
func (s *server) crowdedProject(at string, n int) {
	s.tb.Helper()
	id := strings.TrimPrefix(at, "/projects/")
	one := s.do("admin", "POST", at+"/issues", obj{"title": "one", "labels": "bug"})
	s.do("admin", "POST", at+"/issues/1/notes", obj{"body": "text"})
	s.do("admin", "POST", at+"/issues/1/award_emoji", obj{"name": "tada"})
	s.do("admin", "POST", at+"/repository/files/a", obj{"branch": "main", "content": "a", "commit_message": "a"})
	s.do("admin", "POST", at+"/repository/branches", obj{"branch": "b", "ref": "main"})
	s.do("admin", "POST", at+"/merge_requests", obj{"title": "one", "source_branch": "b", "target_branch": "main"})
	s.do("admin", "POST", at+"/statuses/main", obj{"state": "success", "name": "one"})
	is := func(column string) string { return "t." + column + " = " + id }
	dbtest.Copies(s.tb, s.db, "issues", is("project_id"), n-1, map[string]string{"iid": "t.iid + n.i"})
	dbtest.Copies(s.tb, s.db, "merge_requests", is("target_project_id"), n-1, map[string]string{"iid": "t.iid + n.i", "state": "'closed'"})
	dbtest.Copies(s.tb, s.db, "pipelines", is("project_id"), n-1, map[string]string{"iid": "t.iid + n.i"})
	dbtest.Copies(s.tb, s.db, "commit_statuses", is("project_id"), n-1, nil)
	for _, query := range []string{
		"INSERT INTO label_links (target_type, target_id, label_id) SELECT 'Issue', i.id, l.label_id FROM issues i, label_links l WHERE i.project_id = %[1]s AND l.target_type = 'Issue' AND l.target_id = %[2]s ON CONFLICT DO NOTHING",
		"INSERT INTO award_emoji (name, user_id, awardable_type, awardable_id, created_at, updated_at) SELECT e.name, e.user_id, 'Issue', i.id, i.created_at, i.created_at FROM issues i, award_emoji e WHERE i.project_id = %[1]s AND i.id <> %[2]s AND e.awardable_type = 'Issue' AND e.awardable_id = %[2]s",
	} {
		s.exec(fmt.Sprintf(query, id, number(one, "id")))
	}
	first := "t.noteable_type = 'Issue' AND NOT t.system AND t.noteable_id = " + number(one, "id")
	dbtest.Copies(s.tb, s.db, "notes", first, n-1, map[string]string{"noteable_id": "t.noteable_id + n.i", "discussion_id": "t.discussion_id || n.i"})
}

// TestPurge_interrupted goes on with a deletion that ended in the middle, and leaves nothing.
func TestPurge_interrupted(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, s *server) {
		s.do("admin", "PUT", "/application/settings", obj{"delayed_group_deletion": false, "delayed_project_deletion": false})
		p := s.do("admin", "POST", "/projects", obj{"name": "large"})
		s.crowdedProject("/projects/"+number(p, "id"), 1200)
		s.do("admin", "DELETE", "/projects/"+number(p, "id"), nil)
		purge := project.Purge{ProjectID: project.ID(int64(p["id"].(float64)))}
		type purging struct{}
		ctx, cancel := context.WithCancel(context.WithValue(t.Context(), purging{}, true))
		defer cancel()
		ended := 0
		s.db.ObserveTransactions(func(ctx context.Context, _ db.Transaction) {
			if ctx.Value(purging{}) == nil {
				return // of what the server does beside it
			}
			if ended++; ended == 7 {
				cancel()
			}
		})
		err := s.core.Projects.Purge(ctx, purge)
		s.db.ObserveTransactions(func(context.Context, db.Transaction) {})
		if !errors.Is(err, context.Canceled) {
			t.Fatalf("a deletion that ends in the middle gives %v", err)
		}
		count := func(table string) int {
			n, err := db.Get[int](t.Context(), s.db, "SELECT COUNT(*) FROM "+table)
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
		if n := count("projects WHERE pending_delete"); n != 1 {
			t.Fatalf("%d projects are being deleted, want 1", n)
		}
		if n := count("issues") + count("notes") + count("commit_statuses"); n == 0 || n >= 3600 {
			t.Errorf("%d issues, notes and statuses are left in the middle of 3600", n)
		}
		if err := s.core.Projects.Purge(t.Context(), purge); err != nil {
			t.Fatal(err)
		}
		for _, table := range []string{
			"projects", "issues", "merge_requests", "notes", "pipelines", "commit_statuses", "label_links", "award_emoji", "labels",
		} {
			if n := count(table); n != 0 {
				t.Errorf("%d rows of %s are left", n, table)
			}
		}
	})
}

// TestTransfer_copiedMilestones finds the copies of a former group's milestones in the activity of a project, with numbers of their own.
func TestTransfer_copiedMilestones(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, s *server) {
		from := number(s.do("admin", "POST", "/groups", obj{"name": "from", "path": "from"}), "id")
		to := number(s.do("admin", "POST", "/groups", obj{"name": "to", "path": "to"}), "id")
		at := "/projects/" + number(s.do("admin", "POST", "/projects", obj{"name": "moved", "namespace_id": from}), "id")
		s.do("admin", "POST", at+"/milestones", obj{"title": "own"})
		for _, title := range []string{"a", "b", "c"} {
			milestone := s.do("admin", "POST", "/groups/"+from+"/milestones", obj{"title": title})
			s.do("admin", "POST", at+"/issues", obj{"title": title, "milestone_id": number(milestone, "id")})
		}
		s.do("admin", "PUT", at+"/transfer", obj{"namespace": to})
		type row struct {
			IID   int64  `db:"iid"`
			Title string `db:"title"`
		}
		for what, query := range map[string]string{
			"milestones": "SELECT m.iid, m.title FROM milestones m JOIN projects p ON p.namespace_id = m.namespace_id WHERE p.name = 'moved' ORDER BY m.iid",
			"activity": `SELECT e.target_iid AS iid, e.target_title AS title FROM events e JOIN projects p ON p.id = e.project_id
				WHERE p.name = 'moved' AND e.target_type = 'Milestone' AND e.action = 'created' ORDER BY e.id`,
			"issues": `SELECT m.iid, i.title FROM issues i JOIN milestones m ON m.id = i.milestone_id JOIN projects p ON p.namespace_id = m.namespace_id
				WHERE p.name = 'moved' UNION SELECT 1, 'own' ORDER BY 1`,
		} {
			rows, err := db.Select[row](t.Context(), s.db, query)
			if got := fmt.Sprint(rows); err != nil || got != "[{1 own} {2 a} {3 b} {4 c}]" {
				t.Errorf("%s: got %s, %v", what, got, err)
			}
		}
	})
}

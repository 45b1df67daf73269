package app

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/base/gitstore"
	"tenon/internal/base/page"
	"tenon/internal/core"
	"tenon/internal/core/authz"
	"tenon/internal/core/board"
	"tenon/internal/core/ci"
	"tenon/internal/core/epic"
	"tenon/internal/core/issue"
	"tenon/internal/core/label"
	"tenon/internal/core/mergerequest"
	"tenon/internal/core/milestone"
	"tenon/internal/core/namespace"
	"tenon/internal/core/note"
	"tenon/internal/core/noteable"
	"tenon/internal/core/packages"
	"tenon/internal/core/project"
	"tenon/internal/core/repo"
	"tenon/internal/core/snippet"
	"tenon/internal/core/todo"
)

// held is a row of a subject, with what it takes to find it alone.
type held struct {
	ID      int64  `db:"id"`
	IID     int64  `db:"iid"`
	Project int64  `db:"project_id"`
	Place   int64  `db:"place"`
	Kind    string `db:"kind"`
	Text    string `db:"text"`
}

// batch is a subject that is read by many ids at once.
type batch struct {
	rows       string // query for all of held
	statements int    // that reading any number of them takes at most
	many       func(ctx context.Context, s *core.Services, as authz.Actor, rows []held) (map[int64]bool, error)
	one        func(ctx context.Context, s *core.Services, as authz.Actor, row held) error
}

// found returns the ids that a batch found, and its error.
func found[K ~int64, V any](all map[K]V, err error) (map[int64]bool, error) {
	out := make(map[int64]bool, len(all))
	for id := range all {
		out[int64(id)] = true
	}
	return out, err
}

// ids returns the ids of rows.
func ids[K ~int64](rows []held) []K {
	out := make([]K, len(rows))
	for i, r := range rows {
		out[i] = K(r.ID)
	}
	return out
}

// within calls fn with the project of a row as the actor sees it.
func within(ctx context.Context, s *core.Services, as authz.Actor, row held, fn func(p *project.Project) error) error {
	p, err := s.Projects.FindByID(ctx, as, project.ID(row.Project))
	if err != nil {
		return err
	}
	return fn(p)
}

func commitOf(row held) repo.CommitID {
	id, err := gitstore.ParseObjectID(row.Text)
	if err != nil {
		panic(err)
	}
	return repo.CommitID{Project: project.ID(row.Project), ID: id}
}

// batches are the subjects by name.
func batches() map[string]batch {
	return map[string]batch{
		"projects": {
			"SELECT id, 0 AS iid, id AS project_id, 0 AS place, '' AS kind, '' AS text FROM projects ORDER BY id", 1,
			func(ctx context.Context, s *core.Services, as authz.Actor, rows []held) (map[int64]bool, error) {
				return found(s.Projects.ByIDs(ctx, as, ids[project.ID](rows)))
			},
			func(ctx context.Context, s *core.Services, as authz.Actor, row held) error {
				return within(ctx, s, as, row, func(*project.Project) error { return nil })
			},
		},
		"issues": {
			"SELECT id, iid, project_id, 0 AS place, '' AS kind, '' AS text FROM issues ORDER BY id", 4,
			func(ctx context.Context, s *core.Services, as authz.Actor, rows []held) (map[int64]bool, error) {
				return found(s.Issues.ByIDs(ctx, as, ids[issue.ID](rows)))
			},
			func(ctx context.Context, s *core.Services, as authz.Actor, row held) error {
				return within(ctx, s, as, row, func(p *project.Project) error {
					alone, err := s.Issues.Find(ctx, as, p, issue.IID(row.IID))
					if err != nil {
						return err
					}
					many, err := s.Issues.ByIDs(ctx, as, []issue.ID{alone.ID})
					if got := many[alone.ID]; err == nil && !reflect.DeepEqual(got, alone) {
						return fmt.Errorf("issue %d: got %+v, alone it is %+v", alone.ID, *got, *alone)
					}
					return err
				})
			},
		},
		"merge requests": {
			"SELECT id, iid, target_project_id AS project_id, 0 AS place, CASE WHEN id IN (SELECT merge_request_id FROM approval_rules) THEN 'ruled ' ELSE '' END || state AS kind, '' AS text FROM merge_requests ORDER BY id", 8,
			func(ctx context.Context, s *core.Services, as authz.Actor, rows []held) (map[int64]bool, error) {
				return found(s.MergeRequests.ByIDs(ctx, as, ids[mergerequest.ID](rows)))
			},
			func(ctx context.Context, s *core.Services, as authz.Actor, row held) error {
				return within(ctx, s, as, row, func(p *project.Project) error {
					alone, err := s.MergeRequests.Find(ctx, as, p, mergerequest.IID(row.IID))
					if err != nil {
						return err
					}
					many, err := s.MergeRequests.ByIDs(ctx, as, []mergerequest.ID{alone.ID})
					if got := many[alone.ID]; err == nil && (got.VisibleNotes != alone.VisibleNotes || len(got.Labels) != len(alone.Labels) ||
						len(got.Assignees) != len(alone.Assignees) || got.Status != alone.Status) {
						return fmt.Errorf("merge request %d: got %+v, alone it is %+v", alone.ID, *got, *alone)
					}
					return err
				})
			},
		},
		"pipelines": {
			"SELECT id, iid, project_id, 0 AS place, ref AS kind, sha AS text FROM pipelines ORDER BY id", 2,
			func(ctx context.Context, s *core.Services, as authz.Actor, rows []held) (map[int64]bool, error) {
				return found(s.CI.ByIDs(ctx, as, ids[ci.PipelineID](rows)))
			},
			func(ctx context.Context, s *core.Services, as authz.Actor, row held) error {
				return within(ctx, s, as, row, func(p *project.Project) error {
					last, err := s.CI.Last(ctx, as, p, commitOf(row).ID)
					if err == nil && last == nil {
						err = errs.Missing("Pipeline")
					}
					return err
				})
			},
		},
		"packages": {
			"SELECT id, 0 AS iid, project_id, 0 AS place, '' AS kind, '' AS text FROM packages ORDER BY id", 2,
			func(ctx context.Context, s *core.Services, as authz.Actor, rows []held) (map[int64]bool, error) {
				return found(core.Part[*packages.Service](s).ByIDs(ctx, as, ids[packages.ID](rows)))
			},
			func(ctx context.Context, s *core.Services, as authz.Actor, row held) error {
				return within(ctx, s, as, row, func(p *project.Project) error {
					_, err := core.Part[*packages.Service](s).Find(ctx, as, p, packages.ID(row.ID))
					return err
				})
			},
		},
		"schedules": {
			"SELECT id, 0 AS iid, project_id, 0 AS place, '' AS kind, '' AS text FROM pipeline_schedules ORDER BY id", 2,
			func(ctx context.Context, s *core.Services, as authz.Actor, rows []held) (map[int64]bool, error) {
				return found(s.Schedules.ByIDs(ctx, as, ids[ci.ScheduleID](rows)))
			},
			func(ctx context.Context, s *core.Services, as authz.Actor, row held) error {
				return within(ctx, s, as, row, func(p *project.Project) error {
					_, err := s.Schedules.Find(ctx, as, p, ci.ScheduleID(row.ID))
					return err
				})
			},
		},
		"notes": {
			`SELECT n.id, COALESCE(i.iid, m.iid, n.noteable_id) AS iid, COALESCE(n.project_id, 0) AS project_id,
				COALESCE(n.group_id, 0) AS place, n.noteable_type AS kind, COALESCE(n.commit_id, '') AS text
				FROM notes n LEFT JOIN issues i ON n.noteable_type = 'Issue' AND i.id = n.noteable_id
				LEFT JOIN merge_requests m ON n.noteable_type = 'MergeRequest' AND m.id = n.noteable_id
				ORDER BY n.source_type IS NOT NULL, n.id DESC`, 11,
			func(ctx context.Context, s *core.Services, as authz.Actor, rows []held) (map[int64]bool, error) {
				return found(s.Notes.ByIDs(ctx, as, ids[note.ID](rows)))
			},
			func(ctx context.Context, s *core.Services, as authz.Actor, row held) error {
				if row.Place != 0 {
					g, err := s.Namespaces.FindByID(ctx, as, namespace.ID(row.Place))
					if err == nil {
						_, _, err = s.Notes.Find(ctx, as, note.On{Place: g.Place(), Kind: noteable.Kind(row.Kind), Key: noteable.Key{Number: row.IID}, Anonymous: true}, note.ID(row.ID))
					}
					return err
				}
				return within(ctx, s, as, row, func(p *project.Project) error {
					on := note.On{Place: p.Place(), Kind: noteable.Kind(row.Kind), Key: noteable.Key{Number: row.IID, Commit: row.Text}, Anonymous: true}
					_, _, err := s.Notes.Find(ctx, as, on, note.ID(row.ID))
					return err
				})
			},
		},
		"labels": {
			`SELECT l.id, 0 AS iid, COALESCE(p.id, 0) AS project_id, l.namespace_id AS place, '' AS kind, '' AS text
				FROM labels l LEFT JOIN projects p ON p.namespace_id = l.namespace_id ORDER BY l.id`, 1,
			func(ctx context.Context, s *core.Services, as authz.Actor, rows []held) (map[int64]bool, error) {
				return found(s.Labels.ByIDs(ctx, as, ids[label.ID](rows)))
			},
			func(ctx context.Context, s *core.Services, as authz.Actor, row held) error {
				if row.Project != 0 {
					return within(ctx, s, as, row, func(p *project.Project) error {
						_, err := s.Labels.Find(ctx, as, p.Place(), fmt.Sprint(row.ID))
						return err
					})
				}
				g, err := s.Namespaces.FindByID(ctx, as, namespace.ID(row.Place))
				if err != nil {
					return err
				}
				_, err = s.Labels.Find(ctx, as, authz.Place{Namespace: g.ID, Subject: g.Subject()}, fmt.Sprint(row.ID))
				return err
			},
		},
		"boards": {
			`SELECT b.id, 0 AS iid, COALESCE(p.id, 0) AS project_id, b.namespace_id AS place, '' AS kind, '' AS text
				FROM boards b LEFT JOIN projects p ON p.namespace_id = b.namespace_id ORDER BY b.id`, 8,
			func(ctx context.Context, s *core.Services, as authz.Actor, rows []held) (map[int64]bool, error) {
				return found(s.Boards.ByIDs(ctx, as, ids[board.ID](rows)))
			},
			func(ctx context.Context, s *core.Services, as authz.Actor, row held) error {
				if row.Project != 0 {
					return within(ctx, s, as, row, func(p *project.Project) error {
						_, err := s.Boards.Find(ctx, as, p.Place(), board.ID(row.ID))
						return err
					})
				}
				g, err := s.Namespaces.FindByID(ctx, as, namespace.ID(row.Place))
				if err != nil {
					return err
				}
				_, err = s.Boards.Find(ctx, as, g.Place(), board.ID(row.ID))
				return err
			},
		},
		"milestones": {
			`SELECT m.id, 0 AS iid, COALESCE(p.id, 0) AS project_id, m.namespace_id AS place, '' AS kind, '' AS text
				FROM milestones m LEFT JOIN projects p ON p.namespace_id = m.namespace_id ORDER BY m.id`, 1,
			func(ctx context.Context, s *core.Services, as authz.Actor, rows []held) (map[int64]bool, error) {
				return found(s.Milestones.ByIDs(ctx, as, ids[milestone.ID](rows)))
			},
			func(ctx context.Context, s *core.Services, as authz.Actor, row held) error {
				if row.Project != 0 {
					return within(ctx, s, as, row, func(p *project.Project) error {
						_, err := s.Milestones.Find(ctx, as, p.Place(), milestone.ID(row.ID))
						return err
					})
				}
				g, err := s.Namespaces.FindByID(ctx, as, namespace.ID(row.Place))
				if err != nil {
					return err
				}
				_, err = s.Milestones.Find(ctx, as, g.Place(), milestone.ID(row.ID))
				return err
			},
		},
		"epics": {
			"SELECT id, iid, 0 AS project_id, group_id AS place, '' AS kind, '' AS text FROM epics ORDER BY id", 4,
			func(ctx context.Context, s *core.Services, as authz.Actor, rows []held) (map[int64]bool, error) {
				return found(s.Epics.ByIDs(ctx, as, ids[epic.ID](rows)))
			},
			func(ctx context.Context, s *core.Services, as authz.Actor, row held) error {
				g, err := s.Namespaces.FindByID(ctx, as, namespace.ID(row.Place))
				if err != nil {
					return err
				}
				alone, err := s.Epics.Find(ctx, as, g, epic.IID(row.IID))
				if err != nil {
					return err
				}
				many, err := s.Epics.ByIDs(ctx, as, []epic.ID{alone.ID})
				if got := many[alone.ID]; err == nil && !reflect.DeepEqual(got, alone) {
					return fmt.Errorf("epic %d: got %+v, alone it is %+v", alone.ID, *got, *alone)
				}
				return err
			},
		},
		"groups": {
			`SELECT n.id, 0 AS iid, 0 AS project_id, n.id AS place, '' AS kind, '' AS text FROM namespaces n WHERE n.kind = 'group' ORDER BY n.id`, 1,
			func(ctx context.Context, s *core.Services, as authz.Actor, rows []held) (map[int64]bool, error) {
				return found(s.Namespaces.ByIDs(ctx, as, ids[namespace.ID](rows)))
			},
			func(ctx context.Context, s *core.Services, as authz.Actor, row held) error {
				alone, err := s.Namespaces.FindByID(ctx, as, namespace.ID(row.Place))
				if err != nil {
					return err
				}
				many, err := s.Namespaces.ByIDs(ctx, as, []namespace.ID{alone.ID})
				if got := many[alone.ID]; err == nil && !reflect.DeepEqual(got, alone) {
					return fmt.Errorf("group %d: got %+v, alone it is %+v", alone.ID, *got, *alone)
				}
				return err
			},
		},
		"snippets": {
			`SELECT s.id, 0 AS iid, COALESCE(s.project_id, 0) AS project_id, 0 AS place, '' AS kind, '' AS text FROM snippets s ORDER BY s.id`, 2,
			func(ctx context.Context, s *core.Services, as authz.Actor, rows []held) (map[int64]bool, error) {
				return found(s.Snippets.ByIDs(ctx, as, ids[snippet.ID](rows)))
			},
			func(ctx context.Context, s *core.Services, as authz.Actor, row held) error {
				if row.Project == 0 {
					_, err := s.Snippets.Find(ctx, as, nil, snippet.ID(row.ID))
					return err
				}
				return within(ctx, s, as, row, func(p *project.Project) error {
					_, err := s.Snippets.Find(ctx, as, p, snippet.ID(row.ID))
					return err
				})
			},
		},
		"to-do items": {
			`SELECT t.id, 0 AS iid, 0 AS project_id, 0 AS place, '' AS kind, '' AS text FROM todos t ORDER BY t.id`, 2,
			func(ctx context.Context, s *core.Services, as authz.Actor, rows []held) (map[int64]bool, error) {
				return found(s.Todos.ByIDs(ctx, as, ids[todo.ID](rows)))
			},
			func(ctx context.Context, s *core.Services, as authz.Actor, row held) error {
				list, err := s.Todos.List(ctx, as, todo.Filter{Range: page.Range{Limit: 1000, Uncounted: true}})
				if err == nil && !slices.ContainsFunc(list.Items, func(t todo.Todo) bool { return t.ID == todo.ID(row.ID) }) {
					err = errs.Missing("")
				}
				return err
			},
		},
		"commits": {
			`SELECT MIN(id) AS id, 0 AS iid, project_id, 0 AS place, '' AS kind, sha AS text FROM pipelines GROUP BY project_id, sha ORDER BY 1`, 1,
			func(ctx context.Context, s *core.Services, as authz.Actor, rows []held) (map[int64]bool, error) {
				wanted := make([]repo.CommitID, len(rows))
				for i, r := range rows {
					wanted[i] = commitOf(r)
				}
				all, err := s.Repos.CommitsByIDs(ctx, as, wanted)
				out := map[int64]bool{}
				for _, r := range rows {
					if all[commitOf(r)] != nil {
						out[r.ID] = true
					}
				}
				return out, err
			},
			func(ctx context.Context, s *core.Services, as authz.Actor, row held) error {
				return within(ctx, s, as, row, func(p *project.Project) error {
					_, err := s.Repos.FindCommit(ctx, as, p, row.Text)
					return err
				})
			},
		},
	}
}

// actors are people of every role, and those who read without one.
func (w *world) actors() map[string]authz.Actor {
	out := map[string]authz.Actor{
		"anonymous": {}, "admin": {UserID: 1, Admin: true},
		"auditor":      {UserID: w.ids["auditor"], Auditor: true},
		"external":     {UserID: w.ids["external"], External: true},
		"stranger":     {UserID: w.ids["stranger"]},
		"deploy token": {Deploy: authz.Deploy{TokenID: 1, Place: authz.NamespaceID(1)}},
	}
	for name := range levels() {
		out[name] = authz.Actor{UserID: w.ids[name]}
	}
	return out
}

// TestByIDs reads every row of each subject by its id, all at once, for people of every role:
// what the actor finds alone comes, and nothing else, in as many statements for all rows as
// for one of each kind.
func TestByIDs(t *testing.T) {
	walker(t)
	eachEngine(t, func(t *testing.T, s *server) {
		w := newWorld(s)
		w.decorate("/projects/"+w.projects[2].values["projects/:id"], 3)
		for _, p := range w.projects {
			if p.name == "archived" || p.name == "off" {
				continue
			}
			path, sha := "/projects/"+p.values["projects/:id"], p.values[":sha"]
			w.do("owner", "POST", path+"/statuses/"+sha, obj{"state": "success", "name": p.name})
			w.do("owner", "POST", path+"/repository/commits/"+sha+"/comments", obj{"note": "Word"})
		}
		for name, b := range batches() {
			rows, err := db.Select[held](t.Context(), w.db, b.rows)
			if err != nil || len(rows) < 3 {
				t.Fatalf("%s: got %d rows, %v", name, len(rows), err)
			}
			seen, hidden := 0, 0
			for who, as := range w.actors() {
				got, err := b.many(t.Context(), w.core, as, rows)
				if err != nil {
					t.Errorf("%s of %s: %v", name, who, err)
				}
				for _, row := range rows {
					err := b.one(t.Context(), w.core, as, row)
					switch {
					case err == nil:
						seen++
					case errs.Is(err, errs.NotFound) || errs.Is(err, errs.Forbidden) || errs.Is(err, errs.Unauthorized):
						hidden++
					default:
						t.Errorf("%s of %s: %v", name, who, err)
					}
					if got[row.ID] != (err == nil) {
						t.Errorf("%s of %s: %+v comes %t, alone it gives %v", name, who, row, got[row.ID], err)
					}
				}
			}
			if seen < 10 || hidden < 10 {
				t.Errorf("%s: %d were seen and %d hidden: what was to be compared?", name, seen, hidden)
			}
			owner := w.actors()["owner"]
			visible, err := b.many(t.Context(), w.core, owner, rows)
			if err != nil {
				t.Fatal(err)
			}
			kinds := map[string]held{}
			for _, row := range rows {
				if _, known := kinds[row.Kind]; !known || visible[row.ID] {
					kinds[row.Kind] = row
				}
			}
			if strings.HasPrefix(name, "pipe") {
				clear(kinds)
				kinds[""] = rows[0]
			}
			few := w.spent(t, func() error {
				_, err := b.many(t.Context(), w.core, owner, slices.Collect(maps.Values(kinds)))
				return err
			})
			all := w.spent(t, func() error { _, err := b.many(t.Context(), w.core, owner, rows); return err })
			if all > few || all > b.statements {
				t.Errorf("%s: %d statements for %d rows, %d for %d, want %d at most", name, all, len(rows), few, len(kinds), b.statements)
			}
		}
	})
}

// spent counts the statements of a call.
func (w *world) spent(t *testing.T, call func() error) int {
	t.Helper()
	least := int(^uint(0) >> 1)
	for range 3 { // what else runs may add some
		before := w.db.Statements()
		if err := call(); err != nil {
			t.Fatal(err)
		}
		least = min(least, int(w.db.Statements()-before))
	}
	return least
}

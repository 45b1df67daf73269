package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"tenon/internal/base/db"
)

// crowdSize says how much there is of everything on a large instance.
type crowdSize struct {
	users, groups, projects    int
	issues, inLarge            int // all of them, and those in the large project
	requests, requestsInLarge  int
	noted, notesEach, longNote int // issues with notes, notes of each, and of the first one
	labels, joined             int // labels, and groups that the member belongs to
}

var (
	wholeCrowd = crowdSize{
		users: 10_000, groups: 2_000, projects: 100_000, issues: 1_000_000, inLarge: 300_000,
		requests: 200_000, requestsInLarge: 100_000, noted: 50_000, notesEach: 8, longNote: 5_000, labels: 200, joined: 50,
	}
	quickCrowd = crowdSize{
		users: 1_000, groups: 200, projects: 5_000, issues: 50_000, inLarge: 15_000,
		requests: 10_000, requestsInLarge: 5_000, noted: 2_000, notesEach: 8, longNote: 1_000, labels: 50, joined: 50,
	}
)

// Rows that are copied begin at these ids, beyond those of the templates.
const (
	firstUser    = 1_000
	firstGroup   = 1_000_000 // as a namespace
	firstPlace   = 2_000_000 // the namespaces of projects
	firstProject = 1_000
	firstIssue   = 1_000
	firstRequest = 1_000
	firstLabel   = 1_000
	firstNote    = 1_000
)

// seeder writes rows by SQL: each is a copy of one that the server made, the template,
// but for some columns.
type seeder struct {
	db *db.DB
	crowdSize
	group, place, project, issue, request, note, label, user int64 // templates; place is the project's namespace
}

// expressions give columns of a copy by the number n.i of the copy.
type expressions map[string]string

const batch = 50_000

// copies inserts rows from to before, counted from 0, as copies of a table's template.
func (s *seeder) copies(ctx context.Context, table, key string, template int64, from, before int, set expressions) (int, error) {
	names, err := s.columns(ctx, table)
	if err != nil {
		return 0, err
	}
	values := make([]string, len(names))
	for i, name := range names {
		values[i] = "t." + name
		if e, ok := set[name]; ok {
			values[i] = e
		}
	}
	for name := range set {
		if !strings.Contains(" "+strings.Join(names, " ")+" ", " "+name+" ") {
			return 0, fmt.Errorf("table %s has no column %s", table, name)
		}
	}
	query := "INSERT INTO " + table + " (" + strings.Join(names, ", ") + `)
		WITH RECURSIVE n(i) AS (SELECT CAST(? AS BIGINT) UNION ALL SELECT i + 1 FROM n WHERE i + 1 < ?)
		SELECT ` + strings.Join(values, ", ") + " FROM " + table + " t CROSS JOIN n WHERE t." + key + " = ?"
	for at := from; at < before; at += batch {
		if _, err := s.db.Exec(ctx, query, at, min(at+batch, before), template); err != nil {
			return 0, fmt.Errorf("fill %s: %w", table, err)
		}
	}
	return before - from, nil
}

func (s *seeder) columns(ctx context.Context, table string) ([]string, error) {
	query := "SELECT name FROM pragma_table_info(?) ORDER BY cid"
	if s.db.Dialect() == db.Postgres {
		query = `SELECT CAST(column_name AS TEXT) FROM information_schema.columns
			WHERE table_name = ? AND table_schema = current_schema() ORDER BY ordinal_position`
	}
	return db.Select[string](ctx, s.db, query, table)
}

// moment is the time some seconds after the start of 2023.
func (s *seeder) moment(seconds string) string {
	if s.db.Dialect() == db.Postgres {
		return "TIMESTAMPTZ '2023-01-01 00:00:00.000001+00' + (" + seconds + ") * INTERVAL '1 second'"
	}
	return "strftime('%Y-%m-%d %H:%M:%S', 1672531200 + (" + seconds + "), 'unixepoch') || '.000001+00:00'"
}

// words make titles and descriptions: one word in all, one in a tenth, one in a
// thousandth, and a few in one.
const words = `'Deploy of service ' || n.i || CASE n.i % 10 WHEN 0 THEN ' fails' WHEN 1 THEN ' is slow' ELSE ' needs care' END ||
	CASE WHEN n.i % 1000 = 7 THEN ' kumquat' ELSE '' END || CASE WHEN n.i % 100000 = 9 THEN ' zanzibar' ELSE '' END`

const foldedWords = `'deploy of service ' || n.i || CASE n.i % 10 WHEN 0 THEN ' fails' WHEN 1 THEN ' is slow' ELSE ' needs care' END ||
	CASE WHEN n.i % 1000 = 7 THEN ' kumquat' ELSE '' END || CASE WHEN n.i % 100000 = 9 THEN ' zanzibar' ELSE '' END`

func places(first int, n string) string { return fmt.Sprintf("%d + (%s)", first, n) }

// fill writes everything.
func (s *seeder) fill(ctx context.Context) error {
	steps := []struct {
		name string
		run  func(ctx context.Context) (int, error)
	}{
		{"users", s.fillUsers},
		{"groups", s.fillGroups},
		{"projects", s.fillProjects},
		{"labels", s.fillLabels},
		{"issues", s.fillIssues},
		{"merge requests", s.fillRequests},
		{"notes", s.fillNotes},
	}
	for _, step := range steps {
		if err := timed(ctx, step.name, step.run); err != nil {
			return err
		}
	}
	for _, table := range []string{"users", "emails", "namespaces", "members", "projects", "labels", "issues", "merge_requests", "notes"} {
		if err := s.db.SyncIDs(ctx, table); err != nil {
			return err
		}
	}
	return nil
}

func (s *seeder) fillUsers(ctx context.Context) (int, error) {
	n, err := s.copies(ctx, "users", "id", s.user, 0, s.users, expressions{
		"id": places(firstUser, "n.i"), "username": "'person' || n.i", "username_fold": "'person' || n.i",
		"name": "'Person ' || n.i", "name_fold": "'person ' || n.i", "namespace_id": "NULL", "created_at": s.moment("n.i"),
	})
	if err != nil {
		return 0, err
	}
	_, err = s.db.Exec(ctx, `INSERT INTO emails (user_id, email, email_fold, is_primary, pending, confirmed_at, created_at, updated_at)
		SELECT id, username || '@example.com', username || '@example.com', true, false, created_at, created_at, created_at
		FROM users WHERE id >= ?`, firstUser)
	return n, err
}

func (s *seeder) fillGroups(ctx context.Context) (int, error) {
	return s.groups, errors.Join(
		s.table(ctx, "namespaces", "id", s.group, s.groups, expressions{
			"id": places(firstGroup, "n.i"), "path": "'group' || n.i", "name": "'Group ' || n.i", "name_fold": "'group ' || n.i",
			"visibility": "CASE WHEN n.i % 5 = 0 THEN 20 ELSE 0 END",
		}),
		s.table(ctx, "groups", "namespace_id", s.group, s.groups, expressions{"namespace_id": places(firstGroup, "n.i")}),
		s.table(ctx, "routes", "namespace_id", s.group, s.groups, expressions{
			"namespace_id": places(firstGroup, "n.i"), "path": "'group' || n.i", "path_fold": "'group' || n.i", "name": "'Group ' || n.i",
		}),
		s.ancestors(ctx, places(firstGroup, "n.i"), places(firstGroup, "n.i"), 0, s.groups),
		s.members(ctx),
	)
}

// members gives ten people to each group, and the member to the first ones.
func (s *seeder) members(ctx context.Context) error {
	const insert = `INSERT INTO members (namespace_id, user_id, access_level, created_at, updated_at)
		WITH RECURSIVE n(i) AS (SELECT CAST(0 AS BIGINT) UNION ALL SELECT i + 1 FROM n WHERE i + 1 < ?) SELECT `
	now := s.moment("n.i")
	if _, err := s.db.Exec(ctx, insert+fmt.Sprintf("%d + n.i / 10, %d + (n.i * 7) %% %d, 30, %s, %s FROM n WHERE true ON CONFLICT DO NOTHING",
		firstGroup, firstUser, s.users, now, now), s.groups*10); err != nil {
		return fmt.Errorf("fill members: %w", err)
	}
	_, err := s.db.Exec(ctx, insert+fmt.Sprintf("%d + n.i, %d, 30, %s, %s FROM n", firstGroup, s.user, now, now), s.joined)
	return err
}

// ancestors writes lines of the closure of the tree.
func (s *seeder) ancestors(ctx context.Context, below, above string, depth, n int) error {
	_, err := s.db.Exec(ctx, fmt.Sprintf(`INSERT INTO namespace_ancestors (namespace_id, ancestor_id, depth)
		WITH RECURSIVE n(i) AS (SELECT CAST(0 AS BIGINT) UNION ALL SELECT i + 1 FROM n WHERE i + 1 < ?)
		SELECT %s, %s, %d FROM n`, below, above, depth), n)
	return err
}

// table is copies of the first n rows.
func (s *seeder) table(ctx context.Context, name, key string, template int64, n int, set expressions) error {
	_, err := s.copies(ctx, name, key, template, 0, n, set)
	return err
}

func (s *seeder) fillProjects(ctx context.Context) (int, error) {
	parent := fmt.Sprintf("%d + n.i %% %d", firstGroup, s.groups)
	path := fmt.Sprintf("'group' || (n.i %% %d) || '/project' || n.i", s.groups)
	return s.projects, errors.Join(
		s.table(ctx, "namespaces", "id", s.place, s.projects, expressions{
			"id": places(firstPlace, "n.i"), "parent_id": parent, "path": "'project' || n.i", "name": "'Project ' || n.i",
			"name_fold": "'project ' || n.i", "visibility": "CASE WHEN n.i % 5 = 0 THEN 20 ELSE 0 END",
		}),
		s.table(ctx, "routes", "namespace_id", s.place, s.projects, expressions{
			"namespace_id": places(firstPlace, "n.i"), "path": path, "path_fold": path,
			"name": fmt.Sprintf("'Group ' || (n.i %% %d) || ' / Project ' || n.i", s.groups),
		}),
		s.ancestors(ctx, places(firstPlace, "n.i"), places(firstPlace, "n.i"), 0, s.projects),
		s.ancestors(ctx, places(firstPlace, "n.i"), parent, 1, s.projects),
		s.table(ctx, "projects", "id", s.project, s.projects, expressions{
			"id": places(firstProject, "n.i"), "namespace_id": places(firstPlace, "n.i"), "parent_id": parent,
			"name": "'Project ' || n.i", "name_fold": "'project ' || n.i", "path": "'project' || n.i",
			"created_at": s.moment("n.i"), "last_activity_at": s.moment(fmt.Sprintf("(n.i * 7919) %% %d", s.projects)),
			"star_count": "n.i % 50",
		}),
	)
}

func (s *seeder) fillLabels(ctx context.Context) (int, error) {
	return s.copies(ctx, "labels", "id", s.label, 0, s.labels, expressions{
		"id": places(firstLabel, "n.i"), "namespace_id": fmt.Sprint(firstPlace),
		"title": "'label-' || n.i", "title_fold": "'label-' || n.i",
	})
}

// spread gives the project of a thing: the first n are of the large one, which is the
// first, the others take turns.
func (s *seeder) spread(n int) string {
	return fmt.Sprintf("CASE WHEN n.i < %d THEN %d ELSE %d + n.i %% %d END", n, firstProject, firstProject+1, s.projects-1)
}

func (s *seeder) iid(n int) string {
	return fmt.Sprintf("CASE WHEN n.i < %d THEN n.i + 1 ELSE n.i / %d + 1 END", n, s.projects-1)
}

func (s *seeder) person() string { return fmt.Sprintf("%d + (n.i * 31) %% %d", firstUser, s.users) }

func (s *seeder) fillIssues(ctx context.Context) (int, error) {
	n, err := s.copies(ctx, "issues", "id", s.issue, 0, s.issues, expressions{
		"id": places(firstIssue, "n.i"), "iid": s.iid(s.inLarge), "project_id": s.spread(s.inLarge), "author_id": s.person(),
		"title": words, "title_fold": foldedWords,
		"state": "CASE WHEN n.i % 5 < 3 THEN 'closed' ELSE 'opened' END", "confidential": "n.i % 50 = 0",
		"created_at": s.moment("n.i * 60"), "updated_at": s.moment(fmt.Sprintf("((n.i * 7919) %% %d) * 60", s.issues)),
	})
	if err != nil {
		return 0, err
	}
	for _, query := range []string{
		fmt.Sprintf(`INSERT INTO issue_assignees (issue_id, user_id) SELECT id, %d + id %% %d FROM issues WHERE id >= %d AND id %% 3 = 0`,
			firstUser, s.users, firstIssue),
		fmt.Sprintf(`INSERT INTO label_links (target_type, target_id, label_id) SELECT 'Issue', id, %d + id %% %d FROM issues
			WHERE id >= %d AND project_id = %d`, firstLabel, s.labels, firstIssue, firstProject),
		fmt.Sprintf(`INSERT INTO label_links (target_type, target_id, label_id) SELECT 'Issue', id, %d + id * 7 %% %d FROM issues
			WHERE id >= %d AND project_id = %d ON CONFLICT DO NOTHING`, firstLabel, s.labels, firstIssue, firstProject),
		fmt.Sprintf(`UPDATE projects SET open_issues_count = (SELECT count(*) FROM issues i WHERE i.project_id = projects.id AND i.state = 'opened')
			WHERE id >= %d`, firstProject),
	} {
		if _, err := s.db.Exec(ctx, query); err != nil {
			return 0, err
		}
	}
	return n, nil
}

func (s *seeder) fillRequests(ctx context.Context) (int, error) {
	at := s.spread(s.requestsInLarge)
	return s.copies(ctx, "merge_requests", "id", s.request, 0, s.requests, expressions{
		"id": places(firstRequest, "n.i"), "iid": s.iid(s.requestsInLarge), "target_project_id": at, "source_project_id": at,
		"author_id": s.person(), "title": words, "title_fold": foldedWords, "source_branch": "'topic-' || n.i",
		"state":      "CASE WHEN n.i % 10 < 8 THEN 'merged' ELSE 'opened' END",
		"created_at": s.moment("n.i * 60"), "updated_at": s.moment(fmt.Sprintf("((n.i * 7919) %% %d) * 60", s.requests)),
	})
}

func (s *seeder) fillNotes(ctx context.Context) (int, error) {
	common := func(extra expressions) expressions {
		out := expressions{
			"project_id": fmt.Sprint(firstProject), "author_id": s.person(), "body": words, "created_at": s.moment("n.i"), "updated_at": s.moment("n.i"),
		}
		for k, v := range extra {
			out[k] = v
		}
		return out
	}
	n, err := s.copies(ctx, "notes", "id", s.note, 0, s.noted*s.notesEach, common(expressions{
		"id": places(firstNote, "n.i"), "noteable_id": fmt.Sprintf("%d + n.i / %d", firstIssue+1, s.notesEach),
	}))
	if err != nil {
		return 0, err
	}
	more, err := s.copies(ctx, "notes", "id", s.note, n, n+s.longNote, common(expressions{
		"id": places(firstNote, "n.i"), "noteable_id": fmt.Sprint(firstIssue),
	}))
	return n + more, err
}

// templates makes one of everything through the server.
func (s *seeder) templates(ctx context.Context, root *api) error {
	user, err := root.post(ctx, "/users", map[string]any{
		"username": "member", "name": "Member", "email": "member@example.com", "password": "only-for-measuring-1", "skip_confirmation": true,
	})
	if err != nil {
		return err
	}
	group, err := root.post(ctx, "/groups", map[string]any{"name": "Template", "path": "template"})
	if err != nil {
		return err
	}
	project, err := root.post(ctx, "/projects", map[string]any{"name": "Template", "namespace_id": group.ID})
	if err != nil {
		return err
	}
	at := fmt.Sprintf("/projects/%d", project.ID)
	label, err := root.post(ctx, at+"/labels", map[string]any{"name": "template", "color": "#428BCA"})
	if err != nil {
		return err
	}
	issue, err := root.post(ctx, at+"/issues", map[string]any{"title": "Template", "description": strings.Repeat("What was seen and what was expected. ", 8)})
	if err != nil {
		return err
	}
	note, err := root.post(ctx, fmt.Sprintf("%s/issues/%d/notes", at, issue.IID), map[string]any{"body": "Template"})
	if err != nil {
		return err
	}
	// Branches that are not there yet are accepted.
	request, err := root.post(ctx, at+"/merge_requests", map[string]any{"source_branch": "topic", "target_branch": "main", "title": "Template"})
	if err != nil {
		return err
	}
	s.user, s.group, s.project, s.label = int64(user.ID), int64(group.ID), int64(project.ID), int64(label.ID)
	s.issue, s.note, s.request = int64(issue.ID), int64(note.ID), int64(request.ID)
	return nil
}

// seedScale fills the data folder of a server that does not run.
func seedScale(ctx context.Context, o options, data string, s *seeder) (err error) {
	address := o.database
	if address == "" {
		address = filepath.Join(data, "tenon.db")
	}
	if s.db, err = db.Open(ctx, db.Config{URL: address, Stall: time.Hour}); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.db.Close()) }()
	if s.place, err = db.Get[int64](ctx, s.db, "SELECT namespace_id FROM projects WHERE id = ?", s.project); err != nil {
		return err
	}
	if err := s.db.Loosely(ctx, func() error { return s.fill(ctx) }); err != nil {
		return err
	}
	return vacuum(ctx, o.database)
}

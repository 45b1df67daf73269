// Package scaletest fills a database with the rows of a large instance, by SQL, for
// measurements and for tests of the plans of lists. Every row is a copy of one that the
// server made.
package scaletest

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"tenon/internal/base/db"
)

// Size says how much there is of everything.
type Size struct {
	Users, Groups, Projects    int
	Issues, InLarge            int // all of them, and those in the large project
	Requests, RequestsInLarge  int
	Noted, NotesEach, LongNote int // issues with notes, notes of each, and of the first one
	Labels, Joined             int // labels of the large project, and groups that the member belongs to
	Milestones                 int // of the large project, which all its issues take turns to have; zero is none
}

// The sizes of measurements.
var (
	Whole = Size{
		Users: 10_000, Groups: 2_000, Projects: 100_000, Issues: 1_000_000, InLarge: 300_000,
		Requests: 200_000, RequestsInLarge: 100_000, Noted: 50_000, NotesEach: 8, LongNote: 5_000, Labels: 200, Joined: 50,
	}
	Quick = Size{
		Users: 1_000, Groups: 200, Projects: 5_000, Issues: 50_000, InLarge: 15_000,
		Requests: 10_000, RequestsInLarge: 5_000, Noted: 2_000, NotesEach: 8, LongNote: 1_000, Labels: 50, Joined: 50,
	}
)

// Rows that are copied begin at these ids, beyond those of the templates.
const (
	FirstUser      = 1_000
	FirstGroup     = 1_000_000 // as a namespace
	FirstPlace     = 2_000_000 // the namespaces of projects
	FirstProject   = 1_000
	FirstIssue     = 1_000
	FirstRequest   = 1_000
	FirstLabel     = 1_000
	FirstMilestone = 1_000
	FirstNote      = 1_000
)

// Seeder writes the rows. Templates comes first, then Fill.
type Seeder struct {
	Size
	// Step runs one part of Fill, which returns the number of its rows; nil runs it only.
	Step func(ctx context.Context, name string, run func(ctx context.Context) (int, error)) error
	// Member is the user who belongs to some groups; the templates are what the server made.
	Member int64

	db                                                            *db.DB
	group, place, project, issue, request, note, label, milestone int64 // templates; place is the project's namespace
}

// Made is what Templates reads of the answer of a request.
type Made struct {
	ID  int64 `json:"id"`
	IID int64 `json:"iid"`
}

// Post makes a request of an administrator.
type Post func(ctx context.Context, path string, body map[string]any) (Made, error)

// expressions give columns of a copy by the number n.i of the copy.
type expressions map[string]string

const batch = 50_000

// copies inserts rows from to before, counted from 0, as copies of a table's template.
func (s *Seeder) copies(ctx context.Context, table, key string, template int64, from, before int, set expressions) (int, error) {
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

func (s *Seeder) columns(ctx context.Context, table string) ([]string, error) {
	query := "SELECT name FROM pragma_table_info(?) ORDER BY cid"
	if s.db.Dialect() == db.Postgres {
		query = `SELECT CAST(column_name AS TEXT) FROM information_schema.columns
			WHERE table_name = ? AND table_schema = current_schema() ORDER BY ordinal_position`
	}
	return db.Select[string](ctx, s.db, query, table)
}

// moment is the time some seconds after the start of 2023.
func (s *Seeder) moment(seconds string) string {
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

// Fill writes everything, while no server runs that has not made all tables of today.
func (s *Seeder) Fill(ctx context.Context, d *db.DB) (err error) {
	s.db = d
	if s.place, err = db.Get[int64](ctx, d, "SELECT namespace_id FROM projects WHERE id = ?", s.project); err != nil {
		return err
	}
	if s.Step == nil {
		s.Step = func(ctx context.Context, _ string, run func(context.Context) (int, error)) error {
			_, err := run(ctx)
			return err
		}
	}
	steps := []struct {
		name string
		run  func(ctx context.Context) (int, error)
	}{
		{"users", s.fillUsers},
		{"groups", s.fillGroups},
		{"projects", s.fillProjects},
		{"labels", s.fillLabels},
		{"milestones", s.fillMilestones},
		{"issues", s.fillIssues},
		{"merge requests", s.fillRequests},
		{"notes", s.fillNotes},
	}
	for _, step := range steps {
		if err := s.Step(ctx, step.name, step.run); err != nil {
			return err
		}
	}
	for kind, last := range map[string]int{"issue": s.InLarge, "merge_request": s.RequestsInLarge, "milestone": s.Milestones} {
		if _, err := d.Exec(ctx, "INSERT INTO internal_ids (namespace_id, kind, last) VALUES (?, ?, ?)", FirstPlace, kind, last); err != nil {
			return err
		}
	}
	for _, table := range []string{"users", "emails", "namespaces", "members", "projects", "labels", "milestones", "issues", "merge_requests", "notes"} {
		if err := s.db.SyncIDs(ctx, table); err != nil {
			return err
		}
	}
	return nil
}

func (s *Seeder) fillUsers(ctx context.Context) (int, error) {
	n, err := s.copies(ctx, "users", "id", s.Member, 0, s.Users, expressions{
		"id": places(FirstUser, "n.i"), "username": "'person' || n.i", "username_fold": "'person' || n.i",
		"name": "'Person ' || n.i", "name_fold": "'person ' || n.i", "namespace_id": "NULL", "created_at": s.moment("n.i"),
	})
	if err != nil {
		return 0, err
	}
	_, err = s.db.Exec(ctx, `INSERT INTO emails (user_id, email, email_fold, is_primary, pending, confirmed_at, created_at, updated_at)
		SELECT id, username || '@example.com', username || '@example.com', true, false, created_at, created_at, created_at
		FROM users WHERE id >= ?`, FirstUser)
	return n, err
}

func (s *Seeder) fillGroups(ctx context.Context) (int, error) {
	return s.Groups, errors.Join(
		s.table(ctx, "namespaces", "id", s.group, s.Groups, expressions{
			"id": places(FirstGroup, "n.i"), "path": "'group' || n.i", "name": "'Group ' || n.i", "name_fold": "'group ' || n.i",
			"visibility": "CASE WHEN n.i % 5 = 0 THEN 20 ELSE 0 END",
		}),
		s.table(ctx, "groups", "namespace_id", s.group, s.Groups, expressions{"namespace_id": places(FirstGroup, "n.i")}),
		s.table(ctx, "routes", "namespace_id", s.group, s.Groups, expressions{
			"namespace_id": places(FirstGroup, "n.i"), "path": "'group' || n.i", "path_fold": "'group' || n.i", "name": "'Group ' || n.i",
		}),
		s.ancestors(ctx, places(FirstGroup, "n.i"), places(FirstGroup, "n.i"), 0, s.Groups),
		s.members(ctx),
	)
}

// members gives ten people to each group, and the member to the first ones.
func (s *Seeder) members(ctx context.Context) error {
	const insert = `INSERT INTO members (namespace_id, user_id, access_level, created_at, updated_at)
		WITH RECURSIVE n(i) AS (SELECT CAST(0 AS BIGINT) UNION ALL SELECT i + 1 FROM n WHERE i + 1 < ?) SELECT `
	now := s.moment("n.i")
	if _, err := s.db.Exec(ctx, insert+fmt.Sprintf("%d + n.i / 10, %d + (n.i * 7) %% %d, 30, %s, %s FROM n WHERE true ON CONFLICT DO NOTHING",
		FirstGroup, FirstUser, s.Users, now, now), s.Groups*10); err != nil {
		return fmt.Errorf("fill members: %w", err)
	}
	_, err := s.db.Exec(ctx, insert+fmt.Sprintf("%d + n.i, %d, 30, %s, %s FROM n", FirstGroup, s.Member, now, now), s.Joined)
	return err
}

// ancestors writes lines of the closure of the tree.
func (s *Seeder) ancestors(ctx context.Context, below, above string, depth, n int) error {
	_, err := s.db.Exec(ctx, fmt.Sprintf(`INSERT INTO namespace_ancestors (namespace_id, ancestor_id, depth)
		WITH RECURSIVE n(i) AS (SELECT CAST(0 AS BIGINT) UNION ALL SELECT i + 1 FROM n WHERE i + 1 < ?)
		SELECT %s, %s, %d FROM n`, below, above, depth), n)
	return err
}

// table is copies of the first n rows.
func (s *Seeder) table(ctx context.Context, name, key string, template int64, n int, set expressions) error {
	_, err := s.copies(ctx, name, key, template, 0, n, set)
	return err
}

func (s *Seeder) fillProjects(ctx context.Context) (int, error) {
	parent := fmt.Sprintf("%d + n.i %% %d", FirstGroup, s.Groups)
	path := fmt.Sprintf("'group' || (n.i %% %d) || '/project' || n.i", s.Groups)
	return s.Projects, errors.Join(
		s.table(ctx, "namespaces", "id", s.place, s.Projects, expressions{
			"id": places(FirstPlace, "n.i"), "parent_id": parent, "path": "'project' || n.i", "name": "'Project ' || n.i",
			"name_fold": "'project ' || n.i", "visibility": "CASE WHEN n.i % 5 = 0 THEN 20 ELSE 0 END",
		}),
		s.table(ctx, "routes", "namespace_id", s.place, s.Projects, expressions{
			"namespace_id": places(FirstPlace, "n.i"), "path": path, "path_fold": path,
			"name": fmt.Sprintf("'Group ' || (n.i %% %d) || ' / Project ' || n.i", s.Groups),
		}),
		s.ancestors(ctx, places(FirstPlace, "n.i"), places(FirstPlace, "n.i"), 0, s.Projects),
		s.ancestors(ctx, places(FirstPlace, "n.i"), parent, 1, s.Projects),
		s.table(ctx, "projects", "id", s.project, s.Projects, expressions{
			"id": places(FirstProject, "n.i"), "namespace_id": places(FirstPlace, "n.i"), "parent_id": parent,
			"name": "'Project ' || n.i", "name_fold": "'project ' || n.i", "path": "'project' || n.i",
			"created_at": s.moment("n.i"), "last_activity_at": s.moment(fmt.Sprintf("(n.i * 7919) %% %d", s.Projects)),
			"star_count": "n.i % 50",
		}),
	)
}

func (s *Seeder) fillLabels(ctx context.Context) (int, error) {
	return s.copies(ctx, "labels", "id", s.label, 0, s.Labels, expressions{
		"id": places(FirstLabel, "n.i"), "namespace_id": fmt.Sprint(FirstPlace),
		"title": "'label-' || n.i", "title_fold": "'label-' || n.i",
	})
}

func (s *Seeder) fillMilestones(ctx context.Context) (int, error) {
	return s.copies(ctx, "milestones", "id", s.milestone, 0, s.Milestones, expressions{
		"id": places(FirstMilestone, "n.i"), "iid": "n.i + 1", "namespace_id": fmt.Sprint(FirstPlace),
		"title": "'milestone-' || n.i", "title_fold": "'milestone-' || n.i",
	})
}

// spread returns the project of a thing: the first n are of the large one, which is the
// first, the others take turns.
func (s *Seeder) spread(n int) string {
	return fmt.Sprintf("CASE WHEN n.i < %d THEN %d ELSE %d + n.i %% %d END", n, FirstProject, FirstProject+1, s.Projects-1)
}

func (s *Seeder) iid(n int) string {
	return fmt.Sprintf("CASE WHEN n.i < %d THEN n.i + 1 ELSE n.i / %d + 1 END", n, s.Projects-1)
}

func (s *Seeder) person() string { return fmt.Sprintf("%d + (n.i * 31) %% %d", FirstUser, s.Users) }

// inMilestone returns the milestone of an issue.
func (s *Seeder) inMilestone() string {
	if s.Milestones == 0 {
		return "NULL"
	}
	return fmt.Sprintf("CASE WHEN n.i < %d THEN %d + (n.i + %d) %% %d END", s.InLarge, FirstMilestone, FirstIssue, s.Milestones)
}

func (s *Seeder) fillIssues(ctx context.Context) (int, error) {
	n, err := s.copies(ctx, "issues", "id", s.issue, 0, s.Issues, expressions{
		"id": places(FirstIssue, "n.i"), "iid": s.iid(s.InLarge), "project_id": s.spread(s.InLarge), "author_id": s.person(),
		"title": words, "title_fold": foldedWords,
		"state": "CASE WHEN n.i % 5 < 3 THEN 'closed' ELSE 'opened' END", "confidential": "n.i % 50 = 0",
		"created_at": s.moment("n.i * 60"), "updated_at": s.moment(fmt.Sprintf("((n.i * 7919) %% %d) * 60", s.Issues)),
		"relative_position": "n.i * 1073741824", "milestone_id": s.inMilestone(),
	})
	if err != nil {
		return 0, err
	}
	for _, query := range []string{
		fmt.Sprintf(`INSERT INTO issue_assignees (issue_id, user_id) SELECT id, %d + id %% %d FROM issues WHERE id >= %d AND id %% 3 = 0`,
			FirstUser, s.Users, FirstIssue),
		fmt.Sprintf(`INSERT INTO label_links (target_type, target_id, label_id) SELECT 'Issue', id, %d + id %% %d FROM issues
			WHERE id >= %d AND project_id = %d`, FirstLabel, s.Labels, FirstIssue, FirstProject),
		fmt.Sprintf(`INSERT INTO label_links (target_type, target_id, label_id) SELECT 'Issue', id, %d + id * 7 %% %d FROM issues
			WHERE id >= %d AND project_id = %d ON CONFLICT DO NOTHING`, FirstLabel, s.Labels, FirstIssue, FirstProject),
		fmt.Sprintf(`UPDATE projects SET open_issues_count = (SELECT count(*) FROM issues i WHERE i.project_id = projects.id AND i.state = 'opened')
			WHERE id >= %d`, FirstProject),
	} {
		if _, err := s.db.Exec(ctx, query); err != nil {
			return 0, err
		}
	}
	return n, nil
}

func (s *Seeder) fillRequests(ctx context.Context) (int, error) {
	at := s.spread(s.RequestsInLarge)
	return s.copies(ctx, "merge_requests", "id", s.request, 0, s.Requests, expressions{
		"id": places(FirstRequest, "n.i"), "iid": s.iid(s.RequestsInLarge), "target_project_id": at, "source_project_id": at,
		"author_id": s.person(), "title": words, "title_fold": foldedWords, "source_branch": "'topic-' || n.i",
		"state":      "CASE WHEN n.i % 10 < 8 THEN 'merged' ELSE 'opened' END",
		"created_at": s.moment("n.i * 60"), "updated_at": s.moment(fmt.Sprintf("((n.i * 7919) %% %d) * 60", s.Requests)),
	})
}

func (s *Seeder) fillNotes(ctx context.Context) (int, error) {
	common := func(extra expressions) expressions {
		out := expressions{
			"project_id": fmt.Sprint(FirstProject), "author_id": s.person(), "body": words, "created_at": s.moment("n.i"), "updated_at": s.moment("n.i"),
		}
		for k, v := range extra {
			out[k] = v
		}
		return out
	}
	n, err := s.copies(ctx, "notes", "id", s.note, 0, s.Noted*s.NotesEach, common(expressions{
		"id": places(FirstNote, "n.i"), "noteable_id": fmt.Sprintf("%d + n.i / %d", FirstIssue+1, s.NotesEach),
	}))
	if err != nil {
		return 0, err
	}
	more, err := s.copies(ctx, "notes", "id", s.note, n, n+s.LongNote, common(expressions{
		"id": places(FirstNote, "n.i"), "noteable_id": fmt.Sprint(FirstIssue),
	}))
	return n + more, err
}

// Templates makes one of everything through the server.
func (s *Seeder) Templates(ctx context.Context, post Post) error {
	user, err := post(ctx, "/users", map[string]any{
		"username": "member", "name": "Member", "email": "member@example.com", "password": "only-for-measuring-1", "skip_confirmation": true,
	})
	if err != nil {
		return err
	}
	group, err := post(ctx, "/groups", map[string]any{"name": "Template", "path": "template"})
	if err != nil {
		return err
	}
	project, err := post(ctx, "/projects", map[string]any{"name": "Template", "namespace_id": group.ID})
	if err != nil {
		return err
	}
	at := fmt.Sprintf("/projects/%d", project.ID)
	label, err := post(ctx, at+"/labels", map[string]any{"name": "template", "color": "#428BCA"})
	if err != nil {
		return err
	}
	milestone, err := post(ctx, at+"/milestones", map[string]any{"title": "template"})
	if err != nil {
		return err
	}
	issue, err := post(ctx, at+"/issues", map[string]any{"title": "Template", "description": strings.Repeat("What was seen and what was expected. ", 8)})
	if err != nil {
		return err
	}
	note, err := post(ctx, fmt.Sprintf("%s/issues/%d/notes", at, issue.IID), map[string]any{"body": "Template"})
	if err != nil {
		return err
	}
	// Branches that are not there yet are accepted.
	request, err := post(ctx, at+"/merge_requests", map[string]any{"source_branch": "topic", "target_branch": "main", "title": "Template"})
	if err != nil {
		return err
	}
	s.Member, s.group, s.project, s.label = user.ID, group.ID, project.ID, label.ID
	s.milestone = milestone.ID
	s.issue, s.note, s.request = issue.ID, note.ID, request.ID
	return nil
}

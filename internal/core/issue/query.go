package issue

import (
	"context"
	"strings"

	"tenon/internal/base/budget"
	"tenon/internal/base/db"
	"tenon/internal/base/page"
	"tenon/internal/core/authz"
	"tenon/internal/core/filter"
	"tenon/internal/core/namespace"
	"tenon/internal/core/project"
)

// columns are those of Issue but for the count of notes that the actor may read.
var columns = db.Columns[Issue]("i")

// short are the columns of issues that stand inside other things.
var short = strings.Replace(columns, "i.description", budget.CutColumn("i.description"), 1)

const (
	// tables are those of the columns, the project included.
	tables = "issues i JOIN projects p ON p.id = i.project_id"
	// Issues of many projects, with the namespaces of these where the actor does not see
	// all. SQLite reads the tables of a CROSS JOIN in their order, and so walks along the
	// order of the list.
	across    = "issues i CROSS JOIN projects p"
	withPlace = " CROSS JOIN namespaces n"
)

// texts are searched.
var texts = filter.Trigrams("issues")

// Indexed returns the texts that lists search.
func (s *Service) Indexed() db.Trigrams { return texts }

// scope is what a list reads from: the rows that the actor may see and the expression
// for the number of comments that it may read.
type scope struct {
	from      string
	where     db.Where
	notes     string
	notesArgs []any
}

// within makes the scope of a place.
func (s *Service) within(as authz.Actor, in authz.Place, f Filter) scope {
	var out scope
	s.ofEpic(&out.where, as, f)
	if in.IsProject() {
		subject := in.Subject
		out.from, out.notes = "issues i", "i.public_notes_count"
		if authz.SeesInternal(as, subject.Level) {
			out.notes = "i.notes_count"
		}
		out.where.And("i.project_id = ?", in.ID)
		if cond, args := authz.ConfidentialSQL(as, subject, "i"); cond != "true" {
			out.where.And(cond, args...)
		}
		return out
	}
	out.from = across
	out.where.Raw("p.id = i.project_id AND NOT p.pending_delete")
	if in.Group {
		out.where.And("p.namespace_id IN ("+inGroup(f.DirectOnly)+")", in.Namespace)
	}
	if f.NonArchived {
		out.where.Raw("NOT p.archived AND NOT " + namespace.InArchived("p.namespace_id"))
	}
	if as.Admin || as.Auditor {
		out.where.Raw("p.issues_access > 0")
		s.Policy.Within(as, "p.namespace_id", &out.where)
		out.notes, out.notesArgs = s.Policy.CountedSQL(as, "i", "p.namespace_id")
		return out
	}
	out.from += withPlace
	out.where.Raw("n.id = p.namespace_id")
	visible, args := s.Policy.VisibleProjectsSQL(as, "n")
	out.where.And(visible, args...)
	open, args := s.Policy.ConfidentialAnywhereSQL(as, "i", "n.id")
	out.where.And(open, args...)
	out.notes, out.notesArgs = s.Policy.CountedSQL(as, "i", "p.namespace_id")
	switch {
	case !as.SignedIn():
		out.where.Raw("p.issues_access >= 20")
	default:
		member, args := s.Policy.ReachSQL(as, authz.Guest)
		out.where.And("(p.issues_access >= 20 OR p.issues_access > 0 AND n.id IN ("+db.Shared(member)+"))", args...)
	}
	return out
}

// inGroup selects the namespaces below a group, or directly in it.
func inGroup(direct bool) string {
	if direct {
		return "SELECT id FROM namespaces WHERE parent_id = ?"
	}
	return "SELECT namespace_id AS id FROM namespace_ancestors WHERE ancestor_id = ?"
}

// list reads a page of a place's issues.
func (s *Service) list(ctx context.Context, as authz.Actor, in authz.Place, f Filter) (page.Page[Issue], error) {
	sc := s.within(as, in, f)
	q := page.Query{
		Columns: columns + ", " + sc.notes + " AS user_notes_count", ColumnArgs: sc.notesArgs, From: tables,
		Where: sc.where, Key: "i.id", Narrow: sc.from,
	}
	if in.IsProject() {
		q.Along = "i.created_at DESC, i.id DESC"
		q.Less = f.less(as, project.Of(in), sc)
	}
	f.sort(&q)
	if f.OrderBy == "blocking_issues" {
		q.Order = s.byBlocking(as)
		if !f.Asc {
			q.Order = q.Order.Desc()
		}
	}
	s.candidates(&q, as, in, f, sc)
	f.where(&q.Where, as, in, s.Now())
	list, err := page.Select[Issue](ctx, s.DB, q, f.Range)
	if err != nil {
		return list, err
	}
	return list, s.fill(ctx, as, list.Items)
}

// Statistics counts issues by state.
type Statistics struct {
	Opened int64 `db:"opened"`
	Closed int64 `db:"closed"`
}

// counts counts the issues of a place by state, whatever state the filter asks for. The open ones of a project are counted
// already, for a filter that asks for nothing else and an actor who may read all of them.
func (s *Service) counts(ctx context.Context, as authz.Actor, in authz.Place, f Filter) (Statistics, error) {
	f.State = ""
	sc := s.within(as, in, f)
	if in.IsProject() && f.plain(as) && !f.namesEpics() && authz.SeesConfidential(as, in.Subject) {
		sc.where.And("i.state = ?", StateClosed)
		return db.Get[Statistics](ctx, s.DB, "SELECT p.open_issues_count AS opened, (SELECT COUNT(*) FROM "+sc.from+sc.where.SQL()+") AS closed"+
			" FROM projects p WHERE p.id = ?", append(sc.where.Args(), in.ID)...)
	}
	f.where(&sc.where, as, in, s.Now())
	type row struct {
		State State `db:"state"`
		Count int64 `db:"n"`
	}
	rows, err := db.Select[row](ctx, s.DB, "SELECT i.state, count(*) AS n FROM "+sc.from+sc.where.SQL()+" GROUP BY i.state", sc.where.Args()...)
	var out Statistics
	for _, r := range rows {
		if r.State == StateClosed {
			out.Closed = r.Count
		} else {
			out.Opened = r.Count
		}
	}
	return out, err
}

// insert writes a new issue with its assignees.
func (s *Service) insert(ctx context.Context, i *Issue) error {
	if err := db.Create(ctx, s.DB, "issues", i); err != nil {
		return err
	}
	return s.assign(ctx, i.ID, i.Assignees)
}

func (s *Service) assign(ctx context.Context, id ID, users []authz.UserID) error {
	if len(users) == 0 {
		return nil
	}
	args := make([]any, 0, 2*len(users))
	for _, u := range users {
		args = append(args, id, u)
	}
	_, err := s.DB.Exec(ctx, "INSERT INTO issue_assignees (issue_id, user_id) VALUES "+
		strings.Repeat("(?, ?), ", len(users)-1)+"(?, ?) ON CONFLICT DO NOTHING", args...)
	return err
}

func (s *Service) unassign(ctx context.Context, id ID, users []authz.UserID) error {
	if len(users) == 0 {
		return nil
	}
	var w db.Where
	w.And("issue_id = ?", id)
	w.In("user_id", users)
	_, err := s.DB.Exec(ctx, "DELETE FROM issue_assignees"+w.SQL(), w.Args()...)
	return err
}

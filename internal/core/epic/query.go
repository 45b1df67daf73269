package epic

import (
	"context"
	"fmt"
	"strings"

	"tenon/internal/base/budget"
	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/base/page"
	"tenon/internal/core/authz"
	"tenon/internal/core/namespace"
	"tenon/internal/core/noteable"
)

var columns = db.Columns[Epic]("e") + ", r.path"

// short are the columns of epics that stand inside other things.
var short = strings.Replace(columns, "e.description", budget.CutColumn("e.description"), 1)

const tables = "epics e JOIN namespaces n ON n.id = e.group_id JOIN routes r ON r.namespace_id = e.group_id"

// row names the row of an epic for db.Update and db.ForUpdate.
func (s *Service) row(id ID) db.Row {
	return db.Row{Table: "epics", ID: id, Alias: "e", From: tables, Columns: columns, Now: s.Now, Missing: errs.Missing("")}
}

// readable adds that the actor may read an epic (e) of a group (n).
func (s *Service) readable(w *db.Where, as authz.Actor) {
	cond, args := s.Policy.ReadableEpicsSQL(as, "e", "n")
	w.And(cond, args...)
}

// ReadableSQL is a condition that holds where the actor may read the epic whose id is in
// column. The names of tables in it must not hide the one in column: re, rn.
func (s *Service) ReadableSQL(as authz.Actor, column string) (cond string, args []any) {
	cond, args = s.Policy.ReadableEpicsSQL(as, "re", "rn")
	return "EXISTS (SELECT 1 FROM epics re JOIN namespaces rn ON rn.id = re.group_id WHERE re.id = " + column + " AND " + cond + ")", args
}

// list reads a page of a group's epics.
func (s *Service) list(ctx context.Context, as authz.Actor, g *namespace.Group, f Filter) (page.Page[Epic], error) {
	return s.selected(ctx, as, of(g, f), f)
}

// of makes the condition that an epic (e) is in a group, or around it as a filter says.
func of(g *namespace.Group, f Filter) db.Where {
	var w db.Where
	switch {
	case f.Ancestors && f.Descendants:
		w.And("e.group_id IN "+namespace.AroundSQL, g.ID, g.ID)
	case f.Ancestors:
		w.And("e.group_id IN "+namespace.AboveSQL, g.ID)
	case f.Descendants:
		w.And("e.group_id IN "+namespace.InsideSQL, g.ID)
	default:
		w.And("e.group_id = ?", g.ID)
	}
	return w
}

// where adds the conditions of a filter, and that the actor may read the epic (e) of a group (n).
func (s *Service) where(w *db.Where, as authz.Actor, f Filter) {
	s.readable(w, as)
	if len(f.Parents) > 0 {
		w.In("e.parent_id", f.Parents)
		parents, args := s.ReadableSQL(as, "e.parent_id")
		w.And(parents, args...)
	}
	f.where(w, as, s.Now())
}

// selected reads a page of the epics that conditions and a filter choose.
func (s *Service) selected(ctx context.Context, as authz.Actor, w db.Where, f Filter) (page.Page[Epic], error) {
	s.where(&w, as, f)
	list, err := page.Select[Epic](ctx, s.DB, page.Query{Columns: columns, From: tables, Where: w, Order: f.order()}, f.Range)
	if err != nil {
		return list, err
	}
	return list, s.fill(ctx, as, list.Items)
}

// ByIDs returns those of the epics with these ids that the actor may read. It takes one statement
// each for the epics, labels, dates and parents.
func (s *Service) ByIDs(ctx context.Context, as authz.Actor, ids []ID) (map[ID]*Epic, error) {
	return s.byIDs(ctx, as, ids, columns)
}

// ShortByIDs is ByIDs for epics that stand inside other things, with descriptions cut by [budget.Cut].
func (s *Service) ShortByIDs(ctx context.Context, as authz.Actor, ids []ID) (map[ID]*Epic, error) {
	out, err := s.byIDs(ctx, as, ids, short)
	for _, e := range out {
		e.Description = budget.CutAt(e.Description)
	}
	return out, err
}

func (s *Service) byIDs(ctx context.Context, as authz.Actor, ids []ID, columns string) (map[ID]*Epic, error) {
	out := make(map[ID]*Epic, len(ids))
	may, err := s.Policy.Can(ctx, as, authz.ReadEpic, authz.Subject{})
	if err != nil || !may || len(ids) == 0 {
		return out, err
	}
	var w db.Where
	w.In("e.id", ids)
	s.readable(&w, as)
	list, err := db.Select[Epic](ctx, s.DB, "SELECT "+columns+" FROM "+tables+w.SQL(), w.Args()...)
	if err == nil {
		err = s.fill(ctx, as, list)
	}
	if err != nil {
		return nil, fmt.Errorf("epics by id: %w", err)
	}
	for i := range list {
		out[list[i].ID] = &list[i]
	}
	return out, nil
}

// fill reads what is in other tables: one statement each for the labels, the inherited dates
// and the parents, the last two where there are such.
func (s *Service) fill(ctx context.Context, as authz.Actor, epics []Epic) error {
	if len(epics) == 0 {
		return nil
	}
	if err := s.labelled(ctx, epics); err != nil {
		return err
	}
	if err := s.inherit(ctx, as, epics); err != nil {
		return err
	}
	return s.parents(ctx, as, epics)
}

// labelled reads the labels of epics.
func (s *Service) labelled(ctx context.Context, epics []Epic) error {
	ids := make([]int64, len(epics))
	for i := range epics {
		ids[i] = int64(epics[i].ID)
	}
	labels, err := s.Labels.ForTargets(ctx, noteable.Epic, ids)
	for i := range epics {
		epics[i].Labels = labels[ids[i]]
	}
	return err
}

// parents reads where the parents of epics are that the actor may read.
func (s *Service) parents(ctx context.Context, as authz.Actor, epics []Epic) error {
	var ids []ID
	for i := range epics {
		if id := epics[i].ParentID; id != nil {
			ids = append(ids, *id)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	type row struct {
		ID      ID                `db:"id"`
		IID     IID               `db:"iid"`
		GroupID authz.NamespaceID `db:"group_id"`
	}
	var w db.Where
	w.In("e.id", ids)
	s.readable(&w, as)
	found, err := db.Select[row](ctx, s.DB, "SELECT e.id, e.iid, e.group_id FROM epics e JOIN namespaces n ON n.id = e.group_id"+w.SQL()+" ORDER BY e.id", w.Args()...)
	if err != nil {
		return fmt.Errorf("parents of epics: %w", err)
	}
	byID := make(map[ID]*Address, len(found))
	for _, r := range found {
		byID[r.ID] = &Address{r.ID, r.IID, r.GroupID}
	}
	for i := range epics {
		if id := epics[i].ParentID; id != nil {
			epics[i].Parent = byID[*id]
		}
	}
	return nil
}

const (
	maxDepth   = 7      // epics from the outermost to the innermost child
	maxSources = 10_000 // epics whose dates one page of epics inherits; those beyond are left out
)

// inherit reads the dates that epics inherit from what the actor may read: the milestones of
// their issues and the dates of their children.
func (s *Service) inherit(ctx context.Context, as authz.Actor, epics []Epic) error {
	var ids []ID
	byID := map[ID]*Epic{}
	for i := range epics {
		ids, byID[epics[i].ID] = append(ids, epics[i].ID), &epics[i]
	}
	marks, args := db.Marks(ids)
	child, childArgs := s.Policy.ReadableEpicsSQL(as, "c", "n")
	issues, issueArgs := s.Deps.Issues.ReadableSQL(as, "x.issue_id")
	args = append(append(args, maxDepth), childArgs...)
	args = append(append(args, maxSources), issueArgs...)
	type row struct {
		ID    ID      `db:"id"`
		Start *string `db:"start_date"`
		Due   *string `db:"due_date"`
	}
	rows, err := db.Select[row](ctx, s.DB, `WITH RECURSIVE tree (root, id, starts, dues, start_date, due_date, depth) AS (
			SELECT e.id, e.id, true, true, CASE WHEN false THEN e.start_date_fixed END, CASE WHEN false THEN e.due_date_fixed END, 0 FROM epics e WHERE e.id IN (`+marks+`)
			UNION ALL
			SELECT t.root, c.id, t.starts AND NOT c.start_date_is_fixed, t.dues AND NOT c.due_date_is_fixed,
				CASE WHEN t.starts AND c.start_date_is_fixed THEN c.start_date_fixed END,
				CASE WHEN t.dues AND c.due_date_is_fixed THEN c.due_date_fixed END, t.depth + 1
			FROM tree t JOIN epics c ON c.parent_id = t.id JOIN namespaces n ON n.id = c.group_id
			WHERE t.depth < ? AND (t.starts OR t.dues) AND `+child+`
		), sources AS (SELECT root, id, starts, dues, start_date, due_date FROM tree LIMIT ?)
		SELECT y.root AS id, MIN(y.start_date) AS start_date, MAX(y.due_date) AS due_date FROM (
			SELECT root, start_date, due_date FROM sources
			UNION ALL
			SELECT x.root, CASE WHEN x.starts THEN m.start_date END, CASE WHEN x.dues THEN m.due_date END
			FROM (SELECT o.root, o.starts, o.dues, ei.issue_id FROM sources o JOIN epic_issues ei ON ei.epic_id = o.id) x
			JOIN issues xi ON xi.id = x.issue_id JOIN milestones m ON m.id = xi.milestone_id
			WHERE (m.start_date IS NOT NULL OR m.due_date IS NOT NULL) AND `+issues+`
		) y GROUP BY y.root ORDER BY y.root`, args...)
	if err != nil {
		return fmt.Errorf("dates of epics: %w", err)
	}
	for _, r := range rows {
		byID[r.ID].Inherited = Dates{r.Start, r.Due}
	}
	return nil
}

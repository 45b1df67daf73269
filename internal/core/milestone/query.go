package milestone

import (
	"context"
	"fmt"
	"strings"
	"time"

	"tenon/internal/base/budget"
	"tenon/internal/base/db"
	"tenon/internal/base/page"
	"tenon/internal/core/authz"
	"tenon/internal/core/namespace"
	"tenon/internal/core/project"
)

var columns = db.Columns[Milestone]("m") + ", p.id AS project_id, r.path"

// short are the columns with the description cut.
var short = strings.Replace(columns, "m.description", budget.CutColumn("m.description"), 1)

const tables = `milestones m JOIN namespaces n ON n.id = m.namespace_id
	JOIN routes r ON r.namespace_id = m.namespace_id LEFT JOIN projects p ON p.namespace_id = m.namespace_id`

// order is by due date; milestones without one come last, and of those that are due on the same day
// the newest first.
var order = page.Order{page.Text("due_date", "m.due_date").Null(), page.ID("m.id").Desc()}

// orders are the orders of a list.
var orders = page.Orders{
	"due_date":   order,
	"created_at": {page.Time("created_at", "m.created_at"), page.ID("m.id")},
	"updated_at": {page.Time("updated_at", "m.updated_at"), page.ID("m.id")},
}

// ExpiredLast is the order by due date with those that are over at the end, in both directions.
const ExpiredLast = "expired_last_due_date"

// sorting returns the order of a list on a day.
func (f Filter) sorting(today string) page.Order {
	var by page.Order
	switch f.OrderBy {
	case "":
		return order
	case ExpiredLast:
		over := page.Computed("(CASE WHEN m.due_date < ? THEN 1 ELSE 0 END)", today).Fixed()
		by = append(page.Order{over}, order...)
	default:
		by = orders.By(f.OrderBy)
	}
	if f.Asc {
		return by
	}
	return by.Desc()
}

// list reads a page of the milestones of a place.
func (s *Service) list(ctx context.Context, as authz.Actor, at authz.Place, f Filter) (page.Page[Milestone], error) {
	var w db.Where
	s.within(&w, as, at, f)
	if f.State != "" {
		w.And("m.state = ?", f.State)
	}
	if len(f.IIDs) > 0 && !f.Ancestors && !f.Descendants {
		w.In("m.iid", f.IIDs)
	}
	if f.Title != "" {
		w.And("m.title = ?", f.Title)
	}
	if len(f.IDs) > 0 {
		w.In("m.id", f.IDs)
	}
	f.search(&w)
	if f.From != "" {
		w.And("(m.start_date IS NULL OR m.start_date <= ?) AND (m.due_date IS NULL OR m.due_date >= ?)", f.To, f.From)
		w.Raw("(m.start_date IS NOT NULL OR m.due_date IS NOT NULL)")
	}
	w.Since("m.updated_at", f.UpdatedAfter)
	w.Until("m.updated_at", f.UpdatedBefore)
	return page.Select[Milestone](ctx, s.DB, page.Query{Columns: columns, From: tables, Where: w, Order: f.sorting(s.Now().UTC().Format(time.DateOnly))}, f.Range)
}

// within adds the places whose milestones are asked for. What is above a place is seen
// with it; what is below may be hidden.
func (s *Service) within(w *db.Where, as authz.Actor, at authz.Place, f Filter) {
	if !f.Descendants {
		if f.Ancestors {
			w.And("m.namespace_id IN "+namespace.AboveSQL, at.Namespace)
		} else {
			w.And("m.namespace_id = ?", at.Namespace)
		}
		return
	}
	visible, args := s.Policy.VisiblePlacesSQL(as, "n")
	if f.Ancestors {
		w.And("m.namespace_id IN "+namespace.AroundSQL, at.Namespace, at.Namespace)
	} else {
		w.And("m.namespace_id IN "+namespace.InsideSQL, at.Namespace)
	}
	w.And(visible, args...)
}

// row is a milestone of the place itself.
func (s *Service) row(at authz.Place, id ID) db.Row {
	r := db.Row{Table: "milestones", ID: id, Alias: "m", From: tables, Columns: columns, Now: s.Now}
	r.And.And("m.namespace_id = ?", at.Namespace)
	return r
}

// locked reads a milestone of a place itself and locks it until the transaction ends.
func (s *Service) locked(ctx context.Context, at authz.Place, id ID) (Milestone, error) {
	return db.ForUpdate[Milestone](ctx, s.DB, s.row(at, id))
}

// taken says what is wrong with the title of a milestone because of others, "" for nothing.
// A project's milestones have other titles than those of its group.
func (s *Service) taken(ctx context.Context, m *Milestone) (string, error) {
	spaces, err := db.Select[authz.NamespaceID](ctx, s.DB, `SELECT o.namespace_id FROM milestones o WHERE o.title = ? AND o.id <> ? AND (o.namespace_id = ?
		OR o.namespace_id = (SELECT n.parent_id FROM namespaces n WHERE n.id = ? AND n.kind = ?)
		OR o.namespace_id IN (SELECT n.id FROM namespaces n WHERE n.parent_id = ? AND n.kind = ?))
		ORDER BY CASE WHEN o.namespace_id = ? THEN 0 ELSE 1 END LIMIT 1`,
		m.Title, m.ID, m.NamespaceID, m.NamespaceID, namespace.ProjectKind, m.NamespaceID, namespace.ProjectKind, m.NamespaceID)
	switch {
	case err != nil:
		return "", fmt.Errorf("milestones of the title: %w", err)
	case len(spaces) == 0:
		return "", nil
	case spaces[0] == m.NamespaceID:
		return taken, nil
	}
	return "already being used for another group or project milestone.", nil
}

const taken = "has already been taken"

// ByIDs returns those of the milestones with these ids whose project or group the actor may
// read, in one statement. Long descriptions are cut.
func (s *Service) ByIDs(ctx context.Context, as authz.Actor, ids []ID) (map[ID]*Milestone, error) {
	return s.byIDs(ctx, as, ids, short)
}

// WholeByIDs is ByIDs with descriptions of any length.
func (s *Service) WholeByIDs(ctx context.Context, as authz.Actor, ids []ID) (map[ID]*Milestone, error) {
	return s.byIDs(ctx, as, ids, columns)
}

func (s *Service) byIDs(ctx context.Context, as authz.Actor, ids []ID, columns string) (map[ID]*Milestone, error) {
	out := make(map[ID]*Milestone, len(ids))
	may, err := s.Policy.Can(ctx, as, authz.ReadMilestone, authz.Subject{})
	if err != nil || !may || len(ids) == 0 {
		return out, err
	}
	var w db.Where
	w.In("m.id", ids)
	place, args := s.Policy.VisiblePlacesSQL(as, "n")
	w.And(place, args...)
	list, err := db.Select[Milestone](ctx, s.DB, "SELECT "+columns+" FROM "+tables+w.SQL(), w.Args()...)
	if err != nil {
		return nil, fmt.Errorf("milestones by id: %w", err)
	}
	for i := range list {
		if columns == short {
			list[i].Description = budget.CutAt(list[i].Description)
		}
		out[list[i].ID] = &list[i]
	}
	return out, nil
}

// Usable reports whether what is in a project may have the milestone: one of the
// project, or of a group above it.
func (s *Service) Usable(ctx context.Context, p *project.Project, id ID) (bool, error) {
	return namespace.Inherits(ctx, s.DB, p.NamespaceID, "milestones", int64(id))
}

// Chosen is the milestone that a request names for what is in a project: the id where it
// is usable there, 0 for 0, and nil where it is nil or unknown.
func (s *Service) Chosen(ctx context.Context, p *project.Project, id *ID) (*ID, error) {
	if id == nil || *id == 0 {
		return id, nil
	}
	usable, err := s.Usable(ctx, p, *id)
	if err != nil || !usable {
		return nil, err
	}
	return id, nil
}

package iteration

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"tenon/internal/base/budget"
	"tenon/internal/base/db"
	"tenon/internal/base/page"
	"tenon/internal/core/authz"
	"tenon/internal/core/namespace"
	"tenon/internal/core/project"
)

var columns = db.Columns[Iteration]("i") + ", r.path"

// short are the columns with the description cut.
var short = strings.Replace(columns, "i.description", budget.CutColumn("i.description"), 1)

const tables = `iterations i JOIN namespaces n ON n.id = i.namespace_id JOIN routes r ON r.namespace_id = i.namespace_id
	JOIN iteration_cadences c ON c.id = i.cadence_id`

// order is by due date.
var order = page.Order{page.Text("due_date", "i.due_date"), page.ID("i.id")}

// list reads a page of the iterations of a place.
func (s *Service) list(ctx context.Context, at authz.Place, f Filter) (page.Page[Iteration], error) {
	var w db.Where
	switch {
	case f.Ancestors:
		w.And("i.namespace_id IN "+namespace.AboveSQL, at.Namespace)
	case at.IsProject():
		w.And("i.namespace_id = (SELECT x.parent_id FROM namespaces x WHERE x.id = ?)", at.Namespace)
	default:
		w.And("i.namespace_id = ?", at.Namespace)
	}
	InState(&w, "i", f.State, s.Now())
	f.named(&w)
	f.search(&w)
	w.Since("i.updated_at", f.UpdatedAfter)
	w.Until("i.updated_at", f.UpdatedBefore)
	return page.Select[Iteration](ctx, s.DB, page.Query{Columns: columns, From: tables, Where: w, Order: f.order()}, f.Range)
}

// named adds what iterations are asked for by name.
func (f Filter) named(w *db.Where) {
	if len(f.IDs) > 0 {
		w.In("i.id", f.IDs)
	}
	if len(f.IIDs) > 0 {
		w.In("i.iid", f.IIDs)
	}
	if len(f.Cadences) > 0 {
		w.In("i.cadence_id", f.Cadences)
	}
	if f.Title != "" {
		w.And("i.title = ?", f.Title)
	}
	if f.From != "" {
		w.And("i.start_date <= ? AND i.due_date >= ?", f.To, f.From)
	}
}

// order returns the order of the list.
func (f Filter) order() page.Order {
	by := order
	if f.ByCadence {
		by = append(page.Order{page.Int("cadence_id", "i.cadence_id")}, order...)
	}
	if f.Desc {
		return by.Desc()
	}
	return by
}

// InState adds that iterations under an alias are in a state, "" for any.
func InState(w *db.Where, alias string, state State, now time.Time) {
	today := now.UTC().Format(time.DateOnly)
	switch state {
	case Opened:
		w.And(alias+".due_date >= ?", today)
	case Upcoming:
		w.And(alias+".start_date > ?", today)
	case Current:
		w.And(alias+".start_date <= ? AND "+alias+".due_date >= ?", today, today)
	case Closed:
		w.And(alias+".due_date < ?", today)
	}
}

func (f Filter) search(w *db.Where) {
	if f.Search == "" {
		return
	}
	in := f.In
	if len(in) == 0 {
		in = []string{"title"}
	}
	var alternatives []string
	for _, field := range []struct{ name, column string }{{"title", "i.title_fold"}, {"cadence_title", "c.title_fold"}} {
		if slices.Contains(in, field.name) {
			alternatives = append(alternatives, field.column+` LIKE ? ESCAPE '\'`)
		}
	}
	if len(alternatives) == 0 {
		w.Raw("1 = 0")
		return
	}
	args := make([]any, len(alternatives))
	for i := range args {
		args[i] = "%" + db.LikePattern(db.Fold(f.Search)) + "%"
	}
	w.And("("+strings.Join(alternatives, " OR ")+")", args...)
}

// ByIDs returns those of the iterations with these ids whose group the actor may read, in
// one statement. Long descriptions are cut.
func (s *Service) ByIDs(ctx context.Context, as authz.Actor, ids []ID) (map[ID]*Iteration, error) {
	return s.byIDs(ctx, as, ids, short)
}

// WholeByIDs is ByIDs with descriptions of any length.
func (s *Service) WholeByIDs(ctx context.Context, as authz.Actor, ids []ID) (map[ID]*Iteration, error) {
	return s.byIDs(ctx, as, ids, columns)
}

func (s *Service) byIDs(ctx context.Context, as authz.Actor, ids []ID, columns string) (map[ID]*Iteration, error) {
	out := make(map[ID]*Iteration, len(ids))
	may, err := s.Policy.Can(ctx, as, authz.ReadIteration, authz.Subject{})
	if err != nil || !may || len(ids) == 0 {
		return out, err
	}
	var w db.Where
	w.In("i.id", ids)
	place, args := s.Policy.VisiblePlacesSQL(as, "n")
	w.And(place, args...)
	list, err := db.Select[Iteration](ctx, s.DB, "SELECT "+columns+" FROM "+tables+w.SQL(), w.Args()...)
	if err != nil {
		return nil, fmt.Errorf("iterations by id: %w", err)
	}
	for i := range list {
		if columns == short {
			list[i].Description = budget.CutAt(list[i].Description)
		}
		out[list[i].ID] = &list[i]
	}
	return out, nil
}

// Chosen is the iteration that a request names for an issue of a project: the id where it is
// one of a group above it, 0 for 0, and nil where it is nil or unknown.
func (s *Service) Chosen(ctx context.Context, p *project.Project, id *ID) (*ID, error) {
	if id == nil || *id == 0 {
		return id, nil
	}
	if has, err := namespace.Inherits(ctx, s.DB, p.NamespaceID, "iterations", int64(*id)); err != nil || !has {
		return nil, err
	}
	return id, nil
}

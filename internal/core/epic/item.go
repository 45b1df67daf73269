package epic

import (
	"context"
	"fmt"

	"tenon/internal/base/page"
	"tenon/internal/core/authz"
	"tenon/internal/core/issue"
	"tenon/internal/core/namespace"
)

// Item is an epic or an issue: one of the two is nil.
type Item struct {
	Epic  *Epic
	Issue *issue.Issue
}

// Parts returns a page, by offset only, of the children and then the issues of an epic of a group
// that the actor may read, both in the order that users chose. The epic must have been read for the
// actor.
func (s *Service) Parts(ctx context.Context, as authz.Actor, g *namespace.Group, of *Epic, r page.Range) (page.Page[Item], error) {
	var none page.Page[Item]
	if r.Keyset {
		return none, page.ErrOrder
	}
	children, err := s.ChildrenOf(ctx, as, of, Filter{Range: page.Range{Limit: maxChildren, Uncounted: true}})
	if err != nil {
		return none, err
	}
	first := children.Items[min(r.Offset, len(children.Items)):]
	rest := page.Range{Limit: r.Limit, Offset: max(r.Offset-len(children.Items), 0), Uncounted: r.Uncounted}
	if r.Limit > 0 {
		first = first[:min(r.Limit, len(first))]
		rest.Limit = max(r.Limit-len(first), 1) // one for the count
	}
	issues, err := s.Deps.Issues.InEpic(ctx, as, g.Subject(), int64(of.IID), rest)
	if err != nil {
		return none, err
	}
	out := page.Page[Item]{Total: issues.Total, HasNext: issues.HasNext}
	if out.Total >= 0 {
		out.Total += len(children.Items)
	}
	for i := range first {
		out.Items = append(out.Items, Item{Epic: &first[i]})
	}
	for i := range issues.Items {
		if r.Limit > 0 && len(out.Items) == r.Limit {
			out.HasNext = true
			break
		}
		out.Items = append(out.Items, Item{Issue: &issues.Items[i]})
	}
	return out, nil
}

// ItemFilter selects issues and epics as one list. Their own orders and ranges do not matter.
type ItemFilter struct {
	Issues *issue.Filter // nil for none
	Epics  *Filter       // nil for none

	OrderBy string // created_at where empty, updated_at or title
	Asc     bool
	page.Range
}

// itemOrders are the orders of a list of issues and epics (w).
var itemOrders = page.Orders{
	"":           {page.Time("created_at", "w.created_at"), page.Int("kind", "w.kind"), page.ID("w.id")},
	"updated_at": {page.Time("updated_at", "w.updated_at"), page.Int("kind", "w.kind"), page.ID("w.id")},
	"title":      {page.Text("title", "w.title_fold"), page.Int("kind", "w.kind"), page.ID("w.id")},
}

// Items returns a page of the issues of a place and the epics of a group that the actor may read. It asks
// for the permissions of both lists.
func (s *Service) Items(ctx context.Context, as authz.Actor, in authz.Place, g *namespace.Group, f ItemFilter) (page.Page[Item], error) {
	switch {
	case f.Issues == nil && f.Epics == nil:
		return page.None[Item](f.Range), nil
	case f.Epics == nil:
		issues := *f.Issues
		issues.OrderBy, issues.Asc, issues.Range = f.OrderBy, f.Asc, f.Range
		list, err := s.Deps.Issues.List(ctx, as, in, issues)
		return page.Map(list, func(i *issue.Issue) Item { return Item{Issue: i} }), err
	case f.Issues == nil:
		epics := *f.Epics
		epics.OrderBy, epics.Asc, epics.Range = f.OrderBy, f.Asc, f.Range
		list, err := s.List(ctx, as, g, epics)
		return page.Map(list, func(e *Epic) Item { return Item{Epic: e} }), err
	}
	if err := s.Limits.CheckSearch(as, f.Issues.Search+f.Epics.Search); err != nil {
		return page.None[Item](f.Range), err
	}
	list, err := s.mixed(ctx, as, in, g, f)
	if err != nil {
		return list, fmt.Errorf("list issues and epics: %w", err)
	}
	return list, nil
}

// mixed reads a page of issues and epics.
func (s *Service) mixed(ctx context.Context, as authz.Actor, in authz.Place, g *namespace.Group, f ItemFilter) (page.Page[Item], error) {
	var none page.Page[Item]
	if err := s.Policy.Require(ctx, as, authz.ReadEpic, g.Subject()); err != nil {
		return none, err
	}
	issues, args, err := s.Deps.Issues.Selection(ctx, as, in, *f.Issues)
	if err != nil {
		return none, err
	}
	w := of(g, *f.Epics)
	s.where(&w, as, *f.Epics)
	order := itemOrders.By(f.OrderBy)
	if !f.Asc {
		order = order.Desc()
	}
	type row struct {
		Kind int64 `db:"kind"`
		ID   int64 `db:"id"`
	}
	rows, err := page.Select[row](ctx, s.DB, page.Query{
		Columns: "w.kind, w.id", Order: order, FromArgs: append(args[:len(args):len(args)], w.Args()...),
		From: "(SELECT 0 AS kind, x.id, x.created_at, x.updated_at, x.title_fold FROM (" + issues + `) x
			UNION ALL SELECT 1, e.id, e.created_at, e.updated_at, e.title_fold FROM ` + tables + w.SQL() + ") w",
	}, f.Range)
	if err != nil {
		return none, err
	}
	var issueIDs []issue.ID
	var epicIDs []ID
	for _, r := range rows.Items {
		if r.Kind == 0 {
			issueIDs = append(issueIDs, issue.ID(r.ID))
		} else {
			epicIDs = append(epicIDs, ID(r.ID))
		}
	}
	foundIssues, err := s.Deps.Issues.ByIDs(ctx, as, issueIDs)
	if err != nil {
		return none, err
	}
	foundEpics, err := s.ByIDs(ctx, as, epicIDs)
	if err != nil {
		return none, err
	}
	list := page.Map(rows, func(r *row) Item {
		if r.Kind == 0 {
			return Item{Issue: foundIssues[issue.ID(r.ID)]}
		}
		return Item{Epic: foundEpics[ID(r.ID)]}
	})
	return page.Without(list, func(i *Item) bool { return *i == Item{} }), nil
}

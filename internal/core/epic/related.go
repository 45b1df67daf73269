package epic

import (
	"context"
	"fmt"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/base/page"
	"tenon/internal/core/authz"
	"tenon/internal/core/filter"
	"tenon/internal/core/link"
	"tenon/internal/core/namespace"
)

// RelatedID identifies a link between two epics.
type RelatedID int64

// LinkType says how an epic relates to another.
type LinkType = link.Type

// The types of links.
const (
	RelatesTo = link.RelatesTo
	Blocks    = link.Blocks
	BlockedBy = link.BlockedBy
)

// Related is a link between two epics that the actor may read.
type Related struct {
	ID             RelatedID
	Type           LinkType // as seen from Source
	Source, Target *Epic
	CreatedAt      time.Time
	UpdatedAt      time.Time
}

// newRelated makes the link of a row.
func newRelated(r *link.Row[ID], source, target *Epic) *Related {
	return &Related{ID: RelatedID(r.ID), Type: r.Type, Source: source, Target: target, CreatedAt: r.CreatedAt.Time, UpdatedAt: r.UpdatedAt.Time}
}

var (
	links = link.Table[ID]{
		Links: "epic_links", Targets: "epics",
		Assigned: errs.New(errs.Conflict, "Epic(s) already assigned"),
		Full:     "This epic would exceed the maximum number of linked items.",
		Missing:  errNoLink,
	}
	relatedRows = filter.Rows{Alias: "l"}
	errNoLink   = &errs.Error{Kind: errs.NotFound, Bare: true, Message: "No Related Epic Link found"}
	errNoEpic   = &errs.Error{Kind: errs.NotFound, Bare: true, Message: "No matching epic found. Make sure that you are adding a valid epic URL."}
)

// Related lists the links of an epic with others that the actor may read, the oldest first.
// Source is always the epic itself, and Type says how it relates to Target.
func (s *Service) Related(ctx context.Context, as authz.Actor, g *namespace.Group, iid IID) ([]Related, error) {
	e, err := s.Find(ctx, as, g, iid)
	if err != nil {
		return nil, err
	}
	rows, err := links.Of(ctx, s.DB, e.ID)
	if err != nil {
		return nil, err
	}
	ids := make([]ID, len(rows))
	for i := range rows {
		ids[i] = rows[i].Other(e.ID)
	}
	others, err := s.ByIDs(ctx, as, ids)
	if err != nil {
		return nil, err
	}
	var out []Related
	for i := range rows {
		other := others[ids[i]]
		if other == nil {
			continue
		}
		l := newRelated(&rows[i], e, other)
		l.Type = rows[i].SeenFrom(e.ID)
		out = append(out, *l)
	}
	return out, nil
}

// RelatedFilter selects links between epics; the zero value selects all.
type RelatedFilter struct {
	filter.Times
	page.Range
}

// AllRelated returns a page of the links of epics of a group and its subgroups, as they are
// stored, where the actor may read both epics.
func (s *Service) AllRelated(ctx context.Context, as authz.Actor, g *namespace.Group, f RelatedFilter) (page.Page[Related], error) {
	var out page.Page[Related]
	if err := s.Policy.Require(ctx, as, authz.ReadEpic, g.Subject()); err != nil {
		return out, err
	}
	const inside = "SELECT ie.id FROM epics ie JOIN namespace_ancestors a ON a.namespace_id = ie.group_id WHERE a.ancestor_id = ?"
	var w db.Where
	w.And("(l.source_id IN ("+inside+") OR l.target_id IN ("+inside+"))", g.ID, g.ID)
	for _, column := range []string{"l.source_id", "l.target_id"} {
		readable, args := s.ReadableSQL(as, column)
		w.And(readable, args...)
	}
	relatedRows.Times(&w, f.Times)
	rows, err := page.Select[link.Row[ID]](ctx, s.DB, page.Query{
		Columns: links.Columns(), From: "epic_links l", Where: w, Order: page.Order{page.ID("l.id")},
	}, f.Range)
	if err != nil {
		return out, fmt.Errorf("list links of epics: %w", err)
	}
	ids := make([]ID, 0, 2*len(rows.Items))
	for _, r := range rows.Items {
		ids = append(ids, r.SourceID, r.TargetID)
	}
	epics, err := s.ByIDs(ctx, as, ids)
	if err != nil {
		return out, err
	}
	rows = page.Without(rows, func(r *link.Row[ID]) bool { return epics[r.SourceID] == nil || epics[r.TargetID] == nil })
	return page.Map(rows, func(r *link.Row[ID]) Related { return *newRelated(r, epics[r.SourceID], epics[r.TargetID]) }), nil
}

// Other names an epic of another group, or of the same.
type Other struct {
	Group string // id or path
	IID   IID
}

// Relate links an epic with another. It requires LinkEpic on both; where the actor has it on the
// first alone, the other is not found. A link in either direction is a Conflict.
func (s *Service) Relate(ctx context.Context, as authz.Actor, g *namespace.Group, iid IID, with Other, kind LinkType) (*Related, error) {
	e, err := s.linkable(ctx, as, g, iid)
	if err != nil {
		return nil, err
	}
	og, err := s.Namespaces.Find(ctx, as, with.Group)
	if err != nil {
		return nil, err
	}
	other, err := s.bare(ctx, as, og, with.IID)
	if errs.Is(err, errs.NotFound) {
		return nil, errNoEpic
	}
	if err != nil {
		return nil, err
	}
	may, err := s.Policy.Can(ctx, as, authz.LinkEpic, other.subject(as, og))
	switch {
	case err != nil:
		return nil, err
	case !may:
		return nil, errNoEpic
	case other.ID == e.ID:
		return nil, &errs.Error{Kind: errs.Unprocessable, Bare: true, Message: e.IID.Reference() + " cannot be added: cannot be related to itself"}
	}
	now := s.Now()
	r := link.New(e.ID, other.ID, kind, now)
	source, target := e, other
	if r.SourceID == other.ID {
		source, target = other, e
	}
	err = links.Add(ctx, s.DB, &r, func(ctx context.Context) error {
		return s.Bus.Publish(ctx, Linked{Stamp: as.Stamp(now), Type: r.Type, Source: *source, Target: *target})
	})
	if err != nil {
		return nil, err
	}
	return s.whole(ctx, as, &r)
}

// whole returns a link with both epics as the actor sees them.
func (s *Service) whole(ctx context.Context, as authz.Actor, r *link.Row[ID]) (*Related, error) {
	found, err := s.ByIDs(ctx, as, []ID{r.SourceID, r.TargetID})
	switch {
	case err != nil:
		return nil, err
	case found[r.SourceID] == nil, found[r.TargetID] == nil:
		return nil, errNoLink
	}
	return newRelated(r, found[r.SourceID], found[r.TargetID]), nil
}

// Unrelate removes a link of an epic and returns it. It requires LinkEpic on both epics; where the
// actor has it on the first alone, the link is not found.
func (s *Service) Unrelate(ctx context.Context, as authz.Actor, g *namespace.Group, iid IID, id RelatedID) (*Related, error) {
	e, err := s.linkable(ctx, as, g, iid)
	if err != nil {
		return nil, err
	}
	r, err := links.Find(ctx, s.DB, int64(id), e.ID, errNoLink)
	if err != nil {
		return nil, err
	}
	if _, _, err := s.anywhere(ctx, as, r.Other(e.ID)); err != nil {
		if errs.Is(err, errs.NotFound) || errs.Is(err, errs.Forbidden) {
			return nil, errNoLink
		}
		return nil, err
	}
	l, err := s.whole(ctx, as, r)
	if err != nil {
		return nil, err
	}
	err = links.Remove(ctx, as, s.DB, r.ID, func(ctx context.Context) error {
		return s.Bus.Publish(ctx, Unlinked{Stamp: as.Stamp(s.Now()), Type: r.Type, Source: *l.Source, Target: *l.Target})
	})
	if err != nil {
		return nil, err
	}
	return l, nil
}

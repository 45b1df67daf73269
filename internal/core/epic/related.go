package epic

import (
	"context"
	"errors"
	"fmt"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/base/page"
	"tenon/internal/core/authz"
	"tenon/internal/core/filter"
	"tenon/internal/core/namespace"
)

// RelatedID identifies a link between two epics.
type RelatedID int64

// LinkType says how an epic relates to another.
type LinkType string

// The types of links. A link that is stored has one of the first two.
const (
	RelatesTo LinkType = "relates_to"
	Blocks    LinkType = "blocks"
	BlockedBy LinkType = "is_blocked_by"
)

// maxRelated bounds the links of one epic with others.
const maxRelated = 100

// Related is a link between two epics that the actor may read.
type Related struct {
	ID             RelatedID
	Type           LinkType // as seen from Source
	Source, Target *Epic
	CreatedAt      time.Time
	UpdatedAt      time.Time
}

// relatedRow is a link between two epics as it is stored.
type relatedRow struct {
	ID        RelatedID `db:"id"`
	SourceID  ID        `db:"source_id"`
	TargetID  ID        `db:"target_id"`
	Type      LinkType  `db:"link_type"`
	CreatedAt db.Time   `db:"created_at"`
	UpdatedAt db.Time   `db:"updated_at"`
}

// link makes the link of a row.
func (r *relatedRow) link(source, target *Epic) *Related {
	return &Related{ID: r.ID, Type: r.Type, Source: source, Target: target, CreatedAt: r.CreatedAt.Time, UpdatedAt: r.UpdatedAt.Time}
}

// other is the end of the link that is not the epic with an id.
func (r *relatedRow) other(than ID) ID {
	if r.TargetID == than {
		return r.SourceID
	}
	return r.TargetID
}

var (
	relatedColumns = db.Columns[relatedRow]("l")
	relatedRows    = filter.Rows{Alias: "l"}
	errAssigned    = errs.New(errs.Conflict, "Epic(s) already assigned")
	errNoLink      = &errs.Error{Kind: errs.NotFound, Bare: true, Message: "No Related Epic Link found"}
	errNoEpic      = &errs.Error{Kind: errs.NotFound, Bare: true, Message: "No matching epic found. Make sure that you are adding a valid epic URL."}
)

// Related lists the links of an epic with others that the actor may read, the oldest first.
// Source is always the epic itself, and Type says how it relates to Target.
func (s *Service) Related(ctx context.Context, as authz.Actor, g *namespace.Group, iid IID) ([]Related, error) {
	e, err := s.Find(ctx, as, g, iid)
	if err != nil {
		return nil, err
	}
	rows, err := db.Select[relatedRow](ctx, s.db, "SELECT "+relatedColumns+` FROM epic_links l
		WHERE l.source_id = ? OR l.target_id = ? ORDER BY l.created_at, l.id LIMIT ?`, e.ID, e.ID, 2*maxRelated)
	if err != nil {
		return nil, fmt.Errorf("list related epics: %w", err)
	}
	ids := make([]ID, len(rows))
	for i := range rows {
		ids[i] = rows[i].other(e.ID)
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
		l := rows[i].link(e, other)
		if rows[i].Type == Blocks && rows[i].TargetID == e.ID {
			l.Type = BlockedBy
		}
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
	if err := s.policy.Require(ctx, as, authz.ReadEpic, g.Subject()); err != nil {
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
	rows, err := page.Select[relatedRow](ctx, s.db, page.Query{
		Columns: relatedColumns, From: "epic_links l", Where: w, Order: page.Order{page.ID("l.id")},
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
	rows = page.Without(rows, func(r *relatedRow) bool { return epics[r.SourceID] == nil || epics[r.TargetID] == nil })
	return page.Map(rows, func(r *relatedRow) Related { return *r.link(epics[r.SourceID], epics[r.TargetID]) }), nil
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
	og, err := s.namespaces.Find(ctx, as, with.Group)
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
	may, err := s.policy.Can(ctx, as, authz.LinkEpic, other.subject(as, og))
	switch {
	case err != nil:
		return nil, err
	case !may:
		return nil, errNoEpic
	case other.ID == e.ID:
		return nil, &errs.Error{Kind: errs.Unprocessable, Bare: true, Message: e.IID.Reference() + " cannot be added: cannot be related to itself"}
	}
	source, target := e, other
	if kind == BlockedBy {
		source, target, kind = other, e, Blocks
	}
	now := db.At(s.now())
	r := relatedRow{SourceID: source.ID, TargetID: target.ID, Type: kind, CreatedAt: now, UpdatedAt: now}
	err = s.db.InTx(ctx, func(ctx context.Context) error {
		if err := s.roomForLink(ctx, e.ID, other.ID); err != nil {
			return err
		}
		r.ID = 0
		id, err := db.Insert(ctx, s.db, "epic_links", &r)
		if err != nil {
			return err
		}
		r.ID = RelatedID(id)
		return s.bus.Publish(ctx, Linked{Stamp: as.Stamp(now.Time), Type: kind, Source: *source, Target: *target})
	})
	if errors.Is(err, db.ErrDuplicate) {
		return nil, errAssigned
	}
	if err != nil {
		return nil, errs.Wrap(err, "link epics")
	}
	return s.whole(ctx, as, &r)
}

// whole gives a link with both epics as the actor sees them.
func (s *Service) whole(ctx context.Context, as authz.Actor, r *relatedRow) (*Related, error) {
	found, err := s.ByIDs(ctx, as, []ID{r.SourceID, r.TargetID})
	switch {
	case err != nil:
		return nil, err
	case found[r.SourceID] == nil, found[r.TargetID] == nil:
		return nil, errNoLink
	}
	return r.link(found[r.SourceID], found[r.TargetID]), nil
}

// roomForLink locks two epics, the one with the smaller id first, and refuses a link between
// them where there is one already, or where one has as many as it may have.
func (s *Service) roomForLink(ctx context.Context, a, b ID) error {
	for _, id := range []ID{min(a, b), max(a, b)} {
		type key struct {
			ID ID `db:"id"`
		}
		if _, err := db.ForUpdate[key](ctx, s.db, db.Row{Table: "epics", ID: id}); errors.Is(err, db.ErrNotFound) {
			return errs.Missing("")
		} else if err != nil {
			return err
		}
	}
	type row struct {
		A    int64 `db:"a"`
		B    int64 `db:"b"`
		Both int64 `db:"pair"`
	}
	const of = "(SELECT COUNT(*) FROM epic_links WHERE source_id = ?) + (SELECT COUNT(*) FROM epic_links WHERE target_id = ?)"
	n, err := db.Get[row](ctx, s.db, "SELECT "+of+" AS a, "+of+` AS b, (SELECT COUNT(*) FROM epic_links
		WHERE source_id = ? AND target_id = ? OR source_id = ? AND target_id = ?) AS pair`, a, a, b, b, a, b, b, a)
	switch {
	case err != nil:
		return err
	case n.Both > 0:
		return errAssigned
	case n.A >= maxRelated || n.B >= maxRelated:
		return &errs.Error{Kind: errs.Unprocessable, Bare: true, Message: "This epic would exceed the maximum number of linked items."}
	}
	return nil
}

// Unrelate removes a link of an epic and returns it. It requires LinkEpic on both epics; where the
// actor has it on the first alone, the link is not found.
func (s *Service) Unrelate(ctx context.Context, as authz.Actor, g *namespace.Group, iid IID, id RelatedID) (*Related, error) {
	e, err := s.linkable(ctx, as, g, iid)
	if err != nil {
		return nil, err
	}
	r, err := db.Get[relatedRow](ctx, s.db, "SELECT "+relatedColumns+" FROM epic_links l WHERE l.id = ? AND (l.source_id = ? OR l.target_id = ?)", id, e.ID, e.ID)
	if errors.Is(err, db.ErrNotFound) {
		return nil, errNoLink
	}
	if err != nil {
		return nil, fmt.Errorf("find link of epic: %w", err)
	}
	if _, _, err := s.anywhere(ctx, as, r.other(e.ID)); err != nil {
		if errs.Is(err, errs.NotFound) || errs.Is(err, errs.Forbidden) {
			return nil, errNoLink
		}
		return nil, err
	}
	l, err := s.whole(ctx, as, &r)
	if err != nil {
		return nil, err
	}
	err = s.db.InTx(ctx, func(ctx context.Context) error {
		if err := as.Unmodified(ctx, s.db, "SELECT updated_at FROM epic_links WHERE id = ?", r.ID); err != nil {
			return err
		}
		n, err := s.db.Exec(ctx, "DELETE FROM epic_links WHERE id = ?", r.ID)
		if err != nil {
			return err
		}
		if n == 0 {
			return errNoLink
		}
		return s.bus.Publish(ctx, Unlinked{Stamp: as.Stamp(s.now()), Type: r.Type, Source: *l.Source, Target: *l.Target})
	})
	if err != nil {
		return nil, errs.Wrap(err, "unlink epics")
	}
	return l, nil
}

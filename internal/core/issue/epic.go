package issue

import (
	"context"
	"fmt"

	"tenon/internal/base/db"
	"tenon/internal/base/page"
	"tenon/internal/core/authz"
	"tenon/internal/core/filter"
	"tenon/internal/core/project"
)

// Epic is the epic that an issue is in, as far as issues need to know of it.
type Epic struct {
	ID       int64
	IID      int64
	GroupID  authz.NamespaceID
	Path     string // full path of the group
	Title    string
	LinkID   int64 // of the issue in the epic
	Position int64 // orders the issues of the epic
}

// EpicChoice names the epic that an issue shall be in: by its id, or by its number in the group of
// the issue's project. The zero value is none.
type EpicChoice struct{ ID, IID int64 }

// Epics puts issues into epics. The package of epics implements it.
type Epics interface {
	// Assign puts an issue into an epic, or takes it out of the one that it is in, in the caller's
	// transaction, and notes that in it. It returns NotFound for an epic that the actor may not read.
	Assign(ctx context.Context, as authz.Actor, p *project.Project, i *Issue, to EpicChoice) error
}

// EpicFilter selects issues by their epic, as far as the actor may read it; the zero value selects
// all.
type EpicFilter struct {
	ID    int64
	Which filter.Wildcard

	// Or by its number in a group.
	Group authz.NamespaceID
	IID   int64
}

// inEpic is the order of the issues of one epic.
const inEpic = "epic_position"

// epic is the epic that a row is about.
func (o *other) epic() *Epic {
	return &Epic{ID: o.Value, IID: int64(o.IID), GroupID: o.GroupID, Path: o.Path, Title: o.Title, LinkID: o.LinkID, Position: o.Position}
}

// ofEpic adds the conditions on epics to a row of issues (i).
func (s *Service) ofEpic(w *db.Where, as authz.Actor, f Filter) {
	if !f.namesEpics() {
		return
	}
	readable, args := s.Policy.ReadableEpicsSQL(as, "fe", "fn")
	planned := "i.id IN (SELECT fi.issue_id FROM epic_issues fi JOIN epics fe ON fe.id = fi.epic_id JOIN namespaces fn ON fn.id = fe.group_id WHERE " + readable
	with := func(more ...any) []any { return append(args[:len(args):len(args)], more...) }
	if f.Epic.ID != 0 {
		w.And(planned+" AND fe.id = ?)", with(f.Epic.ID)...)
	}
	if len(f.Epics) > 0 {
		marks, ids := db.Marks(f.Epics)
		w.And(planned+" AND fe.id IN ("+marks+"))", with(ids...)...)
	}
	if f.Epic.Group != 0 {
		w.And(planned+" AND fe.group_id = ? AND fe.iid = ?)", with(f.Epic.Group, f.Epic.IID)...)
	}
	f.Epic.Which.Where(w, planned+")", args...)
	if f.Not.Epic != 0 {
		w.And("NOT "+planned+" AND fe.id = ?)", with(f.Not.Epic)...)
	}
}

// InEpic returns a page of the issues of a group's epic that the actor may read, in the order of the
// epic. There are none where the actor may not read the epic.
func (s *Service) InEpic(ctx context.Context, as authz.Actor, group authz.Subject, iid int64, r page.Range) (page.Page[Issue], error) {
	if err := s.Policy.Require(ctx, as, authz.ReadEpic, group); err != nil {
		return page.Page[Issue]{}, err
	}
	f := Filter{Epic: EpicFilter{Group: group.Namespace, IID: iid}, OrderBy: inEpic, Asc: true, Range: r}
	sc := s.within(as, authz.Place{}, f)
	list, err := page.Select[Issue](ctx, s.DB, page.Query{
		Columns: columns + ", " + sc.notes + " AS user_notes_count", ColumnArgs: sc.notesArgs, From: tables,
		Where: sc.where, Order: f.order(), Key: "i.id", Narrow: sc.from,
	}, r)
	if err == nil {
		err = s.fill(ctx, as, list.Items)
	}
	if err != nil {
		return list, fmt.Errorf("issues of epic: %w", err)
	}
	return list, nil
}

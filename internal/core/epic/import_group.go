package epic

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/core/authz"
	"tenon/internal/core/namespace"
	"tenon/internal/core/tree"
)

func (s *Service) groupWriters() []tree.Writer {
	return []tree.Writer{tree.Write("epics", s.importAll), tree.Write("parent_epic", s.importParents)}
}

// imported is an epic of a group that is imported, with the one above it.
type imported struct {
	exported
	Parent *int64 `child:"parent_epic"`
}

// importParents finds or makes the epics above others. One of another group is found where that was imported before.
func (s *Service) importParents(ctx context.Context, w *tree.Writing, rows []*tree.Row[exported]) error {
	own, states := make([]imported, 0, len(rows)), make([]*tree.State, 0, len(rows))
	for _, r := range rows {
		if w.Owns(&r.Value.GroupID) {
			own, states = append(own, imported{exported: *r.Value}), append(states, r.State)
			continue
		}
		group, ok := w.Groups[r.Value.GroupID]
		if !ok {
			r.Lose("its group is not imported before")
			continue
		}
		found, err := s.numbered(ctx, group, []IID{IID(r.Value.IID)})
		if err != nil {
			return err
		}
		if e, ok := found[IID(r.Value.IID)]; ok {
			r.Merge(int64(e.ID))
		} else {
			r.Lose("the epic is not there")
		}
	}
	return s.importRows(ctx, w, own, states)
}

func (s *Service) importAll(ctx context.Context, w *tree.Writing, rows []*tree.Row[imported]) error {
	values, states := make([]imported, len(rows)), make([]*tree.State, len(rows))
	for i, r := range rows {
		values[i], states[i] = *r.Value, r.State
	}
	return s.importRows(ctx, w, values, states)
}

// importRows writes epics of the group, those that are there already left as they are but for the epic above.
func (s *Service) importRows(ctx context.Context, w *tree.Writing, rows []imported, states []*tree.State) error {
	iids := make([]IID, len(rows))
	for i := range rows {
		iids[i] = IID(rows[i].IID)
	}
	known, err := s.numbered(ctx, w.At.Namespace, iids)
	if err != nil {
		return err
	}
	var made []Epic
	var of [][]*tree.State // rows that are one epic
	places, highest := map[IID]int{}, int64(0)
	type bond struct {
		state  *tree.State
		parent *int64
	}
	var bonds []bond
	for i := range rows {
		e, state := rows[i].epic(w), states[i]
		if e.IID <= 0 {
			state.Fail("iid is not positive")
			continue
		}
		bonds = append(bonds, bond{state, rows[i].Parent})
		if there, ok := known[e.IID]; ok {
			state.Merge(int64(there.ID))
			continue
		}
		if at, ok := places[e.IID]; ok {
			of[at] = append(of[at], state)
			continue
		}
		if err := e.validate(); err != nil {
			state.Fail(err.Error())
			bonds = bonds[:len(bonds)-1]
			continue
		}
		if state.Unmatched("author_id") {
			state.Change(state.NotFound("its author", "author_id"))
		}
		places[e.IID], highest = len(made), max(highest, int64(e.IID))
		made, of = append(made, e), append(of, []*tree.State{state})
	}
	if highest > 0 {
		if err := namespace.RaiseIID(ctx, s.DB, w.At.Namespace, namespace.KindEpic, highest); err != nil {
			return err
		}
	}
	ids, err := db.InsertAll(ctx, s.DB, "epics", made)
	if err != nil {
		return fmt.Errorf("insert epics: %w", err)
	}
	for i, id := range ids {
		of[i][0].ID = id
		for _, again := range of[i][1:] {
			again.Merge(id)
		}
	}
	for _, b := range bonds {
		if b.parent == nil || *b.parent == 0 {
			continue
		}
		err := s.fits(ctx, ID(b.state.ID), ID(*b.parent))
		if _, refused := errors.AsType[*errs.Error](err); refused {
			b.state.Change(err.Error())
			continue
		}
		if err == nil {
			_, err = s.DB.Exec(ctx, "UPDATE epics SET parent_id = ? WHERE id = ? AND parent_id IS NULL", *b.parent, b.state.ID)
		}
		if err != nil {
			return fmt.Errorf("epic above: %w", err)
		}
	}
	return nil
}

// epic is the epic that a row describes.
func (e *exported) epic(w *tree.Writing) Epic {
	out := Epic{
		IID: IID(e.IID), GroupID: w.At.Namespace, AuthorID: authz.UserID(e.AuthorID), Position: e.Position, Title: e.Title, Description: e.Description,
		State: State(e.State), Confidential: e.Confidential, Color: e.Color, StartIsFixed: e.StartDateIsFixed, StartFixed: e.StartDateFixed,
		DueIsFixed: e.DueDateIsFixed, DueFixed: e.DueDateFixed, CreatedAt: e.CreatedAt, UpdatedAt: e.UpdatedAt, Origin: w.Origin(),
	}
	if out.Color == "" {
		out.Color = defaultColor
	}
	if out.State == StateClosed {
		out.ClosedAt, out.ClosedByID = e.ClosedAt, (*authz.UserID)(e.ClosedByID)
		if out.ClosedAt == nil {
			out.ClosedAt = &out.UpdatedAt
		}
	}
	return out
}

// numbered finds epics of a group by their numbers.
func (s *Service) numbered(ctx context.Context, group authz.NamespaceID, iids []IID) (map[IID]Epic, error) {
	slices.Sort(iids)
	var w db.Where
	w.And("e.group_id = ?", group)
	w.In("e.iid", slices.Compact(iids))
	found, err := db.Select[Epic](ctx, s.DB, "SELECT "+columns+" FROM "+tables+w.SQL()+" ORDER BY e.iid", w.Args()...)
	if err != nil {
		return nil, fmt.Errorf("epics by number: %w", err)
	}
	out := make(map[IID]Epic, len(found))
	for i := range found {
		out[found[i].IID] = found[i]
	}
	return out, nil
}

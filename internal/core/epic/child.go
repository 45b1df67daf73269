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
)

// maxChildren bounds the children of one epic.
const maxChildren = 100

// children is the sequence of an epic's children.
func children(of ID) sequence { return sequence{table: "epics", epic: "parent_id", id: of} }

// Children lists the children of an epic that the actor may read in their order.
func (s *Service) Children(ctx context.Context, as authz.Actor, g *namespace.Group, iid IID) ([]Epic, error) {
	e, err := s.bare(ctx, as, g, iid)
	if err != nil {
		return nil, err
	}
	var w db.Where
	w.And("e.parent_id = ?", e.ID)
	s.readable(&w, as)
	list, err := db.Select[Epic](ctx, s.DB, "SELECT "+columns+" FROM "+tables+w.SQL()+" ORDER BY e.relative_position, e.id LIMIT ?", append(w.Args(), maxChildren)...)
	if err == nil {
		err = s.fill(ctx, as, list)
	}
	return list, errs.Wrap(err, "children of epic")
}

// AddChild makes an epic with an id, of any group, a child of another one. It requires LinkEpic on
// both.
func (s *Service) AddChild(ctx context.Context, as authz.Actor, g *namespace.Group, iid IID, child ID) (*Epic, error) {
	parent, err := s.linkable(ctx, as, g, iid)
	if err != nil {
		return nil, err
	}
	c, cg, err := s.anywhere(ctx, as, child)
	if err != nil {
		return nil, err
	}
	if c.ParentID != nil && *c.ParentID == parent.ID {
		return nil, links.Assigned
	}
	if err := s.DB.InTx(ctx, func(ctx context.Context) error { return s.move(ctx, as, c, cg, parent.ID) }); err != nil {
		return nil, errs.Wrap(err, "add child epic")
	}
	return s.Find(ctx, as, cg, c.IID)
}

// CreateChild makes an epic in the group of another one, as its child. It requires LinkEpic as well.
func (s *Service) CreateChild(ctx context.Context, as authz.Actor, g *namespace.Group, iid IID, in Input) (*Epic, error) {
	parent, err := s.linkable(ctx, as, g, iid)
	if err != nil {
		return nil, err
	}
	in.ParentID = parent.ID
	return s.Create(ctx, as, g, in)
}

// SetParent makes an epic of a group the child of another one, 0 for none. It requires LinkEpic on
// both.
func (s *Service) SetParent(ctx context.Context, as authz.Actor, g *namespace.Group, iid IID, parent ID) (*Epic, error) {
	e, err := s.linkable(ctx, as, g, iid)
	if err != nil {
		return nil, err
	}
	if parent != 0 && e.ParentID != nil && *e.ParentID == parent {
		return nil, links.Assigned
	}
	if err := s.DB.InTx(ctx, func(ctx context.Context) error { return s.move(ctx, as, e, g, parent) }); err != nil {
		return nil, errs.Wrap(err, "set parent of epic")
	}
	return s.Find(ctx, as, g, iid)
}

// RemoveChild takes a child out of an epic and returns it. It requires LinkEpic on the parent.
func (s *Service) RemoveChild(ctx context.Context, as authz.Actor, g *namespace.Group, iid IID, child ID) (*Epic, error) {
	_, c, cg, err := s.childOf(ctx, as, g, iid, child)
	if err != nil {
		return nil, err
	}
	if err := s.DB.InTx(ctx, func(ctx context.Context) error { return s.move(ctx, as, c, cg, 0) }); err != nil {
		return nil, errs.Wrap(err, "remove child epic")
	}
	return s.Find(ctx, as, cg, c.IID)
}

// ReorderChild puts a child of an epic beside other children. It requires LinkEpic on the parent,
// and returns NotFound where the others are no children of it that the actor may read.
func (s *Service) ReorderChild(ctx context.Context, as authz.Actor, g *namespace.Group, iid IID, child ID, at Beside[ID]) error {
	parent, c, _, err := s.childOf(ctx, as, g, iid, child)
	if err != nil {
		return err
	}
	for _, id := range []ID{at.Before, at.After} {
		if id == 0 {
			continue
		}
		if other, err := s.read(ctx, as, id); err != nil || other.ParentID == nil || *other.ParentID != parent.ID {
			return errs.Missing("")
		}
	}
	row := s.row(c.ID)
	row.Now = nil // its own text is as it was
	_, err = db.Update(ctx, s.DB, row.Provided(as.UnmodifiedAt), func(ctx context.Context, e *Epic) (err error) {
		e.Position, err = s.between(ctx, children(parent.ID), int64(c.ID), int64(at.Before), int64(at.After))
		return err
	})
	return errs.Wrap(err, "reorder child epic")
}

// linkable finds an epic of a group for an actor who may link it.
func (s *Service) linkable(ctx context.Context, as authz.Actor, g *namespace.Group, iid IID) (*Epic, error) {
	e, err := s.bare(ctx, as, g, iid)
	if err != nil {
		return nil, err
	}
	return e, s.Policy.Require(ctx, as, authz.LinkEpic, e.subject(as, g))
}

// read returns the epic with an id that the actor may read.
func (s *Service) read(ctx context.Context, as authz.Actor, id ID) (*Epic, error) {
	var w db.Where
	w.And("e.id = ?", id)
	s.readable(&w, as)
	e, err := db.Get[Epic](ctx, s.DB, "SELECT "+columns+" FROM "+tables+w.SQL(), w.Args()...)
	if errors.Is(err, db.ErrNotFound) {
		return nil, errs.Missing("Epic")
	}
	return &e, errs.Wrap(err, "find epic")
}

// anywhere finds an epic by its id, in any group, for an actor who may link it.
func (s *Service) anywhere(ctx context.Context, as authz.Actor, id ID) (*Epic, *namespace.Group, error) {
	e, err := s.read(ctx, as, id)
	if err != nil {
		return nil, nil, err
	}
	g, err := s.Namespaces.FindByID(ctx, as, e.GroupID)
	if err != nil {
		return nil, nil, err
	}
	return e, g, s.Policy.Require(ctx, as, authz.LinkEpic, e.subject(as, g))
}

// childOf finds a child of an epic for an actor who may link the epic.
func (s *Service) childOf(ctx context.Context, as authz.Actor, g *namespace.Group, iid IID, child ID) (parent, c *Epic, cg *namespace.Group, err error) {
	if parent, err = s.linkable(ctx, as, g, iid); err != nil {
		return nil, nil, nil, err
	}
	if c, err = s.read(ctx, as, child); err != nil {
		return nil, nil, nil, err
	}
	if c.ParentID == nil || *c.ParentID != parent.ID {
		return nil, nil, nil, errs.Missing("")
	}
	cg, err = s.Namespaces.FindByID(ctx, as, c.GroupID)
	return parent, c, cg, err
}

// move gives an epic another parent, 0 for none, in the caller's transaction. It requires LinkEpic
// on the new one.
func (s *Service) move(ctx context.Context, as authz.Actor, e *Epic, g *namespace.Group, to ID) error {
	var parent *Epic
	var pg *namespace.Group
	var err error
	if to != 0 {
		if parent, pg, err = s.anywhere(ctx, as, to); err != nil {
			return err
		}
	}
	if e.ParentID == nil && to == 0 || e.ParentID != nil && *e.ParentID == to {
		return nil
	}
	former, formerGroup, err := s.formerParent(ctx, e)
	if err != nil {
		return err
	}
	if parent != nil {
		if err := s.fits(ctx, e.ID, parent.ID); err != nil {
			return err
		}
	}
	out, err := db.Update(ctx, s.DB, s.row(e.ID).Provided(as.UnmodifiedAt), func(ctx context.Context, e *Epic) error {
		if e.ParentID = nil; parent == nil {
			return nil
		}
		var err error
		e.ParentID = &parent.ID
		e.Position, err = s.first(ctx, children(parent.ID))
		return err
	})
	if err != nil {
		return err
	}
	e.ParentID = out.After.ParentID
	stamp := as.Stamp(s.Now())
	if former != nil {
		gone := ChildRemoved{Stamp: stamp, Parent: *former, Child: *e, ParentGroup: formerGroup, ChildGroup: g}
		if err := s.Bus.Publish(ctx, gone); err != nil {
			return err
		}
	}
	if parent == nil {
		return nil
	}
	return s.Bus.Publish(ctx, ChildAdded{Stamp: stamp, Parent: *parent, Child: *e, ParentGroup: pg, ChildGroup: g})
}

// adopt gives an epic that was just made its parent; 0 is none.
func (s *Service) adopt(ctx context.Context, as authz.Actor, parent ID, e *Epic, g *namespace.Group) error {
	if parent == 0 {
		return nil
	}
	return s.move(ctx, as.Unconditional(), e, g, parent)
}

// formerParent reads the parent that an epic is about to lose, for the events; nil for none.
func (s *Service) formerParent(ctx context.Context, e *Epic) (*Epic, *namespace.Group, error) {
	if e.ParentID == nil {
		return nil, nil, nil
	}
	parent, err := db.Get[Epic](ctx, s.DB, "SELECT "+columns+" FROM "+tables+" WHERE e.id = ?", *e.ParentID)
	if errors.Is(err, db.ErrNotFound) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, fmt.Errorf("parent of epic: %w", err)
	}
	return &parent, &namespace.Group{ID: parent.GroupID, FullPath: parent.Path}, nil
}

// fits checks that an epic may become a child of another one, and locks the epics above it.
func (s *Service) fits(ctx context.Context, child, parent ID) error {
	const up = `WITH RECURSIVE up (id, depth) AS (
			SELECT e.id, 1 FROM epics e WHERE e.id = ?
			UNION ALL SELECT e.parent_id, up.depth + 1 FROM up JOIN epics e ON e.id = up.id WHERE e.parent_id IS NOT NULL AND up.depth <= ?
		) SELECT id FROM up ORDER BY depth`
	above, err := db.Select[ID](ctx, s.DB, up, parent, maxDepth)
	if err != nil {
		return fmt.Errorf("epics above: %w", err)
	}
	marks, args := db.Marks(append(slices.Clone(above), child))
	if _, err := db.Select[ID](ctx, s.DB, "SELECT id FROM epics WHERE id IN ("+marks+") ORDER BY id"+s.DB.Dialect().ForUpdate(), args...); err != nil {
		return fmt.Errorf("lock epics: %w", err)
	}
	if above, err = db.Select[ID](ctx, s.DB, up, parent, maxDepth); err != nil {
		return fmt.Errorf("epics above: %w", err)
	}
	height, err := db.Get[int](ctx, s.DB, `WITH RECURSIVE down (id, depth) AS (
			SELECT e.id, 1 FROM epics e WHERE e.id = ?
			UNION ALL SELECT e.id, down.depth + 1 FROM down JOIN epics e ON e.parent_id = down.id WHERE down.depth <= ?
		) SELECT MAX(depth) FROM down`, child, maxDepth)
	if err != nil {
		return fmt.Errorf("epics below: %w", err)
	}
	var bad errs.Fields
	bad.Check(!slices.Contains(above, child), "parent", "cannot be the epic itself or one below it")
	bad.Check(len(above)+height <= maxDepth, "parent", fmt.Sprintf("is too deep (maximum is %d levels)", maxDepth))
	if err := bad.Err(); err != nil {
		return err
	}
	most := db.Bound{Table: "epics", Most: maxChildren, Full: errs.Broken("", "parent", fmt.Sprintf("has too many child epics (maximum is %d)", maxChildren))}
	most.Of.And("parent_id = ?", parent)
	return s.DB.Room(ctx, most, 1)
}

package graphql

import (
	"context"

	"tenon/internal/core/authz"
	"tenon/internal/core/epic"
	"tenon/internal/core/namespace"
	"tenon/internal/transport/graphql/exec"
)

// epicMove says where something goes in the tree of an epic.
type epicMove struct {
	BaseEpicID globalID
	Moved      struct {
		ID                  globalID
		AdjacentReferenceID *globalID
		NewParentID         *globalID
		RelativePosition    string // before or after
	}
}

const (
	errOtherKind argumentError = "What moves and what it stands beside have to be of one type"
	errBeside    argumentError = "adjacentReferenceId and relativePosition go together"
)

// beside returns where something goes among its siblings.
func beside[T ~int64](m epicMove) epic.Beside[T] {
	id := T(zeroOr(m.Moved.AdjacentReferenceID).ID)
	if m.Moved.RelativePosition == "before" {
		return epic.Beside[T]{After: id}
	}
	return epic.Beside[T]{Before: id}
}

// reorderEpic moves an issue or a child in the tree of an epic, perhaps to another parent.
func (b *binder) reorderEpic(ctx context.Context, c *exec.Call[epicMove]) (struct{}, error) {
	in := c.Args.Moved
	switch next := in.AdjacentReferenceID; {
	case (next != nil) != (in.RelativePosition != ""):
		return struct{}{}, errBeside
	case next != nil && next.Model != in.ID.Model:
		return struct{}{}, errOtherKind
	}
	to := c.Args.BaseEpicID
	if in.NewParentID != nil {
		to = *in.NewParentID
	}
	parent, err := needed(ctx, c.As, to, b.Epics.ByIDs)
	if err != nil {
		return struct{}{}, err
	}
	g, err := b.Namespaces.FindByID(ctx, c.As, parent.GroupID)
	if err != nil {
		return struct{}{}, err
	}
	if in.ID.Model == "Epic" {
		return struct{}{}, b.moveChild(ctx, c.As, g, parent, c.Args)
	}
	return struct{}{}, b.moveMember(ctx, c.As, g, parent, c.Args)
}

func (b *binder) moveChild(ctx context.Context, as authz.Actor, g *namespace.Group, parent *epic.Epic, in epicMove) error {
	child, err := needed(ctx, as, in.Moved.ID, b.Epics.ByIDs)
	if err != nil {
		return err
	}
	if child.Parent == nil || child.Parent.ID != parent.ID {
		if _, err := b.Epics.AddChild(ctx, as, g, parent.IID, child.ID); err != nil {
			return err
		}
	}
	if in.Moved.AdjacentReferenceID == nil {
		return nil
	}
	return b.Epics.ReorderChild(ctx, as, g, parent.IID, child.ID, beside[epic.ID](in))
}

func (b *binder) moveMember(ctx context.Context, as authz.Actor, g *namespace.Group, parent *epic.Epic, in epicMove) error {
	m, err := needed(ctx, as, in.Moved.ID, b.Epics.MembersByIDs)
	if err != nil {
		return err
	}
	if m.Epic.ID != parent.ID {
		if m, err = b.Epics.AddIssue(ctx, as, g, parent.IID, m.Issue.ID); err != nil {
			return err
		}
	}
	if in.Moved.AdjacentReferenceID == nil {
		return nil
	}
	return b.Epics.ReorderIssue(ctx, as, g, parent.IID, m.ID, beside[epic.LinkID](in))
}

package workitem

import (
	"context"

	"tenon/internal/base/errs"
	"tenon/internal/core/authz"
	"tenon/internal/core/epic"
	"tenon/internal/core/issue"
)

// Beside is another child of the parent, next to which a work item is put.
type Beside struct {
	Key    Key
	Before bool // in front of it instead of behind it
}

// arrange adds children to an epic, and puts a work item beside another child of its parent, which
// it may have got just now.
func (s *Service) arrange(ctx context.Context, as authz.Actor, w *target, c *Changes) error {
	if len(c.Children) > 0 && w.Epic == nil {
		return errs.Sentences(errs.Invalid, "Children can be added to epics only")
	}
	for _, child := range c.Children {
		var err error
		if child.Epic {
			_, err = s.Epics.AddChild(ctx, as, w.group, w.Epic.IID, epic.ID(child.ID))
		} else {
			_, err = s.Epics.AddIssue(ctx, as, w.group, w.Epic.IID, issue.ID(child.ID))
		}
		if err != nil {
			return err
		}
	}
	if c.Beside == nil {
		return nil
	}
	now, err := s.find(ctx, as, w.Key())
	if err != nil {
		return err
	}
	beside, err := s.find(ctx, as, c.Beside.Key)
	if err != nil {
		return err
	}
	if now.Parent() == 0 || now.Parent() != beside.Parent() || (now.Epic == nil) != (beside.Epic == nil) {
		return errs.Sentences(errs.Invalid, "The adjacent work item must be of the same kind and have the same parent")
	}
	parent, err := s.find(ctx, as, Key{true, int64(now.Parent())})
	if err != nil {
		return err
	}
	e := parent.Epic
	of, err := s.Namespaces.FindByID(ctx, as, e.GroupID)
	if err != nil {
		return err
	}
	if now.Epic != nil {
		return s.Epics.ReorderChild(ctx, as, of, e.IID, now.Epic.ID, besides(c.Beside.Before, beside.Epic.ID))
	}
	return s.Epics.ReorderIssue(ctx, as, of, e.IID, epic.LinkID(now.Issue.Epic.LinkID), besides(c.Beside.Before, epic.LinkID(beside.Issue.Epic.LinkID)))
}

// besides says on which side of another one.
func besides[T any](before bool, other T) epic.Beside[T] {
	if before {
		return epic.Beside[T]{After: other}
	}
	return epic.Beside[T]{Before: other}
}

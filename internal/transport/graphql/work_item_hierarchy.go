package graphql

import (
	"context"

	"tenon/internal/base/errs"
	"tenon/internal/base/page"
	"tenon/internal/core/authz"
	"tenon/internal/core/epic"
	"tenon/internal/core/issue"
	"tenon/internal/core/namespace"
	"tenon/internal/transport/graphql/exec"
)

// hierarchyWidget binds parents and children: issues and epics have epics as parents.
func (b *binder) hierarchyWidget() {
	const typ = "WorkItemWidgetHierarchy."
	value(b, typ+"hasParent", func(w *widget) bool { return w.parent() != 0 })
	exec.Batch(b.Schema, typ+"parent", func(ctx context.Context, c *exec.Call[exec.None], of []*widget) ([]*workItem, error) {
		found, err := exec.LoadEach(ctx, c, "epics", of, func(w *widget) epic.ID { return w.parent() }, func(ctx context.Context, ids []epic.ID) (map[epic.ID]*epic.Epic, error) {
			return b.Epics.ByIDs(ctx, c.As, ids)
		})
		out := make([]*workItem, len(of))
		for i, e := range found {
			out[i] = ofEpic(e)
		}
		return out, err
	})
	exec.Batch(b.Schema, typ+"hasChildren", func(ctx context.Context, c *exec.Call[exec.None], of []*widget) ([]bool, error) {
		found, err := exec.LoadEach(ctx, c, "kin of epics", of, func(w *widget) epic.ID { return w.epicNumber() }, func(ctx context.Context, ids []epic.ID) (map[epic.ID]epic.Kin, error) {
			return b.Epics.KinOf(ctx, c.As, ids)
		})
		out := make([]bool, len(of))
		for i, k := range found {
			out[i] = k.Children+k.Issues > 0
		}
		return out, err
	})
	exec.Batch(b.Schema, typ+"children", func(ctx context.Context, c *exec.Call[paging], of []*widget) ([]*exec.Page[*workItem], error) {
		ids := make([]namespace.ID, len(of))
		for i, w := range of {
			ids[i] = w.groupID()
		}
		places, err := exec.Load(ctx, c, "groups", ids, func(ctx context.Context, ids []namespace.ID) (map[namespace.ID]*namespace.Group, error) {
			return b.Namespaces.ByIDs(ctx, c.As, ids)
		})
		if err != nil {
			return nil, err
		}
		return lists(ctx, part(b, c, c.Args, maxPage), of, func(ctx context.Context, w *widget, r page.Range) (page.Page[epic.Item], error) {
			if w.epic == nil || places[w.epic.GroupID] == nil {
				return page.None[epic.Item](r), nil
			}
			return b.Epics.Parts(ctx, c.As, places[w.epic.GroupID], w.epic, r)
		}, b.workItemViews(c.As))
	})
}

// parent is the epic that the work item is in, as far as the caller may read it; 0 for none.
func (w *workItem) parent() epic.ID {
	switch {
	case w.epic != nil && w.epic.Parent != nil:
		return w.epic.Parent.ID
	case w.issue != nil && w.issue.Epic != nil:
		return epic.ID(w.issue.Epic.ID)
	}
	return 0
}

// hierarchyInput is what changes of the parent and the children of a work item.
type hierarchyInput struct {
	AdjacentWorkItemID *globalID
	ChildrenIDs        []globalID
	ParentID           exec.Opt[globalID]
	RelativePosition   string
}

// arrange adds children to an epic, and puts a work item beside another child of its parent. The parent is
// what was asked for already.
func (b *binder) arrange(ctx context.Context, as authz.Actor, w *workItem, g *namespace.Group, in *hierarchyInput) error {
	if len(in.ChildrenIDs) > 0 && w.epic == nil {
		return errs.Sentences(errs.Invalid, "Children can be added to epics only")
	}
	for _, id := range in.ChildrenIDs {
		var err error
		if isEpic(id) {
			_, err = b.Epics.AddChild(ctx, as, g, w.epic.IID, epic.ID(id.ID))
		} else {
			_, err = b.Epics.AddIssue(ctx, as, g, w.epic.IID, issue.ID(id.ID))
		}
		if err != nil {
			return err
		}
	}
	if in.AdjacentWorkItemID == nil {
		return nil
	}
	found, err := b.workItemsByKeys(ctx, as, []workItemKey{w.key(), keyOf(*in.AdjacentWorkItemID)})
	if err != nil {
		return err
	}
	now, beside := found[w.key()], found[keyOf(*in.AdjacentWorkItemID)]
	switch {
	case now == nil || beside == nil:
		return errNoPlace
	case now.parent() == 0 || now.parent() != beside.parent() || (now.epic == nil) != (beside.epic == nil):
		return errs.Sentences(errs.Invalid, "The adjacent work item must be of the same kind and have the same parent")
	}
	parent, err := b.Epics.ByIDs(ctx, as, []epic.ID{now.parent()})
	e := parent[now.parent()]
	if err != nil || e == nil {
		return missingOr(err)
	}
	of, err := b.Namespaces.FindByID(ctx, as, e.GroupID)
	if err != nil {
		return err
	}
	if now.epic != nil {
		return b.Epics.ReorderChild(ctx, as, of, e.IID, now.epic.ID, besides(in.RelativePosition, beside.epic.ID))
	}
	return b.Epics.ReorderIssue(ctx, as, of, e.IID, epic.LinkID(now.issue.Epic.LinkID), besides(in.RelativePosition, epic.LinkID(beside.issue.Epic.LinkID)))
}

// besides says on which side of another one: after it, unless BEFORE is asked for.
func besides[T any](position string, other T) epic.Beside[T] {
	if position == "BEFORE" {
		return epic.Beside[T]{After: other}
	}
	return epic.Beside[T]{Before: other}
}

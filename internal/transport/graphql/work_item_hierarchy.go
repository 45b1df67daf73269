package graphql

import (
	"context"

	"tenon/internal/base/page"
	"tenon/internal/core/epic"
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
func (w *workItem) parent() epic.ID { return w.item().Parent() }

// hierarchyInput is what changes of the parent and the children of a work item.
type hierarchyInput struct {
	AdjacentWorkItemID *globalID
	ChildrenIDs        []globalID
	ParentID           exec.Opt[globalID]
	RelativePosition   string
}

package graphql

import (
	"context"

	"tenon/internal/base/page"
	"tenon/internal/core/authz"
	"tenon/internal/core/epic"
	"tenon/internal/core/issue"
	"tenon/internal/core/namespace"
	"tenon/internal/core/project"
	"tenon/internal/core/workitem"
	"tenon/internal/transport/graphql/exec"
)

// workItemLists binds the work items of places.
func (b *binder) workItemLists() {
	exec.Batch(b.Schema, "Project.workItems", func(ctx context.Context, c *exec.Call[struct {
		paging
		workItemFilter `exec:"some"`
	}], of []*project.Project,
	) ([]*exec.Page[*workItem], error) {
		return lists(ctx, part(b, c, c.Args.paging, maxPage), of, func(ctx context.Context, p *project.Project, r page.Range) (page.Page[epic.Item], error) {
			return b.itemsIn(ctx, c.As, place{project: p}, &c.Args.workItemFilter, r)
		}, b.workItemViews(c.As))
	})
	exec.Batch(b.Schema, "Namespace.workItems", func(ctx context.Context, c *exec.Call[struct {
		paging
		workItemFilter
	}], of []*namespace.Namespace,
	) ([]*exec.Page[*workItem], error) {
		return lists(ctx, part(b, c, c.Args.paging, maxPage), of, func(ctx context.Context, n *namespace.Namespace, r page.Range) (page.Page[epic.Item], error) {
			at, err := b.placeOfItems(ctx, c.As, n)
			if err != nil {
				return page.Page[epic.Item]{}, err
			}
			return b.itemsIn(ctx, c.As, at, &c.Args.workItemFilter, r)
		}, b.workItemViews(c.As))
	})
	exec.Batch(b.Schema, "Namespace.workItem", func(ctx context.Context, c *exec.Call[struct{ IID string }], of []*namespace.Namespace) ([]*workItem, error) {
		f := workItemFilter{issueFilter: issueFilter{issueChoice: issueChoice{IIDs: []string{c.Args.IID}}}}
		return firsts(ctx, b, of, func(ctx context.Context, n *namespace.Namespace, r page.Range) (page.Page[epic.Item], error) {
			at, err := b.placeOfItems(ctx, c.As, n)
			if err != nil {
				return page.Page[epic.Item]{}, err
			}
			return b.itemsIn(ctx, c.As, at, &f, r)
		}, b.workItemViews(c.As))
	}, exec.Costly)
	b.namespaceTypes()
}

// place is where work items are: a project or a group; both are nil for users.
type place struct {
	project *project.Project
	group   *namespace.Group
}

// placeOfItems finds the project or the group that a namespace is.
func (b *binder) placeOfItems(ctx context.Context, as authz.Actor, n *namespace.Namespace) (at place, err error) {
	switch n.Kind {
	case namespace.ProjectKind:
		at.project, err = b.Projects.Find(ctx, as, n.FullPath)
	case namespace.GroupKind:
		at.group, err = b.Namespaces.FindByID(ctx, as, n.ID)
	}
	return at, err
}

// itemsIn reads a page of the work items of a place: issues are in projects, epics in groups. The epics of
// the groups above, and what is in the groups and projects below, come with them where that is asked for.
func (b *binder) itemsIn(ctx context.Context, as authz.Actor, at place, f *workItemFilter, r page.Range) (page.Page[epic.Item], error) {
	items, err := f.items(r)
	if err != nil {
		return page.Page[epic.Item]{}, err
	}
	in, g := issue.Place{Project: at.project}, at.group
	switch {
	case at.project != nil:
		if f.IncludeAncestors && !at.project.Personal {
			if g, err = b.Namespaces.FindByID(ctx, as, at.project.ParentID); hidden(err) != nil {
				return page.Page[epic.Item]{}, err
			}
		}
		if items.Epics != nil {
			items.Epics.Descendants = false
		}
	case at.group != nil && f.IncludeDescendants:
		in.Group = g.Subject()
	default:
		items.Issues = nil
	}
	if g == nil {
		items.Epics = nil
	}
	return b.Epics.Items(ctx, as, in, g, items)
}

// namespaceTypes binds the types of the work items that stand in namespaces.
func (b *binder) namespaceTypes() {
	exec.Batch(b.Schema, "Namespace.workItemTypes", func(ctx context.Context, c *exec.Call[struct {
		paging
		Name          string
		OnlyAvailable bool
	}], of []*namespace.Namespace,
	) ([]*exec.Page[*workitem.Type], error) {
		return forEach(ctx, b, c, of, func(ctx context.Context, n *namespace.Namespace) (*exec.Page[*workitem.Type], error) {
			available := true
			if c.Args.OnlyAvailable {
				var err error
				if available, err = b.createsItems(ctx, c.As, n); err != nil {
					return nil, err
				}
			}
			return listOf(c.Args.paging, maxPage, workitem.Types(func(t *workitem.Type) bool {
				return available && (c.Args.Name == "" || t.Enum == c.Args.Name) && (t.OfProjects() && n.Kind == namespace.ProjectKind || t.OfGroups() && n.Kind == namespace.GroupKind)
			}))
		})
	})
}

// createsItems reports whether the actor may create work items in a namespace: issues in a project, epics in a group.
func (b *binder) createsItems(ctx context.Context, as authz.Actor, n *namespace.Namespace) (bool, error) {
	at, err := b.placeOfItems(ctx, as, n)
	switch {
	case err != nil:
		return false, hidden(err)
	case at.project != nil:
		return b.Projects.May(ctx, as, at.project, authz.CreateIssue)
	case at.group != nil:
		return b.Namespaces.May(ctx, as, at.group, authz.CreateEpic)
	}
	return false, nil
}

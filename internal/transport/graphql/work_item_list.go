package graphql

import (
	"context"

	"tenon/internal/base/page"
	"tenon/internal/core/authz"
	"tenon/internal/core/epic"
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
			return b.itemsIn(ctx, c.As, p.Place(), &c.Args.workItemFilter, r)
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

// placeOfItems finds the project or the group that a namespace is, the zero value for that of a user.
func (b *binder) placeOfItems(ctx context.Context, as authz.Actor, n *namespace.Namespace) (authz.Place, error) {
	switch n.Kind {
	case namespace.ProjectKind:
		p, err := b.Projects.Find(ctx, as, n.FullPath)
		if err != nil {
			return authz.Place{}, err
		}
		return p.Place(), nil
	case namespace.GroupKind:
		g, err := b.Namespaces.FindByID(ctx, as, n.ID)
		if err != nil {
			return authz.Place{}, err
		}
		return g.Place(), nil
	}
	return authz.Place{}, nil
}

// itemsIn reads a page of the work items of a place: issues are in projects, epics in groups. The epics of
// the groups above, and what is in the groups and projects below, come with them where that is asked for.
func (b *binder) itemsIn(ctx context.Context, as authz.Actor, at authz.Place, f *workItemFilter, r page.Range) (page.Page[epic.Item], error) {
	items, err := f.items(r)
	if err != nil {
		return page.Page[epic.Item]{}, err
	}
	g := namespace.Of(at)
	switch {
	case at.IsProject():
		if f.IncludeAncestors && !at.Personal {
			if g, err = b.Namespaces.FindByID(ctx, as, *at.Parent); hidden(err) != nil {
				return page.Page[epic.Item]{}, err
			}
		}
		if items.Epics != nil {
			items.Epics.Descendants = false
		}
	case !at.Group || !f.IncludeDescendants:
		items.Issues = nil
	}
	if g == nil {
		items.Epics = nil
	}
	return b.Epics.Items(ctx, as, at, g, items)
}

// namespaceTypes binds the types of the work items that are in namespaces.
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
	case at.IsProject():
		return b.Projects.May(ctx, as, project.Of(at), authz.CreateIssue)
	case at.Group:
		return b.Namespaces.May(ctx, as, namespace.Of(at), authz.CreateEpic)
	}
	return false, nil
}

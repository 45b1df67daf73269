package graphql

import (
	"context"
	"html"

	"tenon/internal/base/errs"
	"tenon/internal/base/page"
	"tenon/internal/core/authz"
	"tenon/internal/core/label"
	"tenon/internal/core/namespace"
	"tenon/internal/core/project"
	"tenon/internal/transport/graphql/exec"
)

// labels binds labels and the lists of projects and groups.
func (b *binder) labels() {
	exec.Batch(b.Schema, "Label.id", func(ctx context.Context, c *exec.Call[exec.None], of []*label.Label) ([]string, error) {
		ids := make([]namespace.ID, len(of))
		for i, l := range of {
			ids[i] = l.NamespaceID
		}
		places, err := spaces(ctx, b, c, ids)
		out := make([]string, len(of))
		for i, l := range of {
			model := "ProjectLabel"
			if n := places[l.NamespaceID]; n != nil && n.Kind == namespace.GroupKind {
				model = "GroupLabel"
			}
			out[i] = gid(model, l.ID)
		}
		return out, err
	})
	value(b, "Label.descriptionHtml", func(l *label.Label) *string {
		if l.Description == nil {
			return nil
		}
		return new(html.EscapeString(*l.Description))
	})
	value(b, "Label.textColor", (*label.Label).TextColor)
	exec.Struct[*label.Label](b.Schema, "Label")
	exec.Connection[*label.Label](b.Schema, "Label")

	type named struct{ Title string }
	exec.Batch(b.Schema, "Project.label", func(ctx context.Context, c *exec.Call[named], of []*project.Project) ([]*label.Label, error) {
		return forEach(ctx, b, c, of, func(ctx context.Context, p *project.Project) (*label.Label, error) {
			return b.Labels.FindByTitle(ctx, c.As, p.Place(), c.Args.Title)
		})
	})
	exec.Batch(b.Schema, "Group.label", func(ctx context.Context, c *exec.Call[named], of []*namespace.Group) ([]*label.Label, error) {
		return forEach(ctx, b, c, of, func(ctx context.Context, g *namespace.Group) (*label.Label, error) {
			return b.Labels.FindByTitle(ctx, c.As, g.Place(), c.Args.Title)
		})
	})
	b.labelLists()
	b.labelMutations()
}

func (b *binder) labelLists() {
	type ofProject struct {
		paging
		IncludeAncestorGroups bool
		SearchTerm            string
	}
	exec.Batch(b.Schema, "Project.labels", func(ctx context.Context, c *exec.Call[ofProject], of []*project.Project) ([]*exec.Page[*label.Label], error) {
		return forEach(ctx, b, c, of, func(ctx context.Context, p *project.Project) (*exec.Page[*label.Label], error) {
			f := label.Filter{Search: c.Args.SearchTerm, OwnOnly: !c.Args.IncludeAncestorGroups, Parent: true}
			return labelPage(ctx, b, c, c.Args.paging, p.Place(), f)
		})
	})
	type ofGroup struct {
		paging
		IncludeAncestorGroups, IncludeDescendantGroups, OnlyGroupLabels bool
		SearchTerm                                                      string
	}
	exec.Batch(b.Schema, "Group.labels", func(ctx context.Context, c *exec.Call[ofGroup], of []*namespace.Group) ([]*exec.Page[*label.Label], error) {
		return forEach(ctx, b, c, of, func(ctx context.Context, g *namespace.Group) (*exec.Page[*label.Label], error) {
			f := label.Filter{
				Search: c.Args.SearchTerm, OwnOnly: !c.Args.IncludeAncestorGroups, Descendants: c.Args.IncludeDescendantGroups, Projects: !c.Args.OnlyGroupLabels,
			}
			return labelPage(ctx, b, c, c.Args.paging, g.Place(), f)
		})
	})
}

// labelPage reads a page of the labels of a place.
func labelPage[A any](ctx context.Context, b *binder, c *exec.Call[A], p paging, at authz.Place, f label.Filter) (*exec.Page[*label.Label], error) {
	return read(c, p, maxPage, func(r page.Range) (page.Page[*label.Label], error) {
		f.Range = r
		list, err := b.Labels.List(ctx, c.As, at, f)
		return page.Pointers(list), err
	})
}

func (b *binder) labelMutations() {
	type input struct {
		parent
		Title, Color string
		Description  *string
	}
	type payload struct{ Label *label.Label }
	exec.Mutation(b.Schema, "labelCreate", func(ctx context.Context, c *exec.Call[input]) (payload, error) {
		p, g, err := b.parent(ctx, c.As, c.Args.parent)
		if err != nil {
			return payload{}, err
		}
		var at authz.Place
		if p != nil {
			at = p.Place()
		} else {
			at = g.Place()
		}
		l, err := b.Labels.Create(ctx, c.As, at, label.Input{Title: c.Args.Title, Color: c.Args.Color, Description: c.Args.Description})
		if errs.Is(err, errs.Conflict) {
			err = errs.Sentences(errs.Conflict, "Title has already been taken")
		}
		return payload{l}, err
	})
}

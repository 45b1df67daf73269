package graphql

import (
	"context"

	"tenon/internal/core/authz"
	"tenon/internal/core/project"
	"tenon/internal/core/reference"
	"tenon/internal/transport/graphql/exec"
)

// texts renders texts that belong to one place.
type texts func(ctx context.Context, as authz.Actor, in reference.Scope, texts ...string) ([]string, error)

// rendered answers a field with texts of things as HTML, null where a thing has none. of gives the
// text of a thing and the place that its references are resolved in.
func rendered[P any](b *binder, field string, of func(p P) (reference.Scope, *string)) {
	renderedWith(b, field, func(ctx context.Context, as authz.Actor, in reference.Scope, texts ...string) ([]string, error) {
		return b.References.HTML(ctx, as, in, texts...)
	}, of)
}

// renderedTitle is rendered for titles, which know references and emoji only.
func renderedTitle[P any](b *binder, field string, of func(p P) (reference.Scope, *string)) {
	renderedWith(b, field, func(ctx context.Context, as authz.Actor, in reference.Scope, texts ...string) ([]string, error) {
		return b.References.Titles(ctx, as, in, texts...)
	}, of)
}

// renderedWith renders the texts of one place together, and those of all places with the statements
// of one.
func renderedWith[P any](b *binder, field string, render texts, of func(p P) (reference.Scope, *string)) {
	exec.Batch(b.Schema, field, func(ctx context.Context, c *exec.Call[exec.None], things []P) ([]*string, error) {
		return renderAll(ctx, b, c.As, render, things, of)
	})
}

// renderAll renders the texts of things.
func renderAll[P any](ctx context.Context, b *binder, as authz.Actor, render texts, things []P, of func(p P) (reference.Scope, *string)) ([]*string, error) {
	type key struct {
		project project.ID
		group   authz.NamespaceID
	}
	type group struct {
		in    reference.Scope
		at    []int
		texts []string
	}
	groups := map[key]*group{}
	var order []*group
	for i, thing := range things {
		in, source := of(thing)
		if source == nil {
			continue
		}
		k := key{group: in.Group}
		if in.Project != nil {
			k.project = in.Project.ID
		}
		g := groups[k]
		if g == nil {
			g = &group{in: in}
			groups[k], order = g, append(order, g)
		}
		g.at, g.texts = append(g.at, i), append(g.texts, *source)
	}
	out := make([]*string, len(things))
	err := b.Together(ctx, len(order), func(ctx context.Context, k int) error {
		g := order[k]
		done, err := render(ctx, as, g.in, g.texts...)
		for i := range done {
			out[g.at[i]] = &done[i]
		}
		return err
	})
	return out, err
}

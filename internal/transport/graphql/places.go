package graphql

import (
	"context"
	"strings"

	"tenon/internal/base/errs"
	"tenon/internal/core/authz"
	"tenon/internal/core/namespace"
	"tenon/internal/core/project"
	"tenon/internal/transport/graphql/exec"
)

var errNoPlace = errs.Missing("")

// project finds a project by its path: digits are no id here.
func (b *binder) project(ctx context.Context, as authz.Actor, path string) (*project.Project, error) {
	if !strings.Contains(path, "/") {
		return nil, errNoPlace
	}
	return b.Projects.Find(ctx, as, path)
}

// group finds a group by its path.
func (b *binder) group(ctx context.Context, as authz.Actor, path string) (*namespace.Group, error) {
	if strings.Trim(path, "-0123456789") == "" {
		return nil, errNoPlace
	}
	return b.Namespaces.Find(ctx, as, path)
}

// parent names a project or a group: the input of a mutation embeds it.
type parent struct {
	ProjectPath, GroupPath *string
}

const errOneParent argumentError = "Exactly one of group_path or project_path arguments is required"

// parent finds the project or the group that an input names.
func (b *binder) parent(ctx context.Context, as authz.Actor, in parent) (*project.Project, *namespace.Group, error) {
	if (given(in.ProjectPath) == "") == (given(in.GroupPath) == "") {
		return nil, nil, errOneParent
	}
	if in.GroupPath != nil && *in.GroupPath != "" {
		g, err := b.group(ctx, as, *in.GroupPath)
		return nil, g, err
	}
	p, err := b.project(ctx, as, *in.ProjectPath)
	return p, nil, err
}

// forEach returns a value for every parent of a field, whose reads become the statements of one; what
// fails for one is null there, and what is hidden is null without an error.
func forEach[A, P, R any](ctx context.Context, b *binder, c *exec.Call[A], of []P, f func(ctx context.Context, p P) (R, error)) ([]R, error) {
	out, failed := make([]R, len(of)), make([]error, len(of))
	err := b.Together(ctx, len(of), func(ctx context.Context, i int) error {
		v, err := f(ctx, of[i])
		if err = hidden(err); err == nil {
			out[i] = v
		}
		failed[i] = err
		return nil
	})
	for i := range failed {
		if failed[i] != nil {
			c.Fail(i, failed[i])
		}
	}
	return out, err
}

// spaces reads namespaces, of projects as well, for what is in them and the caller has read.
func spaces[A any](ctx context.Context, b *binder, c *exec.Call[A], ids []namespace.ID) (map[namespace.ID]*namespace.Namespace, error) {
	return exec.Load(ctx, c, "namespaces", ids, b.Namespaces.Load)
}

// idsOf reads global ids of one model, which arguments of the type ID hold.
func idsOf[T ~int64](model string, texts []string) ([]T, error) {
	var out []T
	for _, text := range texts {
		id, err := readGID(text)
		if err != nil {
			return nil, argumentError(err.Error())
		}
		if id.Model != model {
			return nil, argumentError("\"" + text + "\" does not represent an instance of " + model)
		}
		out = append(out, T(id.ID))
	}
	return out, nil
}

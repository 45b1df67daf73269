package graphql

import (
	"context"
	"strings"

	"tenon/internal/base/page"
	"tenon/internal/core/authz"
	"tenon/internal/core/namespace"
	"tenon/internal/core/project"
	"tenon/internal/core/variable"
	"tenon/internal/transport/graphql/exec"
)

// ciVariable is a variable of a project, a group, the instance or a schedule.
type ciVariable struct {
	ID, Key, VariableType string
	Value                 *string
	Description           *string
	EnvironmentScope      string
	Hidden, Masked        bool
	Protected, Raw        bool
}

// inheritedVariable is a variable that a project has from a group.
type inheritedVariable struct {
	ciVariable
	GroupName *string
}

// variableFilter is the arguments of lists of variables.
type variableFilter struct {
	paging
	Sort *string
}

func (f *variableFilter) filter(r page.Range) variable.ListFilter {
	by, asc := page.Sorted(zeroOr(f.Sort))
	return variable.ListFilter{OrderBy: by, Desc: by != "" && !asc, Range: r}
}

// variables binds the variables of jobs.
func (b *binder) variables() {
	exec.Batch(b.Schema, "Query.ciVariables", func(ctx context.Context, c *exec.Call[variableFilter], of []exec.RootValue) ([]*exec.Page[*ciVariable], error) {
		return variablesIn(ctx, b, c, of, "Ci::InstanceVariable", func(exec.RootValue) authz.Place { return authz.Place{} })
	}, exec.Costly)
	exec.Batch(b.Schema, "Group.ciVariables", func(ctx context.Context, c *exec.Call[variableFilter], of []*namespace.Group) ([]*exec.Page[*ciVariable], error) {
		return variablesIn(ctx, b, c, of, "Ci::GroupVariable", (*namespace.Group).Place)
	})
	exec.Batch(b.Schema, "Project.ciVariables", func(ctx context.Context, c *exec.Call[variableFilter], of []*project.Project) ([]*exec.Page[*ciVariable], error) {
		return variablesIn(ctx, b, c, of, "Ci::Variable", (*project.Project).Place)
	})
	exec.Batch(b.Schema, "Project.inheritedCiVariables", b.inheritedVariables)

	exec.Struct[*ciVariable](b.Schema, "CiVariable")
	exec.Struct[*inheritedVariable](b.Schema, "InheritedCiVariable")
	for _, typ := range []string{"CiInstanceVariable", "CiGroupVariable", "CiProjectVariable"} {
		exec.Connection[*ciVariable](b.Schema, typ)
	}
	exec.Connection[*inheritedVariable](b.Schema, "InheritedCiVariable")
	value(b, "CiGroupVariableConnection.limit", func(*exec.Page[*ciVariable]) int { return variable.MaxOfGroup })
	value(b, "CiProjectVariableConnection.limit", func(*exec.Page[*ciVariable]) int { return variable.MaxOfProject })
}

// variableOf returns a variable of a place of a kind.
func variableOf(model string, v *variable.Variable) *ciVariable {
	return &ciVariable{
		ID: gid(model, v.ID), Key: v.Key, VariableType: strings.ToUpper(string(v.Type)), Value: v.Value, Description: v.Description,
		EnvironmentScope: v.Scope, Hidden: v.Hidden, Masked: v.Masked, Protected: v.Protected, Raw: v.Raw,
	}
}

// variablesIn lists the variables of places of one kind.
func variablesIn[P any](ctx context.Context, b *binder, c *exec.Call[variableFilter], of []P, model string, place func(P) authz.Place) ([]*exec.Page[*ciVariable], error) {
	return lists(ctx, part(b, c, c.Args.paging, maxPage), of, func(ctx context.Context, p P, r page.Range) (page.Page[*ciVariable], error) {
		list, err := b.Variables.List(ctx, c.As, place(p), c.Args.filter(r))
		return page.Map(list, func(v *variable.Variable) *ciVariable { return variableOf(model, v) }), err
	}, same)
}

// inheritedVariables lists the variables that projects have from the groups above them.
func (b *binder) inheritedVariables(ctx context.Context, c *exec.Call[variableFilter], of []*project.Project) ([]*exec.Page[*inheritedVariable], error) {
	return lists(ctx, part(b, c, c.Args.paging, maxPage), of, func(ctx context.Context, p *project.Project, r page.Range) (page.Page[variable.Variable], error) {
		return b.Variables.Inherited(ctx, c.As, p, c.Args.filter(r))
	}, func(ctx context.Context, rows []variable.Variable) ([]*inheritedVariable, error) {
		groups := make([]authz.NamespaceID, len(rows))
		for i := range rows {
			groups[i] = zeroOr(rows[i].NamespaceID)
		}
		found, err := spaces(ctx, b, c, groups)
		out := make([]*inheritedVariable, len(rows))
		for i := range rows {
			out[i] = &inheritedVariable{ciVariable: *variableOf("Ci::GroupVariable", &rows[i])}
			if g := found[groups[i]]; g != nil {
				out[i].GroupName = &g.Name
			}
		}
		return out, err
	})
}

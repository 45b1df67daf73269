package graphql

import (
	"context"
	"slices"
	"strings"

	"tenon/internal/core/issue"
	"tenon/internal/core/namespace"
	"tenon/internal/core/project"
	"tenon/internal/core/workitem"
	"tenon/internal/transport/graphql/exec"
)

// kind is the type of the work item.
func (w *workItem) kind() *workitem.Type { return w.item().Type() }

// workItemTypes binds the types of work items, and those of places.
func (b *binder) workItemTypes() {
	value(b, "WorkItemType.id", func(t *workitem.Type) string { return gid("WorkItems::Type", t.Number) })
	value(b, "WorkItemType.enabled", func(*workitem.Type) bool { return true }) // no type can be switched off
	value(b, "WorkItemType.iconName", func(t *workitem.Type) string {
		if t.OfGroups() {
			return "issue-type-epic"
		}
		return "issue-type-" + strings.ReplaceAll(string(t.Of), "_", "-")
	})
	exec.Struct[*workitem.Type](b.Schema, "WorkItemType")
	exec.Connection[*workitem.Type](b.Schema, "WorkItemType")
	typesOf(b, "Project.workItemTypes", func(_ *project.Project) []*workitem.Type { return workitem.Types((*workitem.Type).OfProjects) })
	typesOf(b, "Group.workItemTypes", func(_ *namespace.Group) []*workitem.Type { return workitem.Types((*workitem.Type).OfGroups) })
}

// typesOf binds the types of places. Tasks are the type that can be recognized as a part of an issue.
func typesOf[P any](b *binder, field string, of func(place P) []*workitem.Type) {
	exec.Batch(b.Schema, field, func(_ context.Context, c *exec.Call[struct {
		paging
		Taskable bool
	}], places []P,
	) ([]*exec.Page[*workitem.Type], error) {
		out := make([]*exec.Page[*workitem.Type], len(places))
		for i, p := range places {
			all := of(p)
			if c.Args.Taskable {
				all = slices.DeleteFunc(all, func(t *workitem.Type) bool { return t.Of != issue.Task })
			}
			var err error
			if out[i], err = listOf(c.Args.paging, maxPage, all); err != nil {
				return nil, err
			}
		}
		return out, nil
	})
}

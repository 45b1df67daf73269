package graphql

import (
	"context"
	"slices"
	"strings"

	"tenon/internal/core/issue"
	"tenon/internal/core/namespace"
	"tenon/internal/core/project"
	"tenon/internal/transport/graphql/exec"
)

// workItemType is a type of work items.
type workItemType struct {
	number int64 // in its global id
	enum   string
	of     issue.Type // "" for epics
	Name   string
}

// typesOfWork are all types, by name.
var typesOfWork = []*workItemType{
	{8, "EPIC", "", "Epic"},
	{2, "INCIDENT", issue.Incident, "Incident"},
	{1, "ISSUE", issue.Plain, "Issue"},
	{5, "TASK", issue.Task, "Task"},
	{3, "TEST_CASE", issue.TestCase, "Test Case"},
}

// typeOfWork finds the type that ok chooses; nil for none.
func typeOfWork(ok func(t *workItemType) bool) *workItemType {
	if i := slices.IndexFunc(typesOfWork, ok); i >= 0 {
		return typesOfWork[i]
	}
	return nil
}

// kind is the type of the work item.
func (w *workItem) kind() *workItemType {
	var of issue.Type
	if w.issue != nil {
		of = w.issue.Type
	}
	return typeOfWork(func(t *workItemType) bool { return t.of == of })
}

// ofProjects reports whether work items of the type stand in projects; the others stand in groups.
func (t *workItemType) ofProjects() bool { return t.of != "" }

// ofGroups is the opposite of ofProjects.
func (t *workItemType) ofGroups() bool { return !t.ofProjects() }

// typesThat returns the types that ok chooses.
func typesThat(ok func(t *workItemType) bool) []*workItemType {
	return slices.DeleteFunc(slices.Clone(typesOfWork), func(t *workItemType) bool { return !ok(t) })
}

// workItemTypes binds the types of work items, and those of places.
func (b *binder) workItemTypes() {
	value(b, "WorkItemType.id", func(t *workItemType) string { return gid("WorkItems::Type", t.number) })
	value(b, "WorkItemType.enabled", func(*workItemType) bool { return true }) // no type can be switched off
	value(b, "WorkItemType.iconName", func(t *workItemType) string {
		if t.ofGroups() {
			return "issue-type-epic"
		}
		return "issue-type-" + strings.ReplaceAll(string(t.of), "_", "-")
	})
	exec.Struct[*workItemType](b.Schema, "WorkItemType")
	exec.Connection[*workItemType](b.Schema, "WorkItemType")
	typesOf(b, "Project.workItemTypes", func(_ *project.Project) []*workItemType { return typesThat((*workItemType).ofProjects) })
	typesOf(b, "Group.workItemTypes", func(_ *namespace.Group) []*workItemType { return typesThat((*workItemType).ofGroups) })
}

// typesOf binds the types of places. Tasks are the type that can be recognized as a part of an issue.
func typesOf[P any](b *binder, field string, of func(place P) []*workItemType) {
	exec.Batch(b.Schema, field, func(_ context.Context, c *exec.Call[struct {
		paging
		Taskable bool
	}], places []P,
	) ([]*exec.Page[*workItemType], error) {
		out := make([]*exec.Page[*workItemType], len(places))
		for i, p := range places {
			all := of(p)
			if c.Args.Taskable {
				all = slices.DeleteFunc(all, func(t *workItemType) bool { return t.of != issue.Task })
			}
			var err error
			if out[i], err = listOf(c.Args.paging, maxPage, all); err != nil {
				return nil, err
			}
		}
		return out, nil
	})
}

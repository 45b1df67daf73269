package workitem

import (
	"slices"

	"tenon/internal/base/errs"
	"tenon/internal/core/issue"
)

// Type is a type of work items.
type Type struct {
	Number int64  // in its global id
	Enum   string // its name in lists of types
	Of     issue.Type
	Name   string
}

// types are all of them, by name. Of is "" for epics.
var types = []*Type{
	{8, "EPIC", "", "Epic"},
	{2, "INCIDENT", issue.Incident, "Incident"},
	{1, "ISSUE", issue.Plain, "Issue"},
	{5, "TASK", issue.Task, "Task"},
	{3, "TEST_CASE", issue.TestCase, "Test Case"},
}

// Types returns the types that ok chooses, by name.
func Types(ok func(t *Type) bool) []*Type {
	return slices.DeleteFunc(slices.Clone(types), func(t *Type) bool { return !ok(t) })
}

// TypeOf is the type of the issues of a type; "" names that of epics.
func TypeOf(of issue.Type) *Type { return find(func(t *Type) bool { return t.Of == of }) }

// TypeByNumber finds a type by the number of its global id; nil for none.
func TypeByNumber(number int64) *Type { return find(func(t *Type) bool { return t.Number == number }) }

func find(ok func(t *Type) bool) *Type {
	if i := slices.IndexFunc(types, ok); i >= 0 {
		return types[i]
	}
	return nil
}

// OfProjects reports whether work items of the type stand in projects; the others stand in groups.
func (t *Type) OfProjects() bool { return t.Of != "" }

// OfGroups is the opposite of OfProjects.
func (t *Type) OfGroups() bool { return !t.OfProjects() }

// Widget is a part of work items that not every type has, as refusals name it.
type Widget string

// The parts that issues alone have, and those that epics alone have.
const (
	Assignees    Widget = "Assignees"
	HealthStatus Widget = "Health status"
	Iteration    Widget = "Iteration"
	Milestone    Widget = "Milestone"
	Weight       Widget = "Weight"

	Color     Widget = "Color"
	StartDate Widget = "Start date"
)

// Accepts refuses widgets that work items of the type do not have.
func (t *Type) Accepts(widgets []Widget) error {
	var bad []string
	for _, w := range widgets {
		if ofEpics := w == Color || w == StartDate; ofEpics != t.OfGroups() {
			bad = append(bad, string(w)+" cannot be set for the type "+t.Name)
		}
	}
	if bad == nil {
		return nil
	}
	return errs.Sentences(errs.Invalid, bad...)
}

package graphql

import (
	"context"

	"tenon/internal/core/account"
	"tenon/internal/core/authz"
	"tenon/internal/core/award"
	"tenon/internal/core/epic"
	"tenon/internal/core/iteration"
	"tenon/internal/core/label"
	"tenon/internal/core/milestone"
	"tenon/internal/core/noteable"
	"tenon/internal/core/reference"
	"tenon/internal/transport/graphql/exec"
)

// widget is one aspect of a work item.
type widget struct{ *workItem }

// widgetKind is a kind of widgets and the work items that have such.
type widgetKind struct {
	enum, typ string // of WorkItemWidgetType, and the name of the type
	field     string // of WorkItemFeatures
	ofIssues  bool
	ofEpics   bool
}

// widgetKinds are all kinds in the order of a list of widgets. Clients ask for the status within a
// flow, which no type has, along with the others.
var widgetKinds = []widgetKind{
	{"ASSIGNEES", "Assignees", "assignees", true, false},
	{"AWARD_EMOJI", "AwardEmoji", "awardEmoji", true, true},
	{"COLOR", "Color", "color", false, true},
	{"CURRENT_USER_TODOS", "CurrentUserTodos", "currentUserTodos", true, true},
	{"DESCRIPTION", "Description", "description", true, true},
	{"HEALTH_STATUS", "HealthStatus", "healthStatus", true, false},
	{"HIERARCHY", "Hierarchy", "hierarchy", true, true},
	{"ITERATION", "Iteration", "iteration", true, false},
	{"LABELS", "Labels", "labels", true, true},
	{"LINKED_ITEMS", "LinkedItems", "linkedItems", true, true},
	{"MILESTONE", "Milestone", "milestone", true, false},
	{"NOTES", "Notes", "notes", true, true},
	{"NOTIFICATIONS", "Notifications", "notifications", true, true},
	{"START_AND_DUE_DATE", "StartAndDueDate", "startAndDueDate", true, true},
	{"", "Status", "status", false, false},
	{"WEIGHT", "Weight", "weight", true, false},
}

// has reports whether a work item has widgets of a kind.
func (k widgetKind) has(w *workItem) bool {
	if w.epic != nil {
		return k.ofEpics
	}
	return k.ofIssues
}

// workItemWidgets binds the widgets, as a list and by name.
func (b *binder) workItemWidgets() {
	value(b, "WorkItem.widgets", func(w *workItem) []any {
		var out []any
		for _, k := range widgetKinds {
			if k.has(w) {
				out = append(out, exec.As("WorkItemWidget"+k.typ, &widget{w}))
			}
		}
		return out
	})
	value(b, "WorkItem.features", func(w *workItem) *widget { return &widget{w} })
	for _, k := range widgetKinds {
		value(b, "WorkItemWidget"+k.typ+".type", func(*widget) string { return k.enum })
		value(b, "WorkItemFeatures."+k.field, func(w *widget) *widget {
			if !k.has(w.workItem) {
				return nil
			}
			return w
		})
	}
	b.plainWidgets()
	todosOn(b, "WorkItemWidgetCurrentUserTodos", func(w *widget) noteable.Ref { return w.ref() })
	b.widgetVotes()
	b.workItemNotes()
	b.workItemPermissions()
	b.hierarchyWidget()
	b.linkedItemsWidget()
}

// plainWidgets binds what work items hold themselves.
func (b *binder) plainWidgets() {
	value(b, "WorkItemWidgetAssignees.allowsMultipleAssignees", func(*widget) bool { return true }) // those of issues are a list
	exec.Batch(b.Schema, "WorkItemWidgetAssignees.canInviteMembers", func(ctx context.Context, c *exec.Call[exec.None], of []*widget) ([]bool, error) {
		return forEach(ctx, b, c, of, func(ctx context.Context, w *widget) (bool, error) {
			return b.Projects.May(ctx, c.As, w.issue.Project, authz.AdminMembers)
		})
	})
	kept(b, "WorkItemWidgetAssignees.assignees", func(w *widget) []*account.Summary { return w.issue.Assignees })
	value(b, "WorkItemWidgetColor.color", func(w *widget) string { return w.epic.Color })
	value(b, "WorkItemWidgetColor.textColor", func(w *widget) string { return w.epic.TextColor() })
	value(b, "WorkItemWidgetDescription.description", func(w *widget) *string { return w.description() })
	rendered(b, "WorkItemWidgetDescription.descriptionHtml", func(w *widget) (reference.Scope, *string) { return w.place(), w.description() })
	value(b, "WorkItemWidgetHealthStatus.healthStatus", func(w *widget) *string { return health(w.issue.Health) })
	value(b, "WorkItemWidgetIteration.iteration", func(w *widget) *iteration.Iteration { return w.issue.Iteration })
	kept(b, "WorkItemWidgetLabels.labels", func(w *widget) []*label.Label { return w.labels() })
	value(b, "WorkItemWidgetMilestone.milestone", func(w *widget) *milestone.Milestone { return w.issue.Milestone })
	value(b, "WorkItemWidgetStartAndDueDate.startDate", func(w *widget) *string { return w.dates().Start })
	value(b, "WorkItemWidgetStartAndDueDate.dueDate", func(w *widget) *string { return w.dates().Due })
	value(b, "WorkItemWidgetStatus.status", func(*widget) *workItemStatus { return nil })
	exec.Struct[*workItemStatus](b.Schema, "WorkItemStatus")
	value(b, "WorkItemWidgetWeight.weight", func(w *widget) *int64 { return w.issue.Weight })
}

// workItemStatus is a status within a flow.
type workItemStatus struct{ Name string }

// dates are the first and the last day; issues have the last one alone.
func (w *workItem) dates() epic.Dates {
	if w.epic != nil {
		return w.epic.Dates()
	}
	return epic.Dates{Due: w.issue.DueDate}
}

// ref names the work item for awards, subscriptions and to-do items.
func (w *workItem) ref() noteable.Ref { return w.item().Ref() }

// epicNumber is the number of an epic; 0 of an issue.
func (w *workItem) epicNumber() epic.ID {
	if w.epic == nil {
		return 0
	}
	return w.epic.ID
}

// widgetVotes binds votes and subscriptions, which the views of issues have already.
func (b *binder) widgetVotes() {
	votes := func(field string, ofIssue func(w *widget) int64, of func(v award.Votes) int64) {
		exec.Batch(b.Schema, "WorkItemWidgetAwardEmoji."+field, func(ctx context.Context, c *exec.Call[exec.None], list []*widget) ([]int64, error) {
			found, err := exec.LoadEach(ctx, c, "votes of epics", list, func(w *widget) int64 { return int64(w.epicNumber()) }, func(ctx context.Context, ids []int64) (map[int64]award.Votes, error) {
				return b.Awards.ForTargets(ctx, noteable.Epic, ids)
			})
			out := make([]int64, len(list))
			for i, v := range found {
				if out[i] = of(v); list[i].issue != nil {
					out[i] = ofIssue(list[i])
				}
			}
			return out, err
		})
	}
	votes("upvotes", func(w *widget) int64 { return w.issue.Related.Upvotes }, func(v award.Votes) int64 { return v.Up })
	votes("downvotes", func(w *widget) int64 { return w.issue.Related.Downvotes }, func(v award.Votes) int64 { return v.Down })
	one(b, "WorkItemWidgetNotifications.subscribed", "subscriptions", (*widget).ref, b.subscribed)
}

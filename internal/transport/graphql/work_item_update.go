package graphql

import (
	"context"
	"strings"

	"tenon/internal/core/authz"
	"tenon/internal/core/epic"
	"tenon/internal/core/issue"
	"tenon/internal/core/iteration"
	"tenon/internal/core/label"
	"tenon/internal/core/milestone"
	"tenon/internal/core/todo"
	"tenon/internal/core/workitem"
	"tenon/internal/transport/graphql/exec"
)

// workItemFields are what inputs of work items have in common; nil leaves alone.
type workItemFields struct {
	AssigneesWidget       *struct{ AssigneeIDs []globalID }
	ColorWidget           *struct{ Color string }
	Confidential          *bool
	DescriptionWidget     *struct{ Description string }
	HealthStatusWidget    *struct{ HealthStatus exec.Opt[string] }
	IterationWidget       *struct{ IterationID exec.Opt[globalID] }
	MilestoneWidget       *struct{ MilestoneID exec.Opt[globalID] }
	StartAndDueDateWidget *struct{ StartDate, DueDate exec.Opt[string] }
	WeightWidget          *struct{ Weight exec.Opt[int64] }
}

// widgets are those that some types lack.
func (f *workItemFields) widgets() []workitem.Widget {
	var out []workitem.Widget
	add := func(given bool, w workitem.Widget) {
		if given {
			out = append(out, w)
		}
	}
	add(f.AssigneesWidget != nil, workitem.Assignees)
	add(f.HealthStatusWidget != nil, workitem.HealthStatus)
	add(f.IterationWidget != nil, workitem.Iteration)
	add(f.MilestoneWidget != nil, workitem.Milestone)
	add(f.WeightWidget != nil, workitem.Weight)
	add(f.ColorWidget != nil, workitem.Color)
	add(f.StartAndDueDateWidget != nil && f.StartAndDueDateWidget.StartDate.Value != nil, workitem.StartDate)
	return out
}

// issueChanges are the changes of an issue; null takes away.
func (f *workItemFields) issueChanges() issue.Changes {
	c := issue.Changes{Attributes: issue.Attributes{Confidential: f.Confidential}}
	if w := f.DescriptionWidget; w != nil {
		c.Description = &w.Description
	}
	if w := f.AssigneesWidget; w != nil {
		ids := numbers[authz.UserID](w.AssigneeIDs)
		c.AssigneeIDs = &ids
	}
	if w := f.HealthStatusWidget; w != nil && w.HealthStatus.Set {
		c.Health = new(healths[zeroOr(w.HealthStatus.Value)])
	}
	if w := f.IterationWidget; w != nil && w.IterationID.Set {
		c.IterationID = new(iteration.ID(zeroOr(w.IterationID.Value).ID))
	}
	if w := f.MilestoneWidget; w != nil && w.MilestoneID.Set {
		c.MilestoneID = new(milestone.ID(zeroOr(w.MilestoneID.Value).ID))
	}
	if w := f.StartAndDueDateWidget; w != nil && w.DueDate.Set {
		c.DueDate = new(zeroOr(w.DueDate.Value))
	}
	if w := f.WeightWidget; w != nil && w.Weight.Set {
		c.Weight, c.ClearWeight = w.Weight.Value, w.Weight.Value == nil
	}
	return c
}

// epicChanges are the changes of an epic: days that are given are fixed, and null inherits them.
func (f *workItemFields) epicChanges() epic.Changes {
	c := epic.Changes{Confidential: f.Confidential}
	if w := f.DescriptionWidget; w != nil {
		c.Description = &w.Description
	}
	if w := f.ColorWidget; w != nil {
		c.Color = &w.Color
	}
	if w := f.StartAndDueDateWidget; w != nil {
		if w.StartDate.Set {
			c.StartIsFixed, c.StartFixed = new(w.StartDate.Value != nil), new(zeroOr(w.StartDate.Value))
		}
		if w.DueDate.Set {
			c.DueIsFixed, c.DueFixed = new(w.DueDate.Value != nil), new(zeroOr(w.DueDate.Value))
		}
	}
	return c
}

// updateWorkItemInput is what changes of a work item; nil leaves alone.
type updateWorkItemInput struct {
	workItemFields
	AwardEmojiWidget       *struct{ Action, Name string }
	CurrentUserTodosWidget *todosInput
	HierarchyWidget        *hierarchyInput
	ID                     globalID
	LabelsWidget           *struct{ AddLabelIDs, RemoveLabelIDs []string }
	NotificationsWidget    *struct{ Subscribed bool }
	StateEvent             string
	Title                  *string
}

// updateWorkItem changes a work item and its widgets.
func (b *binder) updateWorkItem(ctx context.Context, c *exec.Call[updateWorkItemInput]) (workItemPayload, error) {
	w, err := b.workItemNeeded(ctx, c.As, c.Args.ID)
	if err != nil {
		return workItemPayload{}, err
	}
	changes, err := c.Args.changes()
	if err == nil && c.Args.LabelsWidget != nil {
		changes.Issue.Labels, err = b.labelsOf(ctx, c.As, w, c.Args.LabelsWidget.AddLabelIDs, c.Args.LabelsWidget.RemoveLabelIDs)
		changes.Epic.Labels = changes.Issue.Labels
	}
	if err == nil {
		err = b.WorkItems.Update(ctx, c.As, w.item(), changes)
	}
	if err != nil {
		return workItemPayload{}, err
	}
	return b.workItemPayload(ctx, c.As, w.key(), nil)
}

// labelsOf are the labels that a work item gets and loses.
func (b *binder) labelsOf(ctx context.Context, as authz.Actor, w *workItem, add, remove []string) (out label.Assignment, err error) {
	var at authz.Place
	if w.issue != nil {
		at = w.issue.Project.Place()
	} else {
		g, err := b.Namespaces.FindByID(ctx, as, w.epic.GroupID)
		if err != nil {
			return out, err
		}
		at = g.Place()
	}
	if out.Add, err = b.labelTitles(ctx, as, at, nil, add); err != nil {
		return out, err
	}
	out.Remove, err = labelRefs(nil, remove)
	return out, err
}

// changes are those of the input, but for labels.
func (f *updateWorkItemInput) changes() (workitem.Changes, error) {
	out := workitem.Changes{Widgets: f.widgets(), Issue: f.issueChanges(), Epic: f.epicChanges()}
	state := strings.ToLower(f.StateEvent)
	out.Issue.Title, out.Issue.StateEvent = f.Title, state
	out.Epic.Title, out.Epic.StateEvent = f.Title, state
	if h := f.HierarchyWidget; h != nil {
		if h.ParentID.Set {
			parent, err := parentOf(h.ParentID.Value)
			if err != nil {
				return out, err
			}
			out.Issue.Epic, out.Epic.ParentID = &issue.EpicChoice{ID: int64(parent)}, &parent
		}
		for _, id := range h.ChildrenIDs {
			out.Children = append(out.Children, keyOf(id))
		}
		if h.AdjacentWorkItemID != nil {
			out.Beside = &workitem.Beside{Key: keyOf(*h.AdjacentWorkItemID), Before: h.RelativePosition == "BEFORE"}
		}
	}
	if a := f.AwardEmojiWidget; a != nil {
		out.Award = &workitem.Award{Name: a.Name, Remove: a.Action == "REMOVE"}
	}
	if n := f.NotificationsWidget; n != nil {
		out.Subscribed = &n.Subscribed
	}
	if t := f.CurrentUserTodosWidget; t != nil {
		out.Todos = &workitem.Todos{Add: t.Action == "ADD", Done: todo.ID(zeroOr(t.TodoID).ID)}
	}
	return out, nil
}

// todosInput is what is done with to-do items of the caller.
type todosInput struct {
	Action string
	TodoID *globalID // nil for all of the work item
}

package graphql

import (
	"context"
	"reflect"
	"strings"

	"tenon/internal/base/errs"
	"tenon/internal/core/authz"
	"tenon/internal/core/epic"
	"tenon/internal/core/issue"
	"tenon/internal/core/iteration"
	"tenon/internal/core/label"
	"tenon/internal/core/milestone"
	"tenon/internal/core/namespace"
	"tenon/internal/core/noteable"
	"tenon/internal/core/quickaction"
	"tenon/internal/core/subscription"
	"tenon/internal/core/todo"
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

// accepts refuses widgets that work items of the type do not have.
func (t *workItemType) accepts(in *workItemFields) error {
	var bad []string
	check := func(given bool, name string) {
		if given {
			bad = append(bad, name+" cannot be set for the type "+t.Name)
		}
	}
	if t.ofGroups() {
		check(in.AssigneesWidget != nil, "Assignees")
		check(in.HealthStatusWidget != nil, "Health status")
		check(in.IterationWidget != nil, "Iteration")
		check(in.MilestoneWidget != nil, "Milestone")
		check(in.WeightWidget != nil, "Weight")
	} else {
		check(in.ColorWidget != nil, "Color")
		check(in.StartAndDueDateWidget != nil && in.StartAndDueDateWidget.StartDate.Value != nil, "Start date")
	}
	if bad == nil {
		return nil
	}
	return errs.Sentences(errs.Invalid, bad...)
}

// issueChanges are the changes of an issue; null takes away.
func (f *workItemFields) issueChanges() issue.Changes {
	c := issue.Changes{Confidential: f.Confidential}
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

// updateWorkItem changes a work item and its widgets, all or nothing. The quick actions of the description run
// after that: they may write to the repository, and what they cannot do undoes nothing.
func (b *binder) updateWorkItem(ctx context.Context, c *exec.Call[updateWorkItemInput]) (workItemPayload, error) {
	in := c.Args
	w, err := b.workItemNeeded(ctx, c.As, in.ID)
	if err == nil {
		err = w.kind().accepts(&in.workItemFields)
	}
	if err != nil {
		return workItemPayload{}, err
	}
	g, err := b.groupOf(ctx, c.As, w)
	if err != nil {
		return workItemPayload{}, err
	}
	var commands []quickaction.Command
	err = b.Atomic(ctx, func(ctx context.Context) error {
		found, err := b.writeWorkItem(ctx, c.As, w, g, &in)
		commands = found
		if err == nil && in.HierarchyWidget != nil {
			err = b.arrange(ctx, c.As, w, g, in.HierarchyWidget)
		}
		if err == nil {
			err = b.ownOf(ctx, c.As, w, g, &in)
		}
		return err
	})
	if err == nil {
		err = b.runCommands(ctx, c.As, w, g, commands)
	}
	if err != nil {
		return workItemPayload{}, err
	}
	return b.workItemPayload(ctx, c.As, w.key(), nil)
}

// runCommands runs the quick actions of a new description.
func (b *binder) runCommands(ctx context.Context, as authz.Actor, w *workItem, g *namespace.Group, commands []quickaction.Command) error {
	var err error
	switch {
	case len(commands) == 0:
	case w.issue != nil:
		_, err = b.Commands.OnIssue(ctx, as, w.issue.Project, w.issue.IID, commands)
	default:
		_, err = b.Commands.OnEpic(ctx, as, g, w.epic.IID, commands)
	}
	return err
}

// groupOf finds the group of an epic; nil for issues.
func (b *binder) groupOf(ctx context.Context, as authz.Actor, w *workItem) (*namespace.Group, error) {
	if w.epic == nil {
		return nil, nil
	}
	return b.Namespaces.FindByID(ctx, as, w.epic.GroupID)
}

// writeWorkItem changes the columns of a work item, and returns the quick actions of its new description.
func (b *binder) writeWorkItem(ctx context.Context, as authz.Actor, w *workItem, g *namespace.Group, in *updateWorkItemInput) ([]quickaction.Command, error) {
	var labels label.Assignment
	if in.LabelsWidget != nil {
		var err error
		var at label.Place
		if w.issue != nil {
			at = label.In(w.issue.Project)
		} else {
			at = label.Of(g)
		}
		if labels.Add, err = b.labelTitles(ctx, as, at, nil, in.LabelsWidget.AddLabelIDs); err != nil {
			return nil, err
		}
		if labels.Remove, err = labelRefs(nil, in.LabelsWidget.RemoveLabelIDs); err != nil {
			return nil, err
		}
	}
	var parent *epic.ID
	if h := in.HierarchyWidget; h != nil && h.ParentID.Set {
		id, err := parentOf(h.ParentID.Value)
		if err != nil {
			return nil, err
		}
		parent = &id
	}
	if w.issue != nil {
		c := in.issueChanges()
		c.Title, c.StateEvent, c.Labels = in.Title, strings.ToLower(in.StateEvent), labels
		if parent != nil {
			c.Epic = &issue.EpicChoice{ID: int64(*parent)}
		}
		if reflect.ValueOf(c).IsZero() {
			return nil, nil
		}
		commands := b.Commands.CutIssue(&c)
		_, err := b.Issues.Update(ctx, as, w.issue.Project, w.issue.IID, c)
		return commands, err
	}
	c := in.epicChanges()
	c.Title, c.StateEvent, c.Labels, c.ParentID = in.Title, strings.ToLower(in.StateEvent), labels, parent
	if reflect.ValueOf(c).IsZero() {
		return nil, nil
	}
	commands := b.Commands.CutEpic(&c)
	_, err := b.Epics.Update(ctx, as, g, w.epic.IID, c)
	return commands, err
}

// on names a work item for subscriptions.
func (w *workItem) on(g *namespace.Group) subscription.On {
	if w.issue != nil {
		return subscription.On{Place: noteable.Place{Project: w.issue.Project}, Kind: noteable.Issue, Key: noteable.Key{Number: int64(w.issue.IID)}}
	}
	return subscription.On{Place: noteable.Place{Group: g}, Kind: noteable.Epic, Key: noteable.Key{IID: int64(w.epic.IID)}}
}

// todosInput is what is done with to-do items of the caller.
type todosInput struct {
	Action string
	TodoID *globalID // nil for all of the work item
}

// ownOf changes what the caller alone has of a work item: awards, the subscription and to-do items.
func (b *binder) ownOf(ctx context.Context, as authz.Actor, w *workItem, g *namespace.Group, in *updateWorkItemInput) error {
	if a := in.AwardEmojiWidget; a != nil {
		if err := b.award(ctx, as, w, a.Action, a.Name); err != nil {
			return err
		}
	}
	if n := in.NotificationsWidget; n != nil {
		if err := b.subscribe(ctx, as, w.on(g), n.Subscribed); err != nil {
			return err
		}
	}
	t := in.CurrentUserTodosWidget
	var err error
	switch {
	case t == nil:
	case t.Action == "ADD":
		if _, err = b.Todos.Add(ctx, as, w.on(g)); errs.Is(err, errs.NotModified) {
			err = nil // it waits already
		}
	case t.TodoID == nil:
		_, err = b.Todos.MarkDoneOn(ctx, as, w.ref())
	default:
		_, err = b.Todos.MarkDone(ctx, as, todo.ID(t.TodoID.ID))
	}
	return err
}

package graphql

import (
	"context"
	"strings"
	"time"

	"tenon/internal/base/errs"
	"tenon/internal/core/authz"
	"tenon/internal/core/epic"
	"tenon/internal/core/issue"
	"tenon/internal/core/project"
	"tenon/internal/core/workitem"
	"tenon/internal/transport/graphql/exec"
)

// workItemPayload is what mutations of work items give.
type workItemPayload struct{ WorkItem *workItem }

// createWorkItem is what a new work item is made of.
type createWorkItem struct {
	workItemFields
	CreatedAt                  *time.Time
	Description                *string
	HierarchyWidget            *struct{ ParentID *globalID }
	LabelsWidget               *struct{ LabelIDs []string }
	LinkedItemsWidget          *linksInput
	NamespacePath, ProjectPath *string
	Title                      string
	WorkItemTypeID             globalID
}

// linksInput names work items that a new one is related to.
type linksInput struct {
	LinkType     string
	WorkItemsIDs []globalID
}

const errOnePath argumentError = "One and only one of [namespacePath, projectPath] arguments is required."

// workItemMutations binds what is done with work items.
func (b *binder) workItemMutations() {
	exec.Mutation(b.Schema, "workItemCreate", func(ctx context.Context, c *exec.Call[createWorkItem]) (workItemPayload, error) {
		in := c.Args
		if (given(in.NamespacePath) == "") == (given(in.ProjectPath) == "") {
			return workItemPayload{}, errOnePath
		}
		t, err := typeNamed(in.WorkItemTypeID)
		if err == nil {
			err = t.Accepts(in.widgets())
		}
		if err != nil {
			return workItemPayload{}, err
		}
		related, err := b.relatable(ctx, c.As, t, in.LinkedItemsWidget)
		if err != nil {
			return workItemPayload{}, err
		}
		path := given(in.NamespacePath) + given(in.ProjectPath)
		var made workItemKey
		if t.OfGroups() {
			made, err = b.createEpicItem(ctx, c.As, path, &in)
		} else {
			made, err = b.createIssueItem(ctx, c.As, path, t, &in)
		}
		if err != nil {
			return workItemPayload{}, err
		}
		return b.workItemPayload(ctx, c.As, made, func(w *workItem) error { return b.relate(ctx, c.As, w, related, in.LinkedItemsWidget) })
	})
	exec.Mutation(b.Schema, "workItemUpdate", b.updateWorkItem)
	type deleted struct{ Project *project.Project }
	exec.Mutation(b.Schema, "workItemDelete", func(ctx context.Context, c *exec.Call[struct{ ID globalID }]) (deleted, error) {
		w, err := b.workItemNeeded(ctx, c.As, c.Args.ID)
		if err != nil {
			return deleted{}, err
		}
		if w.issue != nil {
			return deleted{w.issue.Project}, b.Issues.Delete(ctx, c.As, w.issue.Project, w.issue.IID)
		}
		g, err := b.Namespaces.FindByID(ctx, c.As, w.epic.GroupID)
		if err != nil {
			return deleted{}, err
		}
		return deleted{}, b.Epics.Delete(ctx, c.As, g, w.epic.IID)
	})
	exec.Mutation(b.Schema, "workItemConvert", func(ctx context.Context, c *exec.Call[struct{ ID, WorkItemTypeID globalID }]) (workItemPayload, error) {
		w, err := b.workItemNeeded(ctx, c.As, c.Args.ID)
		if err != nil {
			return workItemPayload{}, err
		}
		t, err := typeNamed(c.Args.WorkItemTypeID)
		switch {
		case err != nil:
			return workItemPayload{}, err
		case t == w.kind() && w.epic != nil:
			g, err := b.Namespaces.FindByID(ctx, c.As, w.epic.GroupID)
			if err == nil {
				_, err = b.Epics.Update(ctx, c.As, g, w.epic.IID, epic.Changes{})
			}
			return workItemPayload{w}, err
		case t.OfGroups() || w.epic != nil:
			return workItemPayload{}, errs.Sentences(errs.Invalid, "Work item type cannot be changed from "+w.kind().Name+" to "+t.Name)
		}
		if _, err := b.Issues.Update(ctx, c.As, w.issue.Project, w.issue.IID, issue.Changes{Attributes: issue.Attributes{Type: &t.Of}}); err != nil {
			return workItemPayload{}, err
		}
		return b.workItemPayload(ctx, c.As, w.key(), nil)
	})
}

// typeNamed finds the type with a global id.
func typeNamed(id globalID) (*workitem.Type, error) {
	if t := workitem.TypeByNumber(id.ID); t != nil {
		return t, nil
	}
	return nil, errNoPlace
}

// workItemNeeded finds a work item that has to be there.
func (b *binder) workItemNeeded(ctx context.Context, as authz.Actor, id globalID) (*workItem, error) {
	found, err := b.workItemsByKeys(ctx, as, []workItemKey{keyOf(id)})
	if w := found[keyOf(id)]; w != nil {
		return w, nil
	}
	return nil, missingOr(err)
}

// workItemPayload returns a work item that was written, after what else is done with it, if anything.
func (b *binder) workItemPayload(ctx context.Context, as authz.Actor, key workItemKey, then func(w *workItem) error) (workItemPayload, error) {
	found, err := b.workItemsByKeys(ctx, as, []workItemKey{key})
	if w := found[key]; err == nil && w != nil && then != nil {
		err = then(w)
	}
	return workItemPayload{found[key]}, err
}

func (b *binder) createIssueItem(ctx context.Context, as authz.Actor, path string, t *workitem.Type, in *createWorkItem) (workItemKey, error) {
	p, err := b.project(ctx, as, path)
	if err != nil {
		return workItemKey{}, err
	}
	c := in.issueChanges()
	made := issue.Input{
		Title: in.Title, Attributes: issue.Attributes{Type: &t.Of, Description: in.Description, Confidential: in.Confidential}, DueDate: notEmpty(c.DueDate), Weight: c.Weight,
		MilestoneID: c.MilestoneID, IterationID: c.IterationID, CreatedAt: in.CreatedAt,
	}
	if c.Description != nil {
		made.Description = c.Description
	}
	if c.Health != nil && *c.Health != "" {
		made.Health = c.Health
	}
	if c.AssigneeIDs != nil {
		made.AssigneeIDs = *c.AssigneeIDs
	}
	if in.HierarchyWidget != nil {
		parent, err := parentOf(in.HierarchyWidget.ParentID)
		if err != nil {
			return workItemKey{}, err
		}
		made.Epic.ID = int64(parent)
	}
	if in.LabelsWidget != nil {
		if made.Labels, err = b.labelTitles(ctx, as, p.Place(), nil, in.LabelsWidget.LabelIDs); err != nil {
			return workItemKey{}, err
		}
	}
	i, err := b.Issues.Create(ctx, as, p, made)
	if err != nil {
		return workItemKey{}, err
	}
	return workItemKey{ID: int64(i.ID)}, nil
}

func (b *binder) createEpicItem(ctx context.Context, as authz.Actor, path string, in *createWorkItem) (workItemKey, error) {
	g, err := b.group(ctx, as, path)
	if err != nil {
		return workItemKey{}, err
	}
	c := in.epicChanges()
	made := epic.Input{
		Title: in.Title, Description: in.Description, Confidential: zeroOr(in.Confidential), Color: zeroOr(c.Color), CreatedAt: in.CreatedAt,
		StartIsFixed: zeroOr(c.StartIsFixed), StartFixed: c.StartFixed, DueIsFixed: zeroOr(c.DueIsFixed), DueFixed: c.DueFixed,
	}
	if c.Description != nil {
		made.Description = c.Description
	}
	if in.HierarchyWidget != nil {
		if made.ParentID, err = parentOf(in.HierarchyWidget.ParentID); err != nil {
			return workItemKey{}, err
		}
	}
	if in.LabelsWidget != nil {
		if made.Labels, err = b.labelTitles(ctx, as, g.Place(), nil, in.LabelsWidget.LabelIDs); err != nil {
			return workItemKey{}, err
		}
	}
	e, err := b.Epics.Create(ctx, as, g, made)
	if err != nil {
		return workItemKey{}, err
	}
	return workItemKey{Epic: true, ID: int64(e.ID)}, nil
}

// notEmpty returns nil for a text that is empty.
func notEmpty(s *string) *string { return text(zeroOr(s)) }

// parentOf returns the epic that is named as a parent, 0 for none.
func parentOf(id *globalID) (epic.ID, error) {
	switch {
	case id == nil:
		return 0, nil
	case !isEpic(*id):
		return 0, errs.Sentences(errs.Invalid, "Parent must be an epic")
	}
	return epic.ID(id.ID), nil
}

// relatable finds the work items that a new one of a type is to be related to.
func (b *binder) relatable(ctx context.Context, as authz.Actor, t *workitem.Type, in *linksInput) ([]*workItem, error) {
	if in == nil {
		return nil, nil
	}
	var out []*workItem
	for _, id := range in.WorkItemsIDs {
		w, err := b.workItemNeeded(ctx, as, id)
		switch {
		case err != nil:
			return nil, err
		case w.kind().OfGroups() != t.OfGroups():
			return nil, errs.Sentences(errs.Invalid, "Epics and issues cannot be related to each other")
		}
		out = append(out, w)
	}
	return out, nil
}

// relate relates a work item to others of its kind.
func (b *binder) relate(ctx context.Context, as authz.Actor, w *workItem, to []*workItem, in *linksInput) error {
	for _, other := range to {
		kind := linkTypes[strings.ToUpper(in.LinkType)]
		if w.issue != nil {
			if _, err := b.Issues.Link(ctx, as, w.issue.Project, w.issue.IID, issue.Other{Project: other.issue.Project.FullPath, IID: other.issue.IID}, kind); err != nil {
				return err
			}
			continue
		}
		g, err := b.Namespaces.FindByID(ctx, as, w.epic.GroupID)
		if err == nil {
			_, err = b.Epics.Relate(ctx, as, g, w.epic.IID, epic.Other{Group: plainID(other.epic.GroupID), IID: other.epic.IID}, kind)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

package graphql

import (
	"context"

	"tenon/internal/core/authz"
	"tenon/internal/core/epic"
	"tenon/internal/core/issue"
	"tenon/internal/core/label"
	"tenon/internal/core/namespace"
	"tenon/internal/core/project"
	"tenon/internal/core/reference"
	"tenon/internal/core/workitem"
	"tenon/internal/transport/graphql/exec"
)

// workItem is an issue or an epic: one of the two is nil.
type workItem struct {
	issue *issue.View
	epic  *epic.Epic
}

type workItemKey = workitem.Key

// item is the work item as core takes it.
func (w *workItem) item() workitem.Item {
	if w.epic != nil {
		return workitem.Item{Epic: w.epic}
	}
	return workitem.Item{Issue: &w.issue.Issue, Project: w.issue.Project}
}

// keyOf reads the global id of a work item: an epic has that of an epic.
func keyOf(id globalID) workItemKey { return workItemKey{Epic: isEpic(id), ID: id.ID} }

// workItems binds issues and epics under one interface.
func (b *binder) workItems() {
	exec.Root(b.Schema, "workItem", func(ctx context.Context, c *exec.Call[struct{ ID globalID }]) (*workItem, error) {
		key := keyOf(c.Args.ID)
		found, err := b.workItemsByKeys(ctx, c.As, []workItemKey{key})
		return found[key], hidden(err)
	})
	both := func(field string, ofIssue, ofEpic func(w *workItem) any) {
		exec.Value(b.Schema, "WorkItem."+field, func(w *workItem) any {
			if w.epic != nil {
				return ofEpic(w)
			}
			return ofIssue(w)
		})
	}
	both("id", func(w *workItem) any { return gid("WorkItem", w.issue.ID) }, func(w *workItem) any { return gid("Epic", w.epic.ID) })
	both("iid", func(w *workItem) any { return w.issue.IID }, func(w *workItem) any { return w.epic.IID })
	value(b, "WorkItem.title", (*workItem).title)
	value(b, "WorkItem.description", (*workItem).description)
	both("confidential", func(w *workItem) any { return w.issue.Confidential }, func(w *workItem) any { return w.epic.Confidential })
	both("webUrl", func(w *workItem) any { return w.issue.URL }, func(w *workItem) any { return b.URLs.Epic(w.epic.Path, int64(w.epic.IID)) })
	both("createdAt", func(w *workItem) any { return w.issue.CreatedAt }, func(w *workItem) any { return w.epic.CreatedAt })
	both("updatedAt", func(w *workItem) any { return w.issue.UpdatedAt }, func(w *workItem) any { return w.epic.UpdatedAt })
	both("closedAt", func(w *workItem) any { return w.issue.ClosedAt }, func(w *workItem) any { return w.epic.ClosedAt })
	value(b, "WorkItem.state", func(w *workItem) string {
		if w.open() {
			return "OPEN"
		}
		return "CLOSED"
	})
	value(b, "WorkItem.project", func(w *workItem) *project.Project {
		if w.issue == nil {
			return nil
		}
		return w.issue.Project
	})
	value(b, "WorkItem.workItemType", (*workItem).kind)
	exec.ValueWith(b.Schema, "WorkItem.reference", func(w *workItem, a full) string {
		if w.epic != nil {
			return a.of(w.epic.Path, w.epic.IID.Reference())
		}
		return a.of(w.issue.Project.FullPath, w.issue.IID.Reference())
	})
	b.workItemRelations()
	b.workItemTypes()
	b.workItemWidgets()
	b.workItemLists()
	b.workItemMutations()
	exec.Connection[*workItem](b.Schema, "WorkItem")
}

// workItemRelations binds where work items stand, their authors and what is rendered.
func (b *binder) workItemRelations() {
	exec.Batch(b.Schema, "WorkItem.namespace", func(ctx context.Context, c *exec.Call[exec.None], of []*workItem) ([]*namespace.Namespace, error) {
		ids := make([]namespace.ID, len(of))
		for i, w := range of {
			if ids[i] = w.groupID(); w.issue != nil {
				ids[i] = w.issue.Project.NamespaceID
			}
		}
		found, err := spaces(ctx, b, c, ids)
		out := make([]*namespace.Namespace, len(of))
		for i, id := range ids {
			out[i] = found[id]
		}
		return out, err
	})
	exec.Batch(b.Schema, "WorkItem.author", func(ctx context.Context, c *exec.Call[exec.None], of []*workItem) ([]*user, error) {
		out, err := exec.LoadEach(ctx, c, "users", of, func(w *workItem) authz.UserID {
			if w.epic == nil {
				return 0
			}
			return w.epic.AuthorID
		}, b.Accounts.ByIDs)
		for i, w := range of {
			if w.issue != nil && err == nil {
				out[i] = w.issue.Author
			}
		}
		return out, err
	})
	renderedTitle(b, "WorkItem.titleHtml", func(w *workItem) (reference.Scope, *string) { return w.place(), new(w.title()) })
	rendered(b, "WorkItem.descriptionHtml", func(w *workItem) (reference.Scope, *string) { return w.place(), w.description() })
}

// title is that of the work item.
func (w *workItem) title() string {
	if w.epic != nil {
		return w.epic.Title
	}
	return w.issue.Title
}

// place is what references in the texts of the work item are resolved in.
func (w *workItem) place() reference.Scope {
	if w.epic != nil {
		return reference.Scope{Group: w.epic.GroupID, GroupPath: w.epic.Path}
	}
	return reference.Of(w.issue.Project)
}

// description is that of the work item, in Markdown; nil for none.
func (w *workItem) description() *string {
	if w.epic != nil {
		return w.epic.Description
	}
	return w.issue.Description
}

// open reports whether work on it goes on.
func (w *workItem) open() bool {
	if w.epic != nil {
		return w.epic.State == epic.StateOpened
	}
	return w.issue.State == issue.StateOpened
}

// groupID is the group of an epic; 0 of an issue.
func (w *workItem) groupID() namespace.ID {
	if w.epic == nil {
		return 0
	}
	return w.epic.GroupID
}

// labels are those of the work item, by title.
func (w *workItem) labels() []*label.Label {
	if w.epic != nil {
		return pointers(w.epic.Labels)
	}
	return pointers(w.issue.Labels)
}

// ofIssue and ofEpic make work items; nil stays nil.
func ofIssue(i *issue.View) *workItem {
	if i == nil {
		return nil
	}
	return &workItem{issue: i}
}

func ofEpic(e *epic.Epic) *workItem {
	if e == nil {
		return nil
	}
	return &workItem{epic: e}
}

// workItemsByKeys returns the work items that the caller may read.
func (b *binder) workItemsByKeys(ctx context.Context, as authz.Actor, keys []workItemKey) (map[workItemKey]*workItem, error) {
	var issues []issue.ID
	var epics []epic.ID
	for _, k := range keys {
		if k.Epic {
			epics = append(epics, epic.ID(k.ID))
		} else {
			issues = append(issues, issue.ID(k.ID))
		}
	}
	out := make(map[workItemKey]*workItem, len(keys))
	foundIssues, err := b.issuesByIDs(ctx, as, issues)
	if err != nil {
		return nil, err
	}
	for id, i := range foundIssues {
		out[workItemKey{ID: int64(id)}] = ofIssue(i)
	}
	foundEpics, err := b.Epics.ByIDs(ctx, as, epics)
	for id, e := range foundEpics {
		out[workItemKey{Epic: true, ID: int64(id)}] = ofEpic(e)
	}
	return out, err
}

// workItemViews returns the rows of lists as work items, with the statements of one.
func (b *binder) workItemViews(as authz.Actor) func(ctx context.Context, rows []epic.Item) ([]*workItem, error) {
	return func(ctx context.Context, rows []epic.Item) ([]*workItem, error) {
		var issues []issue.Issue
		for _, r := range rows {
			if r.Issue != nil {
				issues = append(issues, *r.Issue)
			}
		}
		views, err := b.issueViews(as)(ctx, issues)
		if err != nil {
			return nil, err
		}
		out := make([]*workItem, len(rows))
		for i, r := range rows {
			if r.Epic != nil {
				out[i] = ofEpic(r.Epic)
				continue
			}
			out[i], views = ofIssue(views[0]), views[1:]
		}
		return out, nil
	}
}

package graphql

import (
	"context"

	"tenon/internal/core/epic"
	"tenon/internal/core/issue"
	"tenon/internal/transport/graphql/exec"
)

// workItemPermissions binds what the caller may do with work items.
func (b *binder) workItemPermissions() {
	exec.Batch(b.Schema, "WorkItem.userPermissions", func(ctx context.Context, c *exec.Call[exec.None], of []*workItem) ([]issue.Permissions, error) {
		out := make([]issue.Permissions, len(of))
		issues, err := exec.LoadEach(ctx, c, "permissions of issues", of, func(w *workItem) issue.ID {
			if w.issue == nil {
				return 0
			}
			return w.issue.ID
		}, func(ctx context.Context, ids []issue.ID) (map[issue.ID]issue.Permissions, error) {
			return b.Issues.Permissions(ctx, c.As, ids)
		})
		if err != nil {
			return nil, err
		}
		epics, err := exec.LoadEach(ctx, c, "permissions of epics", of, (*workItem).epicNumber, func(ctx context.Context, ids []epic.ID) (map[epic.ID]epic.Permissions, error) {
			return b.Epics.Permissions(ctx, c.As, ids)
		})
		for i := range epics {
			if out[i] = issues[i]; of[i].epic != nil {
				e := epics[i]
				out[i] = issue.Permissions{Update: e.Update, Metadata: e.Update, Link: e.Link, Delete: e.Delete, Comment: e.Comment}
			}
		}
		return out, err
	})
	for field, of := range map[string]func(p issue.Permissions) bool{
		"adminParentLink": func(p issue.Permissions) bool { return p.Link }, "adminWorkItem": func(p issue.Permissions) bool { return p.Metadata },
		"createNote": func(p issue.Permissions) bool { return p.Comment }, "deleteWorkItem": func(p issue.Permissions) bool { return p.Delete },
		"readWorkItem":        func(issue.Permissions) bool { return true }, // or it is not shown
		"setWorkItemMetadata": func(p issue.Permissions) bool { return p.Metadata }, "updateWorkItem": func(p issue.Permissions) bool { return p.Update },
	} {
		value(b, "WorkItemPermissions."+field, of)
	}
}

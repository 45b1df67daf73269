package graphql

import (
	"context"

	"tenon/internal/base/page"
	"tenon/internal/core/authz"
	"tenon/internal/core/epic"
	"tenon/internal/core/note"
	"tenon/internal/transport/graphql/exec"
)

// workItemNotes binds the discussions and the awards of work items.
func (b *binder) workItemNotes() {
	awardsOf(b, "WorkItemWidgetAwardEmoji", b.onWorkItems, b.noteable)
	exec.Batch(b.Schema, "WorkItemWidgetNotes.discussions", func(ctx context.Context, c *exec.Call[struct {
		After  *string
		First  *int
		Filter string
	}], of []*widget,
	) ([]*exec.Page[*thread], error) {
		spots, err := b.onWorkItems(ctx, c.As, of)
		if err != nil {
			return nil, err
		}
		return lists(ctx, part(b, c, paging{After: c.Args.After, First: c.Args.First}, maxPage), spots, func(ctx context.Context, at spot, r page.Range) (page.Page[*thread], error) {
			found, _, err := b.Notes.ListDiscussionsOf(ctx, c.As, at.on, activities[c.Args.Filter], r)
			return page.Map(found, func(d *note.Discussion) *thread { return &thread{*d, at} }), err
		}, same)
	})
}

// onWorkItems says what the notes of work items are on.
func (b *binder) onWorkItems(ctx context.Context, as authz.Actor, list []*widget) ([]spot, error) {
	out := make([]spot, len(list))
	var epics []*epic.Epic
	var numbers []int
	for i, w := range list {
		if w.issue != nil {
			out[i] = onIssue(w.issue)
			continue
		}
		epics, numbers = append(epics, w.epic), append(numbers, i)
	}
	if epics == nil {
		return out, nil
	}
	spots, err := b.onEpics(ctx, as, epics)
	for k, at := range spots {
		out[numbers[k]] = at
	}
	return out, err
}

package graphql

import (
	"context"
	"strings"
	"time"

	"tenon/internal/base/page"
	"tenon/internal/core/activity"
	"tenon/internal/core/authz"
	"tenon/internal/core/epic"
	"tenon/internal/core/noteable"
	"tenon/internal/transport/graphql/exec"
)

// events binds what people did.
func (b *binder) events() {
	exec.Batch(b.Schema, "Epic.events", func(ctx context.Context, c *exec.Call[paging], of []*epic.Epic) ([]*exec.Page[*activity.Event], error) {
		return lists(ctx, part(b, c, c.Args, maxPage), of, func(ctx context.Context, e *epic.Epic, r page.Range) (page.Page[*activity.Event], error) {
			list, err := b.Activity.List(ctx, c.As, activity.Filter{Group: e.GroupID, TargetType: string(noteable.Epic), Target: int64(e.ID), Range: r})
			return page.Pointers(list), err
		}, same)
	})
	value(b, "Event.id", func(e *activity.Event) string { return gid("Event", e.ID) })
	value(b, "Event.action", func(e *activity.Event) string { return strings.ToUpper(e.Action) })
	value(b, "Event.createdAt", func(e *activity.Event) time.Time { return e.CreatedAt.Time })
	value(b, "Event.updatedAt", func(e *activity.Event) time.Time { return e.CreatedAt.Time })
	one(b, "Event.author", "users", func(e *activity.Event) authz.UserID { return e.AuthorID }, b.usersByIDs)
	exec.Connection[*activity.Event](b.Schema, "Event")
}

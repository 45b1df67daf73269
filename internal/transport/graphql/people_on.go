package graphql

import (
	"context"

	"tenon/internal/base/page"
	"tenon/internal/core/authz"
	"tenon/internal/transport/graphql/exec"
)

// usersOfPage returns users by their ids, one for each row.
func (b *binder) usersOfPage(ctx context.Context, ids []authz.UserID) ([]*user, error) {
	found, err := b.Accounts.ByIDs(ctx, ids)
	out := make([]*user, len(ids))
	for i, id := range ids {
		out[i] = found[id]
	}
	return out, err
}

// peopleOn answers a field with users who have to do with things.
func peopleOn[P any](b *binder, field string, list func(ctx context.Context, as authz.Actor, thing P, r page.Range) (page.Page[authz.UserID], error)) {
	exec.Batch(b.Schema, field, func(ctx context.Context, c *exec.Call[paging], of []P) ([]*exec.Page[*user], error) {
		return lists(ctx, part(b, c, c.Args, maxPage), of, func(ctx context.Context, thing P, r page.Range) (page.Page[authz.UserID], error) {
			return list(ctx, c.As, thing, r)
		}, b.usersOfPage)
	})
}

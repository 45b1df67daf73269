package graphql

import (
	"context"
	"strings"

	"tenon/internal/core/account"
	"tenon/internal/transport/graphql/exec"
)

// byIID is the value of VisibilityPipelineIdType for those who want pipelines named by their iid.
const byIID = "IID"

// preferences binds what users want to see: each reads and changes only what is their own.
func (b *binder) preferences() {
	exec.Batch(b.Schema, "UserCore.userPreferences", func(ctx context.Context, c *exec.Call[exec.None], of []*user) ([]*account.User, error) {
		out := make([]*account.User, len(of))
		var own *account.User
		for i, u := range of {
			if u.ID != c.As.UserID {
				continue
			}
			if own == nil {
				found, err := b.Accounts.Current(ctx, c.As)
				if err != nil {
					return nil, err
				}
				own = found
			}
			out[i] = own
		}
		return out, nil
	})
	value(b, "UserPreferences.issuesSort", func(u *account.User) *string { return text(strings.ToUpper(u.IssuesSort)) })
	value(b, "UserPreferences.visibilityPipelineIdType", func(u *account.User) string {
		if u.PipelineIIDs {
			return byIID
		}
		return "ID"
	})

	type payload struct{ UserPreferences *account.User }
	exec.Mutation(b.Schema, "userPreferencesUpdate", func(ctx context.Context, c *exec.Call[struct{ IssuesSort, VisibilityPipelineIDType *string }]) (payload, error) {
		var p account.Preferences
		if sort := c.Args.IssuesSort; sort != nil {
			order := strings.ToLower(*sort)
			p.IssuesSort = &order
		}
		if by := c.Args.VisibilityPipelineIDType; by != nil {
			iid := *by == byIID
			p.PipelineIIDs = &iid
		}
		u, err := b.Accounts.Prefer(ctx, c.As, p)
		return payload{u}, err
	})
}

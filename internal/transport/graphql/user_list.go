package graphql

import (
	"context"

	"tenon/internal/base/page"
	"tenon/internal/core/account"
	"tenon/internal/core/authz"
	"tenon/internal/core/namespace"
	"tenon/internal/core/project"
	"tenon/internal/transport/graphql/exec"
)

// userLists binds lists of users, and what belongs to them.
func (b *binder) userLists() {
	type filter struct {
		paging
		Admins         *bool
		GroupID        *globalID
		IDs, Usernames []string
		Search, Sort   *string
	}
	exec.Root(b.Schema, "users", func(ctx context.Context, c *exec.Call[filter]) (*exec.Page[*user], error) {
		f := account.Filter{Admins: zeroOr(c.Args.Admins), Usernames: c.Args.Usernames}
		if c.Args.Search != nil && *c.Args.Search != "" {
			f.Search = c.Args.Search
		}
		var err error
		if f.IDs, err = idsOf[authz.UserID]("User", c.Args.IDs); err != nil {
			return nil, err
		}
		f.OrderBy, f.Asc = page.Sorted(zeroOr(c.Args.Sort))
		if c.Args.GroupID != nil {
			g, err := b.Namespaces.FindByID(ctx, c.As, namespace.ID(c.Args.GroupID.ID))
			if err != nil {
				return nil, hidden(err)
			}
			f.In = g.ID
		}
		return list(ctx, part(b, c, c.Args.paging, maxPage), func(ctx context.Context, r page.Range) (page.Page[*account.User], error) {
			f := f
			f.Range = r
			return b.Accounts.List(ctx, c.As, f)
		}, func(_ context.Context, rows []*account.User) ([]*user, error) {
			out := make([]*user, len(rows))
			for i, u := range rows {
				out[i] = b.Accounts.Summary(u)
			}
			return out, nil
		})
	})
	b.userPlaces()
	b.userProjects()
	b.userAddresses()
	b.userRequests()
	type permissions struct{ CreateSnippet bool }
	exec.Batch(b.Schema, "User.userPermissions", func(ctx context.Context, c *exec.Call[exec.None], of []*user) ([]permissions, error) {
		may, err := b.Snippets.MayCreate(ctx, c.As)
		out := make([]permissions, len(of))
		for i := range out {
			out[i].CreateSnippet = may
		}
		return out, err
	})
	exec.Struct[permissions](b.Schema, "UserPermissions")
}

// userPlaces binds the namespace of users, and their groups.
func (b *binder) userPlaces() {
	id := func(u *user) authz.UserID { return u.ID }
	one(b, "User.namespace", "personal namespaces", id, b.Namespaces.PersonalOf)
	one(b, "User.groupCount", "numbers of groups", id, func(ctx context.Context, as authz.Actor, ids []authz.UserID) (map[authz.UserID]*int64, error) {
		counts, err := b.Namespaces.GroupCounts(ctx, as, ids)
		return held(counts), err
	})
	type filter struct {
		paging
		PermissionScope, Search *string
	}
	exec.Batch(b.Schema, "User.groups", func(ctx context.Context, c *exec.Call[filter], of []*user) ([]*exec.Page[*namespace.Group], error) {
		return lists(ctx, part(b, c, c.Args.paging, maxPage), of, func(ctx context.Context, u *user, r page.Range) (page.Page[*namespace.Group], error) {
			f := namespace.GroupFilter{DirectOf: u.ID, Search: searched(c.Args.Search), Range: r}
			scope := zeroOr(c.Args.PermissionScope)
			if scope != "" && u.ID == c.As.UserID {
				f.DirectOf, f.MemberOnly = 0, true
			}
			switch scope {
			case "CREATE_PROJECTS":
				f.TakesProjects = true
			case "IMPORT_PROJECTS", "TRANSFER_PROJECTS":
				f.TakesTransfers = true
			}
			return b.groupPage(ctx, c.As, f)
		}, same)
	}, exec.Costly)
}

// userProjects binds the projects of users.
func (b *binder) userProjects() {
	type search struct {
		paging
		Search *string
	}
	exec.Batch(b.Schema, "User.starredProjects", func(ctx context.Context, c *exec.Call[search], of []*user) ([]*exec.Page[*project.Project], error) {
		return lists(ctx, part(b, c, c.Args.paging, maxPage), of, func(ctx context.Context, u *user, r page.Range) (page.Page[*project.Project], error) {
			return b.Projects.List(ctx, c.As, project.Filter{StarredBy: u.ID, Search: searched(c.Args.Search), Range: r})
		}, same)
	}, exec.Costly)
	exec.Batch(b.Schema, "User.contributedProjects", func(ctx context.Context, c *exec.Call[paging], of []*user) ([]*exec.Page[*project.Project], error) {
		return lists(ctx, part(b, c, c.Args, maxPage), of, func(ctx context.Context, u *user, r page.Range) (page.Page[*project.Project], error) {
			return b.Projects.List(ctx, c.As, project.Filter{ContributedBy: u.ID, Range: r})
		}, same)
	}, exec.Costly)
}

// userAddresses binds the email addresses of users: their own.
func (b *binder) userAddresses() {
	exec.Batch(b.Schema, "User.emails", func(ctx context.Context, c *exec.Call[paging], of []*user) ([]*exec.Page[*account.Address], error) {
		return lists(ctx, part(b, c, c.Args, maxPage), of, func(ctx context.Context, u *user, r page.Range) (page.Page[*account.Address], error) {
			id := u.ID
			if id == c.As.UserID {
				id = 0
			}
			found, err := b.Accounts.Emails(ctx, c.As, id, r)
			return page.Pointers(found), err
		}, same)
	})
	value(b, "Email.id", func(a *account.Address) string { return gid("Email", a.ID) })
	exec.Struct[*account.Address](b.Schema, "Email")
	exec.Connection[*account.Address](b.Schema, "Email")
}

package graphql

import (
	"context"

	"tenon/internal/core/authz"
	"tenon/internal/core/mergerequest"
	"tenon/internal/core/project"
	"tenon/internal/transport/graphql/exec"
)

// userRequests is the arguments of lists of the merge requests of users. A list lacks the username of the part that its user has.
type userRequests struct {
	paging
	requestFilter `exec:"some"`

	ProjectID   *globalID
	ProjectPath *string
}

// userRequests binds the merge requests that users have something to do with.
func (b *binder) userRequests() {
	b.requestsOf("authoredMergeRequests", func(f *mergerequest.Filter, id authz.UserID) { f.Author.ID = id })
	b.requestsOf("assignedMergeRequests", func(f *mergerequest.Filter, id authz.UserID) { f.Assignee.ID = id })
	b.requestsOf("reviewRequestedMergeRequests", func(f *mergerequest.Filter, id authz.UserID) { f.Reviewer.ID = id })
}

// requestsOf binds a list of merge requests of users: of says what the users are to the merge requests.
func (b *binder) requestsOf(field string, of func(f *mergerequest.Filter, id authz.UserID)) {
	exec.Batch(b.Schema, "User."+field, func(ctx context.Context, c *exec.Call[userRequests], users []*user) ([]*exec.Page[*mergerequest.View], error) {
		f, err := c.Args.filter()
		if err != nil {
			return nil, err
		}
		p, err := b.within(ctx, c.As, c.Args.ProjectID, c.Args.ProjectPath)
		if hidden(err) != nil {
			return nil, err
		}
		missing := err != nil
		var in authz.Place
		if p != nil {
			in = p.Place()
		}
		return requestLists(ctx, part(b, c, c.Args.paging, maxPage), users, func(u *user) (authz.Place, mergerequest.Filter) {
			f := f
			of(&f, u.ID)
			f.Author.Nothing = f.Author.Nothing || missing
			return in, f
		})
	}, exec.Costly)
}

// within finds the project that arguments of a list name, nil where they name none.
func (b *binder) within(ctx context.Context, as authz.Actor, id *globalID, path *string) (*project.Project, error) {
	switch {
	case id != nil:
		return b.Projects.FindByID(ctx, as, project.ID(id.ID))
	case path != nil:
		return b.project(ctx, as, *path)
	}
	return nil, nil
}

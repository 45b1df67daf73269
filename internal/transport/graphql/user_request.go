package graphql

import (
	"context"
	"time"

	"tenon/internal/core/authz"
	"tenon/internal/core/mergerequest"
	"tenon/internal/core/project"
	"tenon/internal/transport/graphql/exec"
)

// userRequests is the arguments that all lists of the merge requests of users have.
type userRequests struct {
	paging
	CreatedAfter, CreatedBefore, UpdatedAfter, UpdatedBefore, MergedAfter, MergedBefore *time.Time
	Draft                                                                               *bool
	IIDs, Labels, SourceBranches, TargetBranches                                        []string
	MilestoneTitle, Sort, State, ProjectPath                                            *string
	ProjectID                                                                           *globalID
	Not                                                                                 *struct {
		Labels         []string
		MilestoneTitle *string
	}
}

// common returns the arguments in the form of other lists of merge requests.
func (a *userRequests) common() requestFilter {
	return requestFilter{
		CreatedAfter: a.CreatedAfter, CreatedBefore: a.CreatedBefore, UpdatedAfter: a.UpdatedAfter, UpdatedBefore: a.UpdatedBefore,
		MergedAfter: a.MergedAfter, MergedBefore: a.MergedBefore, Draft: a.Draft, IIDs: a.IIDs, Labels: a.Labels, Not: a.Not,
		SourceBranches: a.SourceBranches, TargetBranches: a.TargetBranches, MilestoneTitle: a.MilestoneTitle, Sort: a.Sort, State: a.State,
	}
}

// userRequests binds the merge requests that users have something to do with.
func (b *binder) userRequests() {
	type authored struct {
		userRequests
		AssigneeUsername, ReviewerUsername *string
	}
	requestsOf(b, "authoredMergeRequests", func(a *authored) (*userRequests, requestFilter) {
		f := a.common()
		f.AssigneeUsername, f.ReviewerUsername = a.AssigneeUsername, a.ReviewerUsername
		return &a.userRequests, f
	}, func(f *mergerequest.Filter, id authz.UserID) { f.Author.ID = id })
	type assigned struct {
		userRequests
		AuthorUsername, ReviewerUsername *string
	}
	requestsOf(b, "assignedMergeRequests", func(a *assigned) (*userRequests, requestFilter) {
		f := a.common()
		f.AuthorUsername, f.ReviewerUsername = a.AuthorUsername, a.ReviewerUsername
		return &a.userRequests, f
	}, func(f *mergerequest.Filter, id authz.UserID) { f.Assignee.ID = id })
	type reviewing struct {
		userRequests
		AssigneeUsername, AuthorUsername *string
	}
	requestsOf(b, "reviewRequestedMergeRequests", func(a *reviewing) (*userRequests, requestFilter) {
		f := a.common()
		f.AssigneeUsername, f.AuthorUsername = a.AssigneeUsername, a.AuthorUsername
		return &a.userRequests, f
	}, func(f *mergerequest.Filter, id authz.UserID) { f.Reviewer.ID = id })
}

// requestsOf binds a list of merge requests of users: args gives its arguments, of says what the
// users are to the merge requests.
func requestsOf[A any](b *binder, field string, args func(a *A) (*userRequests, requestFilter), of func(f *mergerequest.Filter, id authz.UserID)) {
	exec.Batch(b.Schema, "User."+field, func(ctx context.Context, c *exec.Call[A], users []*user) ([]*exec.Page[*mergerequest.View], error) {
		common, filter := args(&c.Args)
		f, err := filter.filter()
		if err != nil {
			return nil, err
		}
		in, err := b.within(ctx, c.As, common.ProjectID, common.ProjectPath)
		if hidden(err) != nil {
			return nil, err
		}
		missing := err != nil
		return requestLists(ctx, part(b, c, common.paging, maxPage), users, func(u *user) (mergerequest.Place, mergerequest.Filter) {
			f := f
			of(&f, u.ID)
			f.Author.Nothing = f.Author.Nothing || missing
			return mergerequest.Place{Project: in}, f
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

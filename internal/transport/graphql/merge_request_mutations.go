package graphql

import (
	"context"
	"strings"

	"tenon/internal/core/authz"
	"tenon/internal/core/label"
	"tenon/internal/core/mergerequest"
	"tenon/internal/core/milestone"
	"tenon/internal/core/noteable"
	"tenon/internal/core/project"
	"tenon/internal/core/subscription"
	"tenon/internal/core/timelog"
	"tenon/internal/transport/graphql/exec"
)

// requestPayload is what mutations of merge requests give.
type requestPayload struct{ MergeRequest *mergerequest.View }

// requestPath names a merge request: the input of a mutation embeds it.
type requestPath struct{ ProjectPath, IID string }

// requestMutations binds what is done with merge requests.
func (b *binder) requestMutations() {
	exec.Mutation(b.Schema, "mergeRequestCreate", func(ctx context.Context, c *exec.Call[struct {
		ProjectPath, Title, SourceBranch, TargetBranch string
		Description                                    *string
		Labels                                         []string
		RemoveSourceBranch                             *bool
	}],
	) (requestPayload, error) {
		p, err := b.project(ctx, c.As, c.Args.ProjectPath)
		if err != nil {
			return requestPayload{}, err
		}
		in := c.Args
		m, _, err := b.MergeRequests.Create(ctx, c.As, p, mergerequest.Input{
			Title: in.Title, SourceBranch: in.SourceBranch, TargetBranch: in.TargetBranch, Description: in.Description,
			Labels: in.Labels, RemoveSource: in.RemoveSourceBranch,
		})
		return b.requestPayload(ctx, c.As, m, err)
	})
	requestChange(b, "mergeRequestUpdate", func(_ context.Context, _ authz.Actor, _ *project.Project, _ *mergerequest.MergeRequest, in struct {
		requestPath
		Title, Description, TargetBranch, TimeEstimate, State *string
	},
	) (mergerequest.Changes, error) {
		change := mergerequest.Changes{
			Title: in.Title, Description: in.Description, TargetBranch: in.TargetBranch, Time: timelog.Change{Estimate: in.TimeEstimate},
			Event: map[string]mergerequest.Event{"OPEN": mergerequest.Reopen, "CLOSED": mergerequest.Close}[zeroOr(in.State)],
		}
		return change, nil
	})
	exec.Mutation(b.Schema, "mergeRequestAccept", func(ctx context.Context, c *exec.Call[struct {
		requestPath
		SHA, CommitMessage, SquashCommitMessage, Strategy string
		Squash                                            bool
		ShouldRemoveSourceBranch                          *bool
	}],
	) (requestPayload, error) {
		p, err := b.project(ctx, c.As, c.Args.ProjectPath)
		if err != nil {
			return requestPayload{}, err
		}
		in := c.Args
		m, err := b.MergeRequests.Merge(ctx, c.As, p, mergerequest.IID(number(in.IID)), mergerequest.MergeInput{
			SHA: in.SHA, MergeMessage: in.CommitMessage, SquashMessage: in.SquashCommitMessage, Squash: in.Squash,
			RemoveSource: in.ShouldRemoveSourceBranch, WhenReady: in.Strategy != "",
		})
		return b.requestPayload(ctx, c.As, m, err)
	})
	b.requestPeopleMutations()
	b.requestSetters()
}

// requestPayload shows a merge request that a mutation gives.
func (b *binder) requestPayload(ctx context.Context, as authz.Actor, m *mergerequest.MergeRequest, err error) (requestPayload, error) {
	if err != nil {
		return requestPayload{}, err
	}
	views, err := b.requestViews(as)(ctx, []*mergerequest.MergeRequest{m})
	if err != nil {
		return requestPayload{}, err
	}
	return requestPayload{views[0]}, nil
}

// namesRequest is an input that names a merge request.
type namesRequest interface {
	names() (projectPath string, iid mergerequest.IID)
}

func (r requestPath) names() (projectPath string, iid mergerequest.IID) {
	return r.ProjectPath, mergerequest.IID(number(r.IID))
}

// requestChange binds a mutation that changes a merge request: change says how, and gets the merge
// request as it is.
func requestChange[I namesRequest](b *binder, field string, change func(ctx context.Context, as authz.Actor, p *project.Project, m *mergerequest.MergeRequest, in I) (mergerequest.Changes, error)) {
	exec.Mutation(b.Schema, field, func(ctx context.Context, c *exec.Call[I]) (requestPayload, error) {
		p, m, err := b.requestNamed(ctx, c.As, c.Args)
		if err != nil {
			return requestPayload{}, err
		}
		changes, err := change(ctx, c.As, p, m, c.Args)
		if err != nil {
			return requestPayload{}, err
		}
		changes.Strict = true
		m, err = b.MergeRequests.Update(ctx, c.As, p, m.IID, changes)
		return b.requestPayload(ctx, c.As, m, err)
	})
}

// requestNamed finds the merge request that an input names.
func (b *binder) requestNamed(ctx context.Context, as authz.Actor, in namesRequest) (*project.Project, *mergerequest.MergeRequest, error) {
	path, iid := in.names()
	p, err := b.project(ctx, as, path)
	if err != nil {
		return nil, nil, err
	}
	m, err := b.MergeRequests.Find(ctx, as, p, iid)
	return p, m, err
}

// requestPeopleMutations binds who works on merge requests.
func (b *binder) requestPeopleMutations() {
	requestChange(b, "mergeRequestSetAssignees", func(ctx context.Context, as authz.Actor, _ *project.Project, m *mergerequest.MergeRequest, in struct {
		requestPath
		AssigneeUsernames []string
		OperationMode     string
	},
	) (mergerequest.Changes, error) {
		ids, err := b.usersNamed(ctx, as, in.AssigneeUsernames)
		ids = combined(in.OperationMode, m.Assignees, ids)
		return mergerequest.Changes{Assignees: &ids}, err
	})
	requestChange(b, "mergeRequestSetReviewers", func(ctx context.Context, as authz.Actor, _ *project.Project, m *mergerequest.MergeRequest, in struct {
		requestPath
		ReviewerUsernames []string
		OperationMode     string
	},
	) (mergerequest.Changes, error) {
		ids, err := b.usersNamed(ctx, as, in.ReviewerUsernames)
		ids = combined(in.OperationMode, m.ReviewerIDs(), ids)
		return mergerequest.Changes{Reviewers: &ids}, err
	})
	exec.Mutation(b.Schema, "mergeRequestReviewerRereview", func(ctx context.Context, c *exec.Call[struct {
		requestPath
		UserID globalID
	}],
	) (requestPayload, error) {
		p, m, err := b.requestNamed(ctx, c.As, c.Args)
		if err != nil {
			return requestPayload{}, err
		}
		m, err = b.MergeRequests.RequestReview(ctx, c.As, p, m.IID, authz.UserID(c.Args.UserID.ID))
		return b.requestPayload(ctx, c.As, m, err)
	})
}

// usersNamed returns the ids of users by their names; unknown names are left out.
func (b *binder) usersNamed(ctx context.Context, as authz.Actor, names []string) ([]authz.UserID, error) {
	found := make([]authz.UserID, len(names))
	err := b.Together(ctx, len(names), func(ctx context.Context, i int) error {
		u, err := b.Accounts.ByUsername(ctx, as, strings.TrimPrefix(names[i], "@"))
		if err == nil {
			found[i] = u.ID
		}
		return hidden(err)
	})
	out := []authz.UserID{}
	for _, id := range found {
		if id != 0 {
			out = append(out, id)
		}
	}
	return out, err
}

// combined replaces, extends or shortens a list, as an operation mode says.
func combined[T comparable](mode string, present, given []T) []T {
	if mode != "APPEND" && mode != "REMOVE" {
		return given
	}
	in := make(map[T]bool, len(given))
	for _, v := range given {
		in[v] = true
	}
	out := []T{}
	for _, v := range present {
		if !in[v] {
			out = append(out, v)
		}
	}
	if mode == "APPEND" {
		out = append(out, given...)
	}
	return out
}

// requestSetters binds the mutations that set one thing of a merge request.
func (b *binder) requestSetters() {
	requestChange(b, "mergeRequestSetLabels", func(ctx context.Context, as authz.Actor, p *project.Project, _ *mergerequest.MergeRequest, in struct {
		requestPath
		LabelIDs      []globalID
		OperationMode string
	},
	) (mergerequest.Changes, error) {
		ids := make([]label.ID, len(in.LabelIDs))
		for i, id := range in.LabelIDs {
			ids[i] = label.ID(id.ID)
		}
		titles, err := b.Labels.TitlesByIDs(ctx, as, p.Place(), ids)
		switch in.OperationMode {
		case "APPEND":
			return mergerequest.Changes{Labels: label.Assignment{Add: titles}}, err
		case "REMOVE":
			return mergerequest.Changes{Labels: label.Assignment{Remove: titles}}, err
		}
		titles = append([]string{}, titles...)
		return mergerequest.Changes{Labels: label.Assignment{Set: &titles}}, err
	})
	requestChange(b, "mergeRequestSetMilestone", func(_ context.Context, _ authz.Actor, _ *project.Project, _ *mergerequest.MergeRequest, in struct {
		requestPath
		MilestoneID *globalID
	},
	) (mergerequest.Changes, error) {
		id := milestone.ID(zeroOr(in.MilestoneID).ID)
		return mergerequest.Changes{MilestoneID: &id}, nil
	})
	requestChange(b, "mergeRequestSetDraft", func(_ context.Context, _ authz.Actor, _ *project.Project, m *mergerequest.MergeRequest, in struct {
		requestPath
		Draft bool
	},
	) (mergerequest.Changes, error) {
		title := mergerequest.Drafted(m.Title, in.Draft)
		return mergerequest.Changes{Title: &title}, nil
	})
	requestChange(b, "mergeRequestSetLocked", func(_ context.Context, _ authz.Actor, _ *project.Project, _ *mergerequest.MergeRequest, in struct {
		requestPath
		Locked bool
	},
	) (mergerequest.Changes, error) {
		return mergerequest.Changes{DiscussionLocked: &in.Locked}, nil
	})
	exec.Mutation(b.Schema, "mergeRequestSetSubscription", func(ctx context.Context, c *exec.Call[struct {
		requestPath
		SubscribedState bool
	}],
	) (requestPayload, error) {
		p, m, err := b.requestNamed(ctx, c.As, c.Args)
		if err != nil {
			return requestPayload{}, err
		}
		err = b.Subscriptions.Set(ctx, c.As, subscription.On{Place: p.Place(), Kind: noteable.MergeRequest, Key: noteable.Key{Number: int64(m.IID)}}, c.Args.SubscribedState)
		return b.requestPayload(ctx, c.As, m, err)
	})
}

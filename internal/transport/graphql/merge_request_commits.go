package graphql

import (
	"context"

	"tenon/internal/base/gitstore"
	"tenon/internal/base/page"
	"tenon/internal/core/authz"
	"tenon/internal/core/mergerequest"
	"tenon/internal/transport/graphql/exec"
)

// requestCommits binds the commits of merge requests.
func (b *binder) requestCommits() {
	bind := func(field string, list func(ctx context.Context, as authz.Actor, m *mergerequest.View, r page.Range) (page.Page[*gitstore.Commit], error)) {
		exec.Batch(b.Schema, "MergeRequest."+field, func(ctx context.Context, c *exec.Call[paging], of []*mergerequest.View) ([]*exec.Page[*commit], error) {
			return lists(ctx, part(b, c, c.Args, maxPage), of, func(ctx context.Context, m *mergerequest.View, r page.Range) (page.Page[*commit], error) {
				found, err := list(ctx, c.As, m, r)
				return page.Map(found, func(made **gitstore.Commit) *commit { return &commit{*made, m.Project} }), err
			}, same)
		}, exec.ReadsGit)
	}
	bind("commits", func(ctx context.Context, as authz.Actor, m *mergerequest.View, r page.Range) (page.Page[*gitstore.Commit], error) {
		return b.MergeRequests.Commits(ctx, as, m.Project, &m.MergeRequest, nil, r)
	})
	bind("commitsWithoutMergeCommits", func(ctx context.Context, as authz.Actor, m *mergerequest.View, r page.Range) (page.Page[*gitstore.Commit], error) {
		return b.MergeRequests.OwnCommits(ctx, as, m.Project, &m.MergeRequest, r)
	})
	exec.Batch(b.Schema, "Pipeline.commit", func(ctx context.Context, c *exec.Call[exec.None], of []*pipeline) ([]*commit, error) {
		return forEach(ctx, b, c, of, func(ctx context.Context, p *pipeline) (*commit, error) {
			made, err := b.Repos.FindCommit(ctx, c.As, p.project, p.SHA)
			if err != nil {
				return nil, err
			}
			return &commit{made, p.project}, nil
		})
	}, exec.ReadsGit)
}

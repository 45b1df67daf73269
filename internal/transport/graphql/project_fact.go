package graphql

import (
	"context"

	"tenon/internal/base/page"
	"tenon/internal/core/authz"
	"tenon/internal/core/mergerequest"
	"tenon/internal/core/project"
	"tenon/internal/core/pushrule"
	"tenon/internal/transport/graphql/exec"
)

// projectFacts binds what is read of projects beside their row.
func (b *binder) projectFacts() {
	exec.Batch(b.Schema, "Project.languages", func(ctx context.Context, c *exec.Call[exec.None], of []*project.Project) ([][]project.LanguageShare, error) {
		return forEach(ctx, b, c, of, func(ctx context.Context, p *project.Project) ([]project.LanguageShare, error) {
			return b.Repos.Languages(ctx, c.As, p)
		})
	}, exec.ReadsGit)
	value(b, "RepositoryLanguage.name", func(l project.LanguageShare) string { return l.Name })
	value(b, "RepositoryLanguage.share", func(l project.LanguageShare) float64 { return l.Percent })
	exec.Batch(b.Schema, "Project.openMergeRequestsCount", func(ctx context.Context, c *exec.Call[exec.None], of []*project.Project) ([]*int, error) {
		return forEach(ctx, b, c, of, func(ctx context.Context, p *project.Project) (*int, error) {
			found, err := b.MergeRequests.List(ctx, c.As, p.Place(), mergerequest.Filter{State: mergerequest.StateOpened, Range: page.Range{Limit: 1}})
			return &found.Total, err
		})
	})
	exec.Batch(b.Schema, "Project.pushRules", func(ctx context.Context, c *exec.Call[exec.None], of []*project.Project) ([]*pushrule.Rule, error) {
		return forEach(ctx, b, c, of, func(ctx context.Context, p *project.Project) (*pushrule.Rule, error) {
			return b.PushRules.Find(ctx, c.As, p.Place())
		})
	})
	value(b, "PushRules.rejectUnsignedCommits", func(r *pushrule.Rule) bool { return r.RejectUnsigned })
	one(b, "Project.mergeRequestsDisableCommittersApproval", "approvals of committers", func(p *project.Project) authz.NamespaceID { return p.NamespaceID }, func(ctx context.Context, as authz.Actor, ids []authz.NamespaceID) (map[authz.NamespaceID]bool, error) {
		approve, err := b.Approvals.CommittersApprove(ctx, as, ids)
		out := make(map[authz.NamespaceID]bool, len(approve))
		for id, may := range approve {
			out[id] = !may
		}
		return out, err
	})
}

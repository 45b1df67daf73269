package graphql

import (
	"context"
	"strings"
	"time"

	"tenon/internal/base/page"
	"tenon/internal/core/ci"
	"tenon/internal/core/mergerequest"
	"tenon/internal/core/project"
	"tenon/internal/transport/graphql/exec"
)

// pipelineFilter is the arguments of lists of pipelines.
type pipelineFilter struct {
	paging
	Ref, Scope, SHA, Source, Status, Username *string
	UpdatedAfter, UpdatedBefore               *time.Time
}

// filter makes the filter of core.
func (f *pipelineFilter) filter(r page.Range) ci.PipelineFilter {
	return ci.PipelineFilter{
		Scope: strings.ToLower(zeroOr(f.Scope)), State: ci.State(strings.ToLower(zeroOr(f.Status))), Source: ci.Source(zeroOr(f.Source)), Ref: zeroOr(f.Ref), SHA: zeroOr(f.SHA),
		Username: zeroOr(f.Username), UpdatedAfter: f.UpdatedAfter, UpdatedBefore: f.UpdatedBefore, Range: r,
	}
}

// in returns pipelines of a project that they were read of.
func in(p *project.Project, list page.Page[ci.Pipeline]) page.Page[*pipeline] {
	return page.Map(list, func(of *ci.Pipeline) *pipeline { return &pipeline{of, p} })
}

const errWhichPipeline argumentError = "One (and only one) of [iid, sha] arguments is required."

// pipelineLists binds lists of pipelines.
func (b *binder) pipelineLists() {
	exec.Batch(b.Schema, "Project.pipelines", func(ctx context.Context, c *exec.Call[pipelineFilter], of []*project.Project) ([]*exec.Page[*pipeline], error) {
		return lists(ctx, part(b, c, c.Args.paging, maxPage), of, func(ctx context.Context, p *project.Project, r page.Range) (page.Page[*pipeline], error) {
			list, err := b.CI.List(ctx, c.As, p, c.Args.filter(r))
			return in(p, list), err
		}, same)
	})
	exec.Batch(b.Schema, "Commit.pipelines", func(ctx context.Context, c *exec.Call[pipelineFilter], of []*commit) ([]*exec.Page[*pipeline], error) {
		return lists(ctx, part(b, c, c.Args.paging, maxPage), of, func(ctx context.Context, made *commit, r page.Range) (page.Page[*pipeline], error) {
			f := c.Args.filter(r)
			if f.SHA != "" && f.SHA != made.ID.String() {
				return page.None[*pipeline](r), nil
			}
			f.SHA = made.ID.String()
			list, err := b.CI.List(ctx, c.As, made.project, f)
			return in(made.project, list), err
		}, same)
	})
	exec.Batch(b.Schema, "MergeRequest.pipelines", func(ctx context.Context, c *exec.Call[pipelineFilter], of []*mergerequest.View) ([]*exec.Page[*pipeline], error) {
		return lists(ctx, part(b, c, c.Args.paging, maxPage), of, func(ctx context.Context, m *mergerequest.View, r page.Range) (page.Page[*pipeline], error) {
			list, err := b.MergeRequests.Pipelines(ctx, c.As, m.Project, m.IID, c.Args.filter(r))
			return page.Map(list, func(seen *ci.InProject) *pipeline { return &pipeline{&seen.Pipeline, seen.Project} }), err
		}, same)
	}, exec.ReadsGit)
	type which struct{ IID, SHA *string }
	exec.Batch(b.Schema, "Project.pipeline", func(ctx context.Context, c *exec.Call[which], of []*project.Project) ([]*pipeline, error) {
		if (c.Args.IID == nil) == (c.Args.SHA == nil) {
			return nil, errWhichPipeline
		}
		found, err := firsts(ctx, b, of, func(ctx context.Context, p *project.Project, r page.Range) (page.Page[*pipeline], error) {
			list, err := b.CI.List(ctx, c.As, p, ci.PipelineFilter{IID: numberOr(c.Args.IID), SHA: zeroOr(c.Args.SHA), Range: r})
			return in(p, list), err
		}, same)
		return found, err
	}, exec.Costly)
	type counted struct{ Ref, SHA, Source *string }
	exec.Batch(b.Schema, "Project.pipelineCounts", func(ctx context.Context, c *exec.Call[counted], of []*project.Project) ([]*ci.Counts, error) {
		return forEach(ctx, b, c, of, func(ctx context.Context, p *project.Project) (*ci.Counts, error) {
			return b.CI.Count(ctx, c.As, p, ci.PipelineFilter{Ref: zeroOr(c.Args.Ref), SHA: zeroOr(c.Args.SHA), Source: ci.Source(zeroOr(c.Args.Source))})
		})
	}, exec.Costly)
	exec.Struct[*ci.Counts](b.Schema, "PipelineCounts")
}

package graphql

import (
	"context"
	"strconv"
	"time"

	"tenon/internal/core/authz"
	"tenon/internal/core/ci"
	"tenon/internal/core/mergerequest"
	"tenon/internal/core/project"
)

// pipeline is a pipeline with its project and how it went.
type pipeline struct {
	*ci.Pipeline

	project *project.Project
	course  ci.Course
}

// pipelines binds the newest pipelines of merge requests.
func (b *binder) pipelines() {
	ofRequest(b, "headPipeline", "pipelines of merge requests", func(ctx context.Context, as authz.Actor, m *mergerequest.View) (*mergerequest.BuildView, error) {
		return b.Requests.Builds(ctx, as, m.Project, &m.MergeRequest)
	}, func(v *mergerequest.BuildView) *pipeline {
		if v == nil || v.Head == nil {
			return nil
		}
		return &pipeline{&v.Head.Pipeline, v.Head.Project, v.Course}
	})
	value(b, "Pipeline.id", func(p *pipeline) string { return gid("Ci::Pipeline", p.ID) })
	value(b, "Pipeline.iid", func(p *pipeline) string { return strconv.FormatInt(p.IID, 10) })
	value(b, "Pipeline.ref", func(p *pipeline) *string { return text(p.Ref) })
	value(b, "Pipeline.sha", func(p *pipeline) *string { return text(p.SHA) })
	value(b, "Pipeline.status", func(p *pipeline) string { return string(p.State) })
	value(b, "Pipeline.active", func(p *pipeline) bool { return p.State.Active() })
	value(b, "Pipeline.complete", func(p *pipeline) bool { return !p.State.Active() })
	value(b, "Pipeline.createdAt", func(p *pipeline) time.Time { return p.CreatedAt.Time })
	value(b, "Pipeline.updatedAt", func(p *pipeline) time.Time { return p.UpdatedAt.Time })
	value(b, "Pipeline.startedAt", func(p *pipeline) *time.Time { return p.course.StartedAt })
	value(b, "Pipeline.finishedAt", func(p *pipeline) *time.Time { return p.course.FinishedAt })
	value(b, "Pipeline.coverage", func(p *pipeline) *float64 { return p.course.Coverage })
	value(b, "Pipeline.project", func(p *pipeline) *project.Project { return p.project })
	value(b, "Pipeline.path", func(p *pipeline) string { return b.URLs.Path(b.URLs.Pipeline(p.project.FullPath, int64(p.ID))) })
	one(b, "Pipeline.user", "users", func(p *pipeline) authz.UserID { return zeroOr(p.UserID) }, b.usersByIDs)
}

package mergerequest

import (
	"context"
	"errors"
	"fmt"

	"tenon/internal/base/db"
	"tenon/internal/base/event"
	"tenon/internal/core/authz"
	"tenon/internal/core/ci"
	"tenon/internal/core/project"
)

// pipelineResult is the job that tells how the newest pipelines of merge requests stand.
type pipelineResult struct {
	PipelineID ci.PipelineID `json:"pipeline_id"`
	Failed     bool          `json:"failed"`
}

// Kind names the job.
func (pipelineResult) Kind() string { return "merge_request_pipeline_fate" }

// followPipeline has it told that a pipeline has failed or succeeded, or that one which had failed runs again.
func (s *Service) followPipeline(ctx context.Context, e ci.PipelineChanged) error {
	now, failed := e.Row().State, e.Before != nil && e.Before.State == ci.Failed
	if now != ci.Failed && now != ci.Success && !failed || e.Row().Source == ci.ByParentPipeline {
		return nil
	}
	return s.Jobs.Enqueue(ctx, pipelineResult{e.Row().ID, now == ci.Failed})
}

// tellPipeline does the job for the open requests whose newest pipeline it is, unless its state is another one by now.
func (s *Service) tellPipeline(ctx context.Context, work pipelineResult) error {
	type row struct {
		ProjectID project.ID `db:"project_id"`
		Ref       string     `db:"ref"`
		Request   *ID        `db:"merge_request_id"`
		State     ci.State   `db:"status"`
	}
	p, err := db.Get[row](ctx, s.DB, "SELECT p.project_id, p.ref, p.merge_request_id, p.status FROM pipelines p WHERE p.id = ?", work.PipelineID)
	if errors.Is(err, db.ErrNotFound) || err == nil && (p.State == ci.Failed) != work.Failed {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read pipeline: %w", err)
	}
	cond, args := "m.source_project_id = ? AND m.source_branch = ?", []any{p.ProjectID, p.Ref}
	if p.Request != nil {
		cond, args = "m.id = ?", []any{*p.Request}
	}
	return s.eachOpen(ctx, func(rows []*MergeRequest, projects map[project.ID]*project.Project) error {
		for _, m := range rows {
			if target := projects[m.ProjectID]; target != nil {
				if err := s.publishResult(ctx, target, m, work.Failed); err != nil {
					return err
				}
			}
		}
		return nil
	}, cond+" AND "+newestPipeline+" = ?", append(args, work.PipelineID)...)
}

func (s *Service) publishResult(ctx context.Context, p *project.Project, m *MergeRequest, failed bool) error {
	return s.DB.InTx(ctx, func(ctx context.Context) error {
		f, err := s.fact(ctx, authz.Actor{}, p, db.Change[MergeRequest]{Before: *m, After: *m})
		if err != nil {
			return err
		}
		var e event.Event = PipelineRecovered{f}
		if failed {
			e = PipelineFailed{f}
		}
		return s.Bus.Publish(ctx, e)
	})
}

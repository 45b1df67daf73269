package ci

import (
	"context"
	"fmt"

	"tenon/internal/base/db"
	"tenon/internal/core/authz"
	"tenon/internal/core/project"
)

// cancelOlder cancels the pipelines of the same branch, tag or merge request that the new one makes needless. Failing to is no failure of the
// new one.
func (d *draft) cancelOlder(ctx context.Context) {
	if d.project.Settings().AutoCancelPendingPipelines != "enabled" || d.row.Source == ByParentPipeline || d.row.State == Skipped {
		return
	}
	older, err := db.Select[Pipeline](ctx, d.DB, "SELECT "+pipelineColumns+` FROM pipelines p WHERE p.project_id = ? AND p.ref = ? AND p.tag = ? AND p.id < ?
		AND COALESCE(p.merge_request_id, 0) = COALESCE(?, 0) AND p.sha <> ? AND p.auto_cancel <> 'none' AND p.source NOT IN ('external', 'parent_pipeline', 'schedule') AND p.finished_at IS NULL ORDER BY p.id DESC LIMIT 100`,
		d.row.ProjectID, d.row.Ref, d.row.Tag, d.row.ID, d.row.MergeRequestID, d.row.SHA)
	for i := 0; err == nil && i < len(older); i++ {
		err = d.supersede(ctx, d.project, &older[i])
	}
	if err != nil {
		d.Deps.Log.ErrorContext(ctx, "cancel older pipelines", "project_id", d.row.ProjectID, "error", err)
	}
}

// supersede cancels a pipeline that a newer one makes needless, as far as its configuration lets it.
func (s *Service) supersede(ctx context.Context, p *project.Project, of *Pipeline) error {
	if of.AutoCancel != CancelInterruptible {
		n, err := db.Get[int](ctx, s.DB, "SELECT COUNT(*) FROM "+jobTables+` WHERE s.pipeline_id = ? AND NOT s.retried AND NOT j.interruptible
			AND s.started_at IS NOT NULL`, of.ID)
		if err != nil {
			return fmt.Errorf("jobs that go on: %w", err)
		}
		if n > 0 {
			return nil
		}
		return s.cancelAll(ctx, authz.System(), p, of.ID, nil)
	}
	return s.cancelAll(ctx, authz.System(), p, of.ID, func(j *Job) bool { return j.Interruptible })
}

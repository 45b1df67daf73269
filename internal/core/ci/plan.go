package ci

import (
	"context"
	"fmt"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
)

// maxLooked is how many pipelines of a project, the newest, are looked at for those that are active.
const maxLooked = 1000

// overPlan says that a project has as many active pipelines or jobs as its plan allows.
type overPlan struct {
	reason string // of the failed pipeline
	text   string
}

// Error is the text of the refusal.
func (e *overPlan) Error() string { return e.text }

// fits returns an overPlan where the plan of the project allows no pipeline more, or not as many jobs. It counts in the transaction that
// has numbered the pipeline, and so one after the other.
func (d *draft) fits(ctx context.Context) error {
	limits := d.Plans.InForce()
	if most := limits.CIActivePipelines; most > 0 {
		n, err := d.active(ctx, "")
		if err != nil {
			return err
		}
		if n >= most {
			return &overPlan{TooManyPipelines, fmt.Sprintf("Project exceeded the allowed number of active pipelines (%d). Retry later.", most)}
		}
	}
	if most := limits.CIActiveJobs; most > 0 {
		n, err := d.active(ctx, " JOIN commit_statuses s ON s.pipeline_id = x.id AND s.status IN ("+activeStates+")")
		if err != nil {
			return err
		}
		if n+int64(len(d.made.Jobs)) > most {
			return &overPlan{TooManyJobs, fmt.Sprintf("Project exceeded the allowed number of jobs in active pipelines (%d). Retry later.", most)}
		}
	}
	return nil
}

// activeStates are the states of pipelines and jobs that go on by themselves.
const activeStates = "'created', 'waiting_for_resource', 'preparing', 'waiting_for_callback', 'pending', 'running'"

// active counts the active pipelines of the project, or what is joined to each.
func (d *draft) active(ctx context.Context, join string) (int64, error) {
	n, err := db.Get[int64](ctx, d.DB, "SELECT COUNT(*) FROM (SELECT l.id, l.status FROM pipelines l WHERE l.project_id = ? ORDER BY l.id DESC LIMIT ?) x"+
		join+" WHERE x.status IN ("+activeStates+")", d.project.ID, maxLooked)
	if err != nil {
		return 0, fmt.Errorf("count active pipelines: %w", err)
	}
	return n, nil
}

// exceeded keeps a failed pipeline of a push, a merge request or a schedule, and refuses every other.
func (d *draft) exceeded(ctx context.Context, over *overPlan) (*Pipeline, error) {
	if !d.keepsErrors() {
		return nil, errs.New(errs.Unprocessable, over.text)
	}
	return d.refuse(ctx, over.reason, []string{over.text})
}

// hierarchyFull reports whether the pipelines that started one another, up to the first one and down from it, are as many as the plan allows.
func (s *Service) hierarchyFull(ctx context.Context, of PipelineID) (bool, error) {
	most := s.Plans.InForce().PipelineHierarchySize
	if most == 0 {
		return false, nil
	}
	n, err := db.Get[int64](ctx, s.DB, `WITH RECURSIVE up (id, upstream, depth) AS (
			SELECT l.id, l.upstream_job_id, 0 FROM pipelines l WHERE l.id = ?
			UNION ALL SELECT l.id, l.upstream_job_id, up.depth + 1 FROM up JOIN commit_statuses b ON b.id = up.upstream
				JOIN pipelines l ON l.id = b.pipeline_id WHERE up.depth < ?
		), down (id, depth) AS (
			SELECT u.id, 0 FROM (SELECT id FROM up ORDER BY depth DESC LIMIT 1) u
			UNION ALL SELECT l.id, down.depth + 1 FROM down JOIN commit_statuses b ON b.pipeline_id = down.id
				JOIN pipelines l ON l.upstream_job_id = b.id WHERE down.depth <= ?
		) SELECT COUNT(*) FROM (SELECT id FROM down LIMIT ?) x`, of, maxHops, maxHops, most)
	if err != nil {
		return false, fmt.Errorf("count pipelines of hierarchy: %w", err)
	}
	return n >= most, nil
}

package ci

import (
	"context"
	"errors"
	"fmt"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/base/gitstore"
	"tenon/internal/base/job"
	"tenon/internal/core/authz"
	"tenon/internal/core/project"
)

// RegisterJobs says how the work of pipelines outside of transactions is done.
func (s *Service) RegisterJobs(r *job.Registry) {
	job.Register(r, s.runPushed, job.Attempts(5), job.Timeout(5*time.Minute))
	job.Register(r, s.join, job.Unique(), job.Timeout(5*time.Minute))
	job.Register(r, s.dropPipelineRef, job.Low())
	job.Register(r, s.startDelayed)
	job.Register(r, s.endBridge, job.Attempts(5))
	job.Register(r, s.cancelRest, job.Attempts(10))
	job.Register(r, s.passResource, job.Attempts(10))
	job.Register(r, s.startBridge, job.Unique(), job.Attempts(5), job.Timeout(5*time.Minute))
	job.Register(r, s.followUps, job.Attempts(10))
	job.Register(r, s.Expire, job.On(job.Maintenance), job.Unique(), job.Low(), job.Timeout(time.Hour))
	job.Every(r, expireEvery, expire{})
	job.Register(r, s.expireAll, job.On(job.Maintenance), job.Unique(), job.Timeout(time.Hour))
	job.Register(r, s.DeleteOld, job.On(job.Maintenance), job.Unique(), job.Low(), job.Timeout(time.Hour))
	job.Every(r, oldEvery, oldPipelines{})
	job.Register(r, s.EndStuck, job.On(job.Maintenance), job.Unique(), job.Timeout(10*time.Minute))
	job.Every(r, stuckEvery, stuck{})
}

// pipelineRef is where runners fetch the commit of a pipeline, for as long as it runs.
func pipelineRef(id PipelineID) gitstore.RefName {
	return gitstore.RefName(fmt.Sprintf("refs/pipelines/%d", id))
}

// errAway says that the folder of a repository is not there.
var errAway = errors.New("repository is away")

// keepRef makes sure that runners can fetch the commit of a pipeline.
func (s *Service) keepRef(ctx context.Context, p *project.Project, of *Pipeline) error {
	g, err := s.Repos.Open(ctx, p)
	if err != nil {
		return err
	}
	switch _, err := g.Ref(ctx, pipelineRef(of.ID)); {
	case err == nil:
		return nil
	case !errors.Is(err, gitstore.ErrNotFound):
		return fmt.Errorf("find reference of pipeline: %w", err)
	}
	commit, err := gitstore.ParseObjectID(of.SHA)
	if err != nil {
		return err
	}
	if _, err := g.Peel(ctx, commit); errors.Is(err, gitstore.ErrNotFound) && !g.Exists() {
		return errAway // it may come back, where a lost commit does not
	} else if err != nil {
		return fmt.Errorf("commit of pipeline: %w", err)
	}
	if err := g.UpdateRefs(ctx, []gitstore.RefUpdate{{Ref: pipelineRef(of.ID), New: commit, AnyOld: true}}); err != nil {
		return fmt.Errorf("keep reference of pipeline: %w", err)
	}
	return nil
}

// dropRef is the job that deletes the reference of a pipeline that has ended.
type dropRef struct {
	ProjectID  project.ID `json:"project_id"`
	PipelineID PipelineID `json:"pipeline_id"`
}

// Kind names the job.
func (dropRef) Kind() string { return "drop_pipeline_ref" }

func (s *Service) dropPipelineRef(ctx context.Context, args dropRef) error {
	state, err := db.Get[State](ctx, s.DB, "SELECT p.status FROM pipelines p WHERE p.id = ?", args.PipelineID)
	if err == nil && !state.Complete() {
		return nil // it was started again
	}
	if err != nil && !errors.Is(err, db.ErrNotFound) {
		return fmt.Errorf("find pipeline: %w", err)
	}
	p, err := s.Projects.Load(ctx, []project.ID{args.ProjectID})
	if err != nil || p[args.ProjectID] == nil {
		return err
	}
	g, err := s.Repos.Open(ctx, p[args.ProjectID])
	if err != nil {
		return err
	}
	if _, err := g.Ref(ctx, pipelineRef(args.PipelineID)); errors.Is(err, gitstore.ErrNotFound) {
		return nil
	}
	if err := g.UpdateRefs(ctx, []gitstore.RefUpdate{{Ref: pipelineRef(args.PipelineID), AnyOld: true}}); err != nil {
		return fmt.Errorf("delete reference of pipeline: %w", err)
	}
	return nil
}

// startDelayed is the job that starts a delayed job when its time has come.
type startDelayed struct {
	JobID StatusID `json:"job_id"`
}

// Kind names the job.
func (startDelayed) Kind() string { return "start_delayed_job" }

func (s *Service) startDelayed(ctx context.Context, args startDelayed) error {
	j, p, err := s.jobAndProject(ctx, args.JobID)
	if err != nil || j == nil {
		return err
	}
	err = s.DB.InTx(ctx, func(ctx context.Context) error {
		of, err := s.lock(ctx, j.PipelineID)
		if err != nil {
			return err
		}
		due, later := false, time.Time{}
		started, err := s.changeLocked(ctx, authz.System(), p, of, j.ID, func(_ context.Context, j *Job) error {
			due = j.State == Scheduled && j.ScheduledAt != nil && !j.ScheduledAt.After(s.Now())
			if due {
				j.ScheduledAt = nil
				j.enter(j.ready(), s.Now())
			} else if j.State == Scheduled && j.ScheduledAt != nil {
				later = j.ScheduledAt.Time
			}
			return nil
		})
		if err != nil {
			return err
		}
		if !later.IsZero() {
			return s.Deps.Jobs.Enqueue(ctx, args, job.At(later)) // the clock of the queue is ahead of ours
		}
		if !due {
			return nil
		}
		if err := s.queue(ctx, of, j.ID, started.State); err != nil {
			return err
		}
		return s.advance(ctx, authz.System(), p, of)
	})
	if err != nil && !errors.Is(err, db.ErrNotFound) {
		return fmt.Errorf("start delayed job: %w", err)
	}
	return nil
}

// jobAndProject reads a job with its project; both are nil where one of them is gone.
func (s *Service) jobAndProject(ctx context.Context, id StatusID) (*Job, *project.Project, error) {
	j, err := s.loadJob(ctx, id)
	if errors.Is(err, db.ErrNotFound) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	p, err := s.Projects.Load(ctx, []project.ID{j.ProjectID})
	if err != nil || p[j.ProjectID] == nil {
		return nil, nil, err
	}
	return j, p[j.ProjectID], nil
}

const (
	stuckEvery = 5 * time.Minute

	// How long a job may wait for a runner, and how long its runner may be silent.
	pendingFor = 24 * time.Hour
	silentFor  = time.Hour

	// graceOf is what a job may run above its timeout before the server ends it, because its runner did not.
	graceOf = 15 * time.Minute
)

// stuck is the job that ends jobs that no runner ends.
type stuck struct{}

// Kind names the job.
func (stuck) Kind() string { return "end_stuck_jobs" }

// EndStuck fails jobs that have waited for a runner for a day, whose runner has been silent for an hour, or that run longer than they may,
// and bridges whose pipeline went with its project.
func (s *Service) EndStuck(ctx context.Context, _ stuck) error {
	now := s.Now()
	if err := s.passOnWaiting(ctx, now.Add(-stuckEvery)); err != nil {
		return err
	}
	type row struct {
		ID     StatusID `db:"id"`
		Reason string   `db:"reason"`
	}
	// The first condition on the status is that of the partial index commit_statuses_active, which serves no query without it.
	rows, err := db.Select[row](ctx, s.DB, `SELECT q.job_id AS id, ? AS reason FROM job_queue q WHERE q.queued_at < ?
		UNION ALL SELECT s.id, CASE WHEN j.contacted_at >= ? THEN ? ELSE ? END AS reason FROM `+jobTables+`
			WHERE s.status IN ('pending', 'running', 'canceling') AND s.status <> 'pending' AND (j.contacted_at < ? OR j.deadline < ?)
		UNION ALL SELECT s.id, ? AS reason FROM `+jobTables+` WHERE s.status IN ('pending', 'running', 'canceling') AND s.status = 'running'
			AND j.upstream_pipeline_id IS NOT NULL AND NOT EXISTS (SELECT 1 FROM pipelines l WHERE l.id = j.upstream_pipeline_id) ORDER BY 1 LIMIT 1000`,
		StuckFailure, db.At(now.Add(-pendingFor)), db.At(now.Add(-silentFor)), TimeoutFailure, StuckFailure, db.At(now.Add(-silentFor)), db.At(now), UpstreamNotFound)
	if err != nil {
		return fmt.Errorf("find stuck jobs: %w", err)
	}
	var all []error
	for _, r := range rows {
		j, p, err := s.jobAndProject(ctx, r.ID)
		if err == nil && j != nil {
			_, err = s.change(ctx, authz.System(), p, j.PipelineID, j.ID, func(_ context.Context, j *Job) error {
				switch j.State {
				case Canceling:
					j.enter(Canceled, s.Now())
				case Pending, Running:
					j.fail(r.Reason, s)
				}
				return nil
			})
		}
		if err != nil {
			all = append(all, err)
		}
	}
	if len(all) > 0 {
		return fmt.Errorf("end stuck jobs: %w", errors.Join(all...))
	}
	return nil
}

package ci

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/core/authz"
	"tenon/internal/core/project"
)

// archived reports whether a job is too old to be run again.
func (s *Service) archived(j *Job) bool {
	age, ok := s.Settings.Current().ArchiveAge()
	return ok && s.Now().Sub(j.CreatedAt.Time) > age
}

// outdated reports whether a newer job deploys another commit to the environment of a job, or has done so, in a project that prevents that the
// older one undoes it.
func (s *Service) outdated(ctx context.Context, p *project.Project, j *Job) (bool, error) {
	if j.Environment == nil || !p.Settings().CIForwardDeploymentEnabled {
		return false, nil
	}
	found, err := s.undone(ctx, []StatusID{j.ID})
	return found[j.ID], err
}

// undone tells those of the jobs for whose environment a newer job or another system deploys another commit, or has done so.
func (s *Service) undone(ctx context.Context, ids []StatusID) (map[StatusID]bool, error) {
	out := map[StatusID]bool{}
	if len(ids) == 0 {
		return out, nil
	}
	var w db.Where
	w.In("j.id", ids)
	w.Raw(`(EXISTS (SELECT 1 FROM commit_statuses s JOIN pipelines l ON l.id = s.pipeline_id WHERE s.project_id = j.project_id
			AND s.environment = j.environment AND s.id > j.id AND s.status IN ('running', 'success') AND l.sha <> o.sha)
		OR EXISTS (SELECT 1 FROM environments e JOIN deployments d ON d.environment_id = e.id WHERE e.project_id = j.project_id
			AND e.name = j.environment AND NOT d.by_job AND d.created_at > j.created_at AND d.status IN ('running', 'success') AND d.sha <> o.sha))`)
	found, err := db.Select[StatusID](ctx, s.DB, "SELECT j.id FROM commit_statuses j JOIN pipelines o ON o.id = j.pipeline_id"+w.SQL()+" ORDER BY j.id", w.Args()...)
	if err != nil {
		return nil, fmt.Errorf("newer deployments: %w", err)
	}
	for _, id := range found {
		out[id] = true
	}
	return out, nil
}

// unsuccessful are the states of jobs that a retry of their pipeline does again.
var unsuccessful = []State{Failed, Canceled}

// Controls says what users may still do with a job, as it is and by the settings of its project; whether one of them has the right to is asked apart.
type Controls struct {
	Playable, Retryable, Cancelable bool

	WithPipeline bool // a retry of its pipeline does it again, see RetryPipeline
}

// Controls tells what may still be done with those of the jobs whose projects the actor may read, in two statements.
func (s *Service) Controls(ctx context.Context, as authz.Actor, jobs []*Job) (map[StatusID]Controls, error) {
	ids := make([]project.ID, len(jobs))
	for i, j := range jobs {
		ids[i] = j.ProjectID
	}
	in, err := s.Projects.ByIDs(ctx, as, ids)
	if err != nil {
		return nil, fmt.Errorf("controls of jobs: %w", err)
	}
	return s.controls(ctx, in, jobs)
}

// controls is Controls for jobs of projects that were read before. Nothing is done with jobs that are archived, and no deployment that is outdated is
// done again in a project that allows no rollback.
func (s *Service) controls(ctx context.Context, in map[project.ID]*project.Project, jobs []*Job) (map[StatusID]Controls, error) {
	out := make(map[StatusID]Controls, len(jobs))
	var bound []StatusID
	for _, j := range jobs {
		p := in[j.ProjectID]
		if p == nil || s.archived(j) {
			continue
		}
		c := Controls{Playable: j.Playable(), Retryable: j.Retryable(), Cancelable: j.CanBeCanceled()}
		if set := p.Settings(); c.Retryable && j.Environment != nil && set.CIForwardDeploymentEnabled && !set.CIForwardDeploymentRollbackAllowed {
			bound = append(bound, j.ID)
		}
		out[j.ID] = c
	}
	undone, err := s.undone(ctx, bound)
	if err != nil {
		return nil, err
	}
	for _, j := range jobs {
		c, ok := out[j.ID]
		if !ok {
			continue
		}
		c.Retryable = c.Retryable && !undone[j.ID]
		c.WithPipeline = c.Retryable && slices.Contains(unsuccessful, j.State)
		out[j.ID] = c
	}
	return out, nil
}

// retryable reports whether a job of a project may be done again, see Controls.
func (s *Service) retryable(ctx context.Context, p *project.Project, j *Job) (bool, error) {
	found, err := s.controls(ctx, map[project.ID]*project.Project{p.ID: p}, []*Job{j})
	return found[j.ID].Retryable, err
}

// cancelRest is the background job that cancels a pipeline after one of its jobs has failed.
type cancelRest struct {
	PipelineID PipelineID `json:"pipeline_id"`
}

// Kind names the job.
func (cancelRest) Kind() string { return "cancel_failed_pipeline" }

func (s *Service) cancelRest(ctx context.Context, args cancelRest) error {
	p, err := s.projectOf(ctx, args.PipelineID)
	if err == nil {
		err = s.cancelAll(ctx, authz.System(), p, args.PipelineID, nil)
	}
	if errors.Is(err, db.ErrNotFound) || errs.Is(err, errs.NotFound) {
		return nil // it was deleted
	}
	return err
}

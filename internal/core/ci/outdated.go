package ci

import (
	"context"
	"errors"
	"fmt"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/core/authz"
	"tenon/internal/core/project"
)

// archived reports whether a job is too old to be run again.
func (s *Service) archived(j *Job) bool {
	age, ok := s.settings.Current().ArchiveAge()
	return ok && s.now().Sub(j.CreatedAt.Time) > age
}

// outdated reports whether a newer job deploys another commit to the environment of a job, or has done so, in a project that prevents that the
// older one undoes it.
func (s *Service) outdated(ctx context.Context, p *project.Project, j *Job) (bool, error) {
	if j.Environment == nil || !p.Settings().CIForwardDeploymentEnabled {
		return false, nil
	}
	found, err := db.Get[bool](ctx, s.db, `SELECT EXISTS (SELECT 1 FROM commit_statuses s JOIN pipelines l ON l.id = s.pipeline_id
		WHERE s.project_id = ? AND s.environment = ? AND s.id > ? AND s.status IN ('running', 'success')
		AND l.sha <> (SELECT o.sha FROM pipelines o WHERE o.id = ?))`, j.ProjectID, *j.Environment, j.ID, j.PipelineID)
	if err != nil {
		return false, fmt.Errorf("newer deployments: %w", err)
	}
	return found, nil
}

// retryable is Retryable, but for jobs that are archived, and deployments that are outdated in a project that allows no rollback.
func (s *Service) retryable(ctx context.Context, p *project.Project, j *Job) (bool, error) {
	if !j.Retryable() || s.archived(j) {
		return false, nil
	}
	if p.Settings().CIForwardDeploymentRollbackAllowed {
		return true, nil
	}
	outdated, err := s.outdated(ctx, p, j)
	return !outdated, err
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

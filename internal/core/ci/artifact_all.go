package ci

import (
	"context"
	"fmt"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/core/authz"
	"tenon/internal/core/project"
)

// expireAll is the job that deletes the artifacts that a project had at a moment.
type expireAll struct {
	ProjectID project.ID `json:"project_id" river:"unique"`
	At        time.Time  `json:"at"`
}

// Kind names the job.
func (expireAll) Kind() string { return "expire_artifacts_of_project" }

// DeleteAllArtifacts deletes the artifacts of the jobs of a project in the background, also those that were to be kept. Those of
// pipelines that have not ended stay, and those of the latest pipelines where the project keeps them. It requires ErasePipeline.
func (s *Service) DeleteAllArtifacts(ctx context.Context, as authz.Actor, p *project.Project) error {
	if err := s.Policy.Require(ctx, as, authz.ErasePipeline, p.Subject()); err != nil {
		return err
	}
	if err := s.Deps.Jobs.Enqueue(ctx, expireAll{ProjectID: p.ID, At: s.Now()}); err != nil {
		return fmt.Errorf("enqueue deletion of artifacts: %w", err)
	}
	return nil
}

func (s *Service) expireAll(ctx context.Context, args expireAll) error {
	return s.expireWhere(ctx, `a.project_id = ? AND a.created_at <= ? AND EXISTS (SELECT 1 FROM commit_statuses s JOIN pipelines l ON l.id = s.pipeline_id
		WHERE s.id = a.job_id AND l.finished_at IS NOT NULL)`, args.ProjectID, db.At(args.At))
}

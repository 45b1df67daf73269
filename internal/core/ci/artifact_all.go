package ci

import (
	"context"
	"fmt"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/core/authz"
	"tenon/internal/core/project"
)

// expireAll is the job that ends the time of the artifacts that a project had at a moment.
type expireAll struct {
	ProjectID project.ID `json:"project_id" river:"unique"`
	At        time.Time  `json:"at"`
}

// Kind names the job.
func (expireAll) Kind() string { return "expire_artifacts_of_project" }

// DeleteAllArtifacts deletes the artifacts of the jobs of a project in the background, also those that were to be kept. Those of
// pipelines that have not ended stay, and those of the latest pipelines where the project keeps them. It requires ErasePipeline.
func (s *Service) DeleteAllArtifacts(ctx context.Context, as authz.Actor, p *project.Project) error {
	if err := s.policy.Require(ctx, as, authz.ErasePipeline, p.Subject()); err != nil {
		return err
	}
	if err := s.jobs.Enqueue(ctx, expireAll{ProjectID: p.ID, At: s.now()}); err != nil {
		return fmt.Errorf("enqueue deletion of artifacts: %w", err)
	}
	return nil
}

func (s *Service) expireAll(ctx context.Context, args expireAll) error {
	at, after := db.At(args.At), ArtifactID(0)
	for {
		rows, err := db.Select[Artifact](ctx, s.db, "SELECT "+db.Columns[Artifact]("a")+` FROM job_artifacts a JOIN commit_statuses s ON s.id = a.job_id
			JOIN pipelines l ON l.id = s.pipeline_id WHERE a.project_id = ? AND a.id > ? AND a.created_at <= ? AND (a.expire_at IS NULL OR a.expire_at > ?)
			AND l.finished_at IS NOT NULL ORDER BY a.id LIMIT ?`, args.ProjectID, after, at, at, expireBatch)
		if err != nil {
			return fmt.Errorf("find artifacts of project: %w", err)
		}
		if len(rows) == 0 {
			break
		}
		after = rows[len(rows)-1].ID
		jobs := make([]StatusID, len(rows))
		for i := range rows {
			jobs[i] = rows[i].JobID
		}
		lasting, err := s.lasting(ctx, jobs)
		if err != nil {
			return err
		}
		var ids []ArtifactID
		for _, a := range rows {
			if !lasting[a.JobID] {
				ids = append(ids, a.ID)
			}
		}
		if len(ids) == 0 {
			continue
		}
		marks, list := db.Marks(ids)
		if _, err := s.db.Exec(ctx, "UPDATE job_artifacts SET expire_at = ? WHERE id IN ("+marks+")", append([]any{at}, list...)...); err != nil {
			return fmt.Errorf("end time of artifacts: %w", err)
		}
	}
	if err := s.jobs.Enqueue(ctx, expire{}); err != nil {
		return fmt.Errorf("enqueue deletion of artifacts: %w", err)
	}
	return nil
}

package ci

import (
	"context"
	"fmt"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/core/authz"
	"tenon/internal/core/project"
)

// LatestOf returns the job of a name in the latest pipeline of a branch or tag that has succeeded, or in a child pipeline below it: the first of these
// pipelines that has an archive of such a job, else the first that has such a job.
func (s *Service) LatestOf(ctx context.Context, as authz.Actor, p *project.Project, ref, name string) (*Job, error) {
	if err := s.Policy.Require(ctx, as, readable(p), p.Subject()); err != nil {
		return nil, err
	}
	list, err := db.Select[Job](ctx, s.DB, `WITH RECURSIVE family (id, generation) AS (
			SELECT MAX(l.id), 0 FROM pipelines l WHERE l.project_id = ? AND l.ref = ? AND l.status = 'success' AND l.source NOT IN ('external', 'parent_pipeline')
			UNION ALL SELECT l.id, f.generation + 1 FROM family f JOIN commit_statuses b ON b.pipeline_id = f.id AND b.kind = 'bridge'
				JOIN pipelines l ON l.upstream_job_id = b.id WHERE l.source = 'parent_pipeline' AND f.generation < ?)
		SELECT `+jobColumns+" FROM "+jobTables+` JOIN family f ON f.id = s.pipeline_id WHERE s.kind = 'job' AND s.name = ? AND NOT s.retried
		ORDER BY CASE WHEN EXISTS (SELECT 1 FROM job_artifacts a WHERE a.job_id = s.id AND a.type = 'archive') THEN 0 ELSE 1 END, f.generation, f.id LIMIT 1`,
		p.ID, ref, maxGenerations, name)
	if err != nil {
		return nil, fmt.Errorf("latest job: %w", err)
	}
	if len(list) == 0 {
		return nil, errs.Missing("")
	}
	return &list[0], nil
}

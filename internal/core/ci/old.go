package ci

import (
	"context"
	"errors"
	"fmt"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/core/authz"
	"tenon/internal/core/project"
)

// How often old pipelines are looked for, and how many projects or pipelines are read at once.
const (
	oldEvery = time.Hour
	oldBatch = 500
)

// oldPipelines is the job that deletes the pipelines that are older than their projects keep them.
type oldPipelines struct{}

// Kind names the job.
func (oldPipelines) Kind() string { return "delete_old_pipelines" }

// DeleteOld deletes the pipelines of projects with ci_delete_pipelines_in_seconds that are older, each in a transaction of its own, but for
// those that run. Projects that are archived or marked for deletion keep theirs.
func (s *Service) DeleteOld(ctx context.Context, _ oldPipelines) error {
	for after := project.ID(0); ; {
		ids, err := db.Select[project.ID](ctx, s.DB, "SELECT p.id FROM projects p WHERE p.settings LIKE ? AND p.id > ? ORDER BY p.id LIMIT ?",
			`%"ci_delete_pipelines_in_seconds":%`, after, oldBatch)
		if err != nil {
			return fmt.Errorf("find projects that delete pipelines: %w", err)
		}
		if len(ids) == 0 {
			return nil
		}
		after = ids[len(ids)-1]
		projects, err := s.Projects.Load(ctx, ids)
		if err != nil {
			return err
		}
		for _, id := range ids {
			p := projects[id]
			if p == nil || p.Subject().Closed {
				continue
			}
			if seconds := p.Settings().CIDeletePipelinesInSeconds; seconds != nil {
				if err := s.deleteBefore(ctx, p, s.Now().Add(-time.Duration(*seconds)*time.Second)); err != nil {
					return err
				}
			}
		}
	}
}

// deleteBefore deletes the pipelines of a project that were created before a time. The ids of pipelines grow with time, so that the first
// that is younger ends the search.
func (s *Service) deleteBefore(ctx context.Context, p *project.Project, before time.Time) error {
	type row struct {
		ID        PipelineID `db:"id"`
		State     State      `db:"status"`
		CreatedAt db.Time    `db:"created_at"`
	}
	for after := PipelineID(0); ; {
		rows, err := db.Select[row](ctx, s.DB, "SELECT l.id, l.status, l.created_at FROM pipelines l WHERE l.project_id = ? AND l.id > ? ORDER BY l.id LIMIT ?",
			p.ID, after, oldBatch)
		if err != nil {
			return fmt.Errorf("find old pipelines: %w", err)
		}
		for _, r := range rows {
			if !r.CreatedAt.Before(before) {
				return nil
			}
			after = r.ID
			if r.State.Active() {
				continue
			}
			if err := s.remove(ctx, authz.System(), p, r.ID); err != nil && !errors.Is(err, db.ErrNotFound) {
				return fmt.Errorf("delete old pipeline: %w", err)
			}
		}
		if len(rows) < oldBatch {
			return nil
		}
	}
}

package project

import (
	"context"
	"fmt"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/core/authz"
	"tenon/internal/core/change"
)

// DeleteInactive is the periodic job that warns maintainers of projects without activity, and deletes those whose maintainers were
// warned long enough ago, where the settings say so.
type DeleteInactive struct{}

// Kind names the job.
func (DeleteInactive) Kind() string { return "inactive_projects" }

// Inactive is published when the maintainers of a project without activity are to be warned.
type Inactive struct {
	Fact
	DeletesOn string // the earliest day of the deletion, YYYY-MM-DD
}

// mostInactive is how many projects one run warns of, and how many it deletes.
const mostInactive = 1000

// storage is what a project takes up in bytes.
const storage = sizeOfRepository + " + " + sizeOfWiki + " + " + sizeOfSnippets + ` +
	COALESCE((SELECT SUM(z.size) FROM lfs_links y JOIN lfs_objects z ON z.id = y.object_id WHERE y.project_id = p.id), 0) +
	COALESCE((SELECT SUM(z.size) FROM job_artifacts z WHERE z.project_id = p.id), 0) +
	COALESCE((SELECT SUM(z.size) FROM package_files z WHERE z.project_id = p.id), 0) +
	COALESCE((SELECT SUM(z.size) FROM uploads z WHERE z.namespace_id = p.namespace_id), 0)`

// DeleteInactive does the job. A project is warned of before it is deleted, however long it was inactive when the setting was turned on.
func (s *Service) DeleteInactive(ctx context.Context, _ DeleteInactive) error {
	set := s.Settings.Current()
	warn, after := set.InactiveProjectsSendWarningEmailAfterMonths, set.InactiveProjectsDeleteAfterMonths
	inactive := db.At(s.Now().AddDate(0, -warn, 0))
	active, args := "DELETE FROM inactive_projects", []any(nil) // where the setting is off, warnings are forgotten
	if set.DeleteInactiveProjects {
		active, args = active+" WHERE project_id IN (SELECT p.id FROM projects p WHERE p.last_activity_at > ?)", []any{inactive}
	}
	if _, err := s.DB.Exec(ctx, active, args...); err != nil {
		return fmt.Errorf("forget inactive projects: %w", err)
	}
	if !set.DeleteInactiveProjects {
		return nil
	}
	due := db.At(s.Now().AddDate(0, warn-after, 0))
	size := int64(set.InactiveProjectsMinSizeMB) << 20
	rows, err := s.inactive(ctx, "JOIN inactive_projects i ON i.project_id = p.id", "i.warned_at <= ?", inactive, size, due)
	if err != nil {
		return err
	}
	for _, p := range rows {
		if err := s.deleteInactive(ctx, p, inactive); err != nil {
			return err
		}
	}
	rows, err = s.inactive(ctx, "LEFT JOIN inactive_projects i ON i.project_id = p.id", "i.project_id IS NULL", inactive, size)
	if err != nil {
		return err
	}
	day := s.Now().UTC().AddDate(0, after-warn, 0).Format(time.DateOnly)
	for _, p := range rows {
		if err := s.warnInactive(ctx, p, day); err != nil {
			return err
		}
	}
	return nil
}

// inactive selects projects without activity since a moment that take up so many bytes at least.
func (s *Service) inactive(ctx context.Context, join, where string, since db.Time, size int64, args ...any) ([]*Project, error) {
	rows, err := db.Select[row](ctx, s.DB, "SELECT "+columns+", 0 AS actor_level"+from+" "+join+` WHERE NOT p.pending_delete AND p.marked_for_deletion_on IS NULL
		AND p.last_activity_at <= ? AND `+storage+" >= ? AND "+where+" ORDER BY p.id LIMIT ?", append(append([]any{since, size}, args...), mostInactive)...)
	if err != nil {
		return nil, fmt.Errorf("find inactive projects: %w", err)
	}
	out := make([]*Project, len(rows))
	for i := range rows {
		out[i] = rows[i].bare()
	}
	return out, nil
}

// warnInactive notes that the maintainers of a project are warned, and has them warned.
func (s *Service) warnInactive(ctx context.Context, p *Project, day string) error {
	return s.DB.InTx(ctx, func(ctx context.Context) error {
		type warning struct {
			ProjectID ID      `db:"project_id"`
			WarnedAt  db.Time `db:"warned_at"`
		}
		if _, err := db.ForUpdate[Project](ctx, s.DB, s.lock(p.ID)); errs.Is(err, errs.NotFound) {
			return nil
		} else if err != nil {
			return fmt.Errorf("warn of inactive project: %w", err)
		}
		made, err := db.InsertRow(ctx, s.DB, "inactive_projects", warning{p.ID, db.At(s.Now())}, "ON CONFLICT (project_id) DO NOTHING")
		if err != nil || made == 0 {
			return err
		}
		return s.Bus.Publish(ctx, Inactive{change.About(authz.System(), s.Now(), p.Place(), p), day})
	})
}

// deleteInactive deletes a project as its owner would, unless there was activity meanwhile. One that is restored is warned of again.
func (s *Service) deleteInactive(ctx context.Context, p *Project, since db.Time) error {
	return s.DB.InTx(ctx, func(ctx context.Context) error {
		now, err := db.ForUpdate[Project](ctx, s.DB, s.lock(p.ID))
		if errs.Is(err, errs.NotFound) || err == nil && now.LastActivityAt.After(since.Time) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("delete inactive project: %w", err)
		}
		if _, err := s.DB.Exec(ctx, "DELETE FROM inactive_projects WHERE project_id = ?", p.ID); err != nil {
			return fmt.Errorf("delete inactive project: %w", err)
		}
		return s.mark(ctx, authz.System(), p)
	})
}

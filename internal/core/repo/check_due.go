package repo

import (
	"context"
	"fmt"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/core/project"
)

// RepositoryCheck asks for the repositories of a day to be read in full: each project has its day in every checkDays.
type RepositoryCheck struct{}

// Kind names the job.
func (RepositoryCheck) Kind() string { return "check_repositories" }

const (
	checkDays = 30
	checkTime = 50 * time.Minute // after which the rest of the day's repositories wait for their next day
)

// CheckDue does the job, where the settings say so. What is wrong is logged.
func (s *Service) CheckDue(ctx context.Context, _ RepositoryCheck) error {
	if !s.Settings.Current().RepositoryChecksEnabled {
		return nil
	}
	day := s.Now().Unix() / int64(24*time.Hour/time.Second) % checkDays
	end := time.Now().Add(checkTime)
	for last := project.ID(0); ; {
		ids, err := db.Select[project.ID](ctx, s.DB, "SELECT id FROM projects WHERE NOT pending_delete AND id > ? AND id % ? = ? ORDER BY id LIMIT 100", last, checkDays, day)
		if err != nil {
			return fmt.Errorf("find repositories to check: %w", err)
		}
		for _, id := range ids {
			if time.Now().After(end) {
				return nil
			}
			if err := s.checkOne(ctx, id); err != nil {
				return err
			}
		}
		if len(ids) < 100 {
			return nil
		}
		last = ids[len(ids)-1]
	}
}

// checkOne reads the repository of a project in full.
func (s *Service) checkOne(ctx context.Context, id project.ID) error {
	found, err := s.Check(ctx, CheckOptions{Project: id, Fsck: true}, func(int, int, string) {})
	if err != nil {
		return err
	}
	for _, p := range found {
		s.Log.ErrorContext(ctx, "repository check failed", "project_id", id, "project", p.Path, "problem", p.Text)
	}
	return nil
}

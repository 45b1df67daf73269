package app

import (
	"context"
	"errors"
	"strings"
	"testing"

	"tenon/internal/base/job"
	"tenon/internal/core/project"
)

// TestSettings_jobs turns what the arguments of jobs may have, and has jobs of maintenance wait.
func TestSettings_jobs(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, s *server) {
		undone := errors.New("undone")
		enqueue := func() error {
			t.Helper()
			err := s.db.InTx(t.Context(), func(ctx context.Context) error {
				if err := s.jobs.Enqueue(ctx, project.Import{URL: strings.Repeat("x", 20_000)}); err != nil {
					return err
				}
				return undone
			})
			if errors.Is(err, undone) {
				return nil
			}
			return err
		}
		var large *job.TooLarge
		s.set(obj{"sidekiq_job_limiter_limit_bytes": 5000})
		if err := enqueue(); !errors.As(err, &large) {
			t.Errorf("a large job: %v", err)
		}
		s.set(obj{"sidekiq_job_limiter_compression_threshold_bytes": 10_000})
		if err := enqueue(); err != nil {
			t.Errorf("a large job that is compressed: %v", err)
		}
		s.set(obj{"sidekiq_job_limiter_compression_threshold_bytes": 100_000, "sidekiq_job_limiter_mode": "track"})
		if err := enqueue(); err != nil {
			t.Errorf("a large job that is tracked: %v", err)
		}

		waits := func() bool {
			t.Helper()
			if err := s.jobs.Enqueue(t.Context(), reconcileArgs{}); err != nil {
				t.Fatal(err)
			}
			if err := s.jobs.Drain(t.Context()); err != nil {
				t.Fatal(err)
			}
			waiting, err := job.Waiting[reconcileArgs](t.Context(), s.db)
			if err != nil {
				t.Fatal(err)
			}
			return len(waiting) > 0
		}
		if waits() {
			t.Error("a job of maintenance waits")
		}
		s.set(obj{"background_operations_max_jobs": 0})
		if !waits() {
			t.Error("a job of maintenance does not wait")
		}
	})
}

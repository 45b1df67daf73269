package mergerequest

import (
	"context"

	"tenon/internal/core/project"
)

// Retry does the job that makes the trial merges of a target branch again.
func (s *Service) Retry(ctx context.Context, id project.ID, branch string) error {
	return s.retry(ctx, trials{id, branch})
}

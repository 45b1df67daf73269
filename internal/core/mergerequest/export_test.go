package mergerequest

import (
	"context"

	"tenon/internal/core/project"
)

// WithHeads is the condition that finds requests by their last commits.
var WithHeads = withHeads

// Retry does the job that makes the trial merges of a target branch again.
func (s *Service) Retry(ctx context.Context, id project.ID, branch string) error {
	return s.retry(ctx, trials{id, branch})
}

package usage

import (
	"context"
	"time"

	"tenon/internal/base/job"
	"tenon/internal/core/authz"
)

// Queues are the queues of background jobs.
type Queues interface {
	Figures(ctx context.Context, now time.Time) (*job.Figures, error)
}

// QueueFigures returns how the queues of background jobs do.
func (s *Service) QueueFigures(ctx context.Context, as authz.Actor) (*job.Figures, error) {
	if err := s.Policy.Require(ctx, as, authz.ReadQueues, authz.Subject{}); err != nil {
		return nil, err
	}
	return s.Queues.Figures(ctx, s.Now())
}

package repo

import (
	"context"
	"fmt"
	"time"

	"tenon/internal/base/gitstore"
	"tenon/internal/core/authz"
	"tenon/internal/core/project"
)

// Health says how the repository of a project is stored, as it is at that time.
func (s *Service) Health(ctx context.Context, as authz.Actor, p *project.Project) (gitstore.Health, time.Time, error) {
	r, err := s.Read(ctx, as, p)
	if err != nil {
		return gitstore.Health{}, time.Time{}, err
	}
	now := s.Now()
	h, err := r.Health(ctx, now)
	if err != nil {
		return h, now, fmt.Errorf("health: %w", err)
	}
	return h, now, nil
}

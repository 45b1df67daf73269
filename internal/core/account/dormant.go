package account

import (
	"context"
	"fmt"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/core/authz"
)

// Dormant asks for users without activity to be deactivated, where the settings say so.
type Dormant struct{}

// Kind names the job.
func (Dormant) Kind() string { return "deactivate_dormant_users" }

// mostDormant is how many users one job deactivates.
const mostDormant = 1000

// DeactivateDormant does the job.
func (s *Service) DeactivateDormant(ctx context.Context, _ Dormant) error {
	set := s.Settings.Current()
	if !set.DeactivateDormantUsers {
		return nil
	}
	since := s.Now().AddDate(0, 0, -set.DeactivateDormantUsersPeriod)
	ids, err := db.Select[authz.UserID](ctx, s.DB, `SELECT id FROM users WHERE state = ? AND user_type = ? AND created_at < ?
		AND (last_activity_on IS NULL OR last_activity_on <= ?) AND (current_sign_in_at IS NULL OR current_sign_in_at <= ?) ORDER BY id LIMIT ?`,
		Active, Human, db.At(since), since.UTC().Format(time.DateOnly), db.At(since), mostDormant)
	if err != nil {
		return fmt.Errorf("find dormant users: %w", err)
	}
	for _, id := range ids {
		if s.wasActive(id, since) {
			continue
		}
		if _, err := s.become(ctx, authz.System(), &User{ID: id, State: Active}, Deactivated, Active); err != nil {
			return fmt.Errorf("deactivate user %d: %w", id, err)
		}
	}
	return nil
}

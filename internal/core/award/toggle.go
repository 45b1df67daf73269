package award

import (
	"context"
	"errors"
	"fmt"

	"tenon/internal/base/db"
	"tenon/internal/core/authz"
	"tenon/internal/core/noteable"
)

// Toggle takes the actor's reaction with an emoji back, or reacts where there is none.
func (s *Service) Toggle(ctx context.Context, as authz.Actor, to noteable.Target, name string) error {
	if err := s.policy.Require(ctx, as, authz.AwardEmoji, to.Subject); err != nil {
		return err
	}
	if canonical, ok := Canonical(name); ok {
		name = canonical
	}
	return s.db.InTx(ctx, func(ctx context.Context) error {
		id, err := db.Get[ID](ctx, s.db, "SELECT id FROM award_emoji WHERE awardable_type = ? AND awardable_id = ? AND name = ? AND user_id = ?",
			to.Kind, to.ID, name, as.UserID)
		switch {
		case errors.Is(err, db.ErrNotFound):
			_, err = s.Add(ctx, as, to, name)
			return err
		case err != nil:
			return fmt.Errorf("toggle award: %w", err)
		}
		return s.Remove(ctx, as.Unconditional(), to, id)
	})
}

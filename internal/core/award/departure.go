package award

import (
	"context"
	"fmt"

	"tenon/internal/base/db"
	"tenon/internal/core/account"
)

// Depart is the account.Executor of reactions: those of a departing user become the
// ghost's, who reacts but once to a thing in the same way, or go.
func (s *Service) Depart(ctx context.Context, e account.Estate) (bool, error) {
	found := 0
	err := s.DB.InTx(ctx, func(ctx context.Context) error {
		ids, err := db.Select[int64](ctx, s.DB, "SELECT id FROM award_emoji WHERE user_id = ? ORDER BY id LIMIT ?", e.UserID, account.Batch)
		if found = len(ids); err != nil || found == 0 {
			return err
		}
		marks, args := db.Marks(ids)
		if e.Hard {
			_, err := s.DB.Exec(ctx, "DELETE FROM award_emoji WHERE id IN ("+marks+")", args...)
			return err
		}
		if _, err := s.DB.Exec(ctx, "DELETE FROM award_emoji WHERE id IN ("+marks+`) AND EXISTS (SELECT 1 FROM award_emoji g
			WHERE g.awardable_type = award_emoji.awardable_type AND g.awardable_id = award_emoji.awardable_id
			AND g.name = award_emoji.name AND g.user_id = ?)`, append(args, e.Ghost)...); err != nil {
			return err
		}
		_, err = s.DB.Exec(ctx, "UPDATE award_emoji SET user_id = ? WHERE id IN ("+marks+")", append([]any{e.Ghost}, args...)...)
		return err
	})
	if err != nil {
		return false, fmt.Errorf("reactions of user: %w", err)
	}
	return found > 0, nil
}

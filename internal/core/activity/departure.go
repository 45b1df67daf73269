package activity

import (
	"context"
	"fmt"

	"tenon/internal/core/account"
)

// Depart is the account.Executor of activity: what a departing user did is told no more.
func (r *Recorder) Depart(ctx context.Context, e account.Estate) (bool, error) {
	n, err := r.db.Exec(ctx, "DELETE FROM events WHERE id IN (SELECT id FROM events WHERE author_id = ? ORDER BY id LIMIT ?)", e.UserID, account.Batch)
	if err != nil {
		return false, fmt.Errorf("delete events of user: %w", err)
	}
	return n == account.Batch, nil
}

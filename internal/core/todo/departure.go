package todo

import (
	"context"
	"fmt"

	"tenon/internal/core/account"
)

// Depart is the account.Executor of to-do items: those of a departing user go, and those that
// it made for others become the ghost's, or go too.
func (s *Service) Depart(ctx context.Context, e account.Estate) (bool, error) {
	const some = " WHERE id IN (SELECT id FROM todos WHERE "
	n, err := s.DB.Exec(ctx, "DELETE FROM todos"+some+"user_id = ? ORDER BY id LIMIT ?)", e.UserID, account.Batch)
	if err != nil {
		return false, fmt.Errorf("delete to-do items of user: %w", err)
	}
	// Requests for access go with their user.
	asked, err := s.DB.Exec(ctx, "DELETE FROM todos"+some+"author_id = ? AND action = ? ORDER BY id LIMIT ?)", e.UserID, AccessRequested, account.Batch)
	if err != nil {
		return false, fmt.Errorf("delete to-do items of access requests: %w", err)
	}
	query, args := "UPDATE todos SET author_id = ?", []any{e.Ghost}
	if e.Hard {
		query, args = "DELETE FROM todos", nil
	}
	made, err := s.DB.Exec(ctx, query+some+"author_id = ? AND action <> ? ORDER BY id LIMIT ?)", append(args, e.UserID, AccessRequested, account.Batch)...)
	if err != nil {
		return false, fmt.Errorf("hand over to-do items: %w", err)
	}
	return n == account.Batch || asked == account.Batch || made == account.Batch, nil
}

package epic

import (
	"context"
	"fmt"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/core/account"
	"tenon/internal/core/namespace"
)

// Depart is the account.Executor of epics: those that a departing user wrote become the ghost's,
// or go.
func (s *Service) Depart(ctx context.Context, e account.Estate) (bool, error) {
	if !e.Hard {
		n, err := s.DB.Exec(ctx, "UPDATE epics SET author_id = ? WHERE id IN (SELECT id FROM epics WHERE author_id = ? ORDER BY id LIMIT ?)",
			e.Ghost, e.UserID, account.Batch)
		if err != nil {
			return false, fmt.Errorf("hand over epics: %w", err)
		}
		return n == account.Batch, nil
	}
	list, err := db.Select[Epic](ctx, s.DB, "SELECT "+columns+" FROM "+tables+" WHERE e.author_id = ? ORDER BY e.id LIMIT ?", e.UserID, account.Batch/10)
	if err == nil {
		err = s.labelled(ctx, list)
	}
	if err != nil {
		return false, fmt.Errorf("epics of user: %w", err)
	}
	for i := range list {
		err := s.remove(ctx, e.Actor(), &list[i], &namespace.Group{ID: list[i].GroupID, FullPath: list[i].Path})
		if err != nil && !errs.Is(err, errs.NotFound) {
			return false, fmt.Errorf("delete epic of user: %w", err)
		}
	}
	return len(list) > 0, nil
}

package snippet

import (
	"context"
	"fmt"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/core/account"
)

// Depart is the account.Executor of snippets: the personal ones of a departing user go; those
// in projects become the ghost's, or go, too.
func (s *Service) Depart(ctx context.Context, e account.Estate) (bool, error) {
	var w db.Where
	w.And("s.author_id = ?", e.UserID)
	if !e.Hard {
		w.Raw("s.project_id IS NULL")
	}
	rows, err := db.Select[Snippet](ctx, s.DB, "SELECT "+columns+from+w.SQL()+" ORDER BY s.id LIMIT ?", append(w.Args(), account.Batch/10)...)
	if err != nil {
		return false, fmt.Errorf("snippets of user: %w", err)
	}
	for i := range rows {
		if err := s.remove(ctx, e.Actor(), &rows[i]); err != nil && !errs.Is(err, errs.NotFound) {
			return false, fmt.Errorf("delete snippet of user: %w", err)
		}
	}
	if len(rows) > 0 || e.Hard {
		return len(rows) > 0, nil
	}
	n, err := s.DB.Exec(ctx, "UPDATE snippets SET author_id = ? WHERE id IN (SELECT id FROM snippets WHERE author_id = ? ORDER BY id LIMIT ?)",
		e.Ghost, e.UserID, account.Batch)
	if err != nil {
		return false, fmt.Errorf("hand over snippets: %w", err)
	}
	return n == account.Batch, nil
}

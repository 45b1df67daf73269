package issue

import (
	"context"
	"fmt"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/core/account"
	"tenon/internal/core/project"
)

// Depart is the account.Executor of issues: those that a departing user wrote become the
// ghost's, or go.
func (s *Service) Depart(ctx context.Context, e account.Estate) (bool, error) {
	if !e.Hard {
		n, err := s.DB.Exec(ctx, "UPDATE issues SET author_id = ? WHERE id IN (SELECT id FROM issues WHERE author_id = ? ORDER BY id LIMIT ?)",
			e.Ghost, e.UserID, account.Batch)
		if err != nil {
			return false, fmt.Errorf("hand over issues: %w", err)
		}
		return n == account.Batch, nil
	}
	type row struct {
		ID        ID         `db:"id"`
		ProjectID project.ID `db:"project_id"`
		Path      string     `db:"path"`
	}
	rows, err := db.Select[row](ctx, s.DB, `SELECT i.id, i.project_id, r.path FROM issues i JOIN projects p ON p.id = i.project_id
		JOIN routes r ON r.namespace_id = p.namespace_id WHERE i.author_id = ? ORDER BY i.id LIMIT ?`, e.UserID, account.Batch/10)
	if err != nil {
		return false, fmt.Errorf("issues of user: %w", err)
	}
	for _, r := range rows {
		i, err := s.read(ctx, e.Actor(), "i.notes_count", "i.id = ?", r.ID)
		if err == nil {
			err = s.remove(ctx, e.Actor(), i, &project.Project{ID: r.ProjectID, FullPath: r.Path})
		}
		if err != nil && !errs.Is(err, errs.NotFound) {
			return false, fmt.Errorf("delete issue of user: %w", err)
		}
	}
	return len(rows) > 0, nil
}

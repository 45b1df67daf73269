package mergerequest

import (
	"context"
	"fmt"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/core/account"
	"tenon/internal/core/project"
)

// Depart is the account.Executor of merge requests: those that a departing user wrote
// become the ghost's, or go; so does the fame of having merged some.
func (s *Service) Depart(ctx context.Context, e account.Estate) (bool, error) {
	more, err := s.departPlans(ctx, e.UserID, account.Batch/10)
	if err != nil || more {
		return more, err
	}
	merged, err := s.DB.Exec(ctx, `UPDATE merge_requests SET merge_user_id = ? WHERE id IN
		(SELECT id FROM merge_requests WHERE merge_user_id = ? ORDER BY id LIMIT ?)`, e.Ghost, e.UserID, account.Batch)
	if err != nil {
		return false, fmt.Errorf("hand over merges: %w", err)
	}
	if merged > 0 {
		return true, nil
	}
	if e.Hard {
		return s.departHard(ctx, e)
	}
	n, err := s.DB.Exec(ctx, `UPDATE merge_requests SET author_id = ? WHERE id IN
		(SELECT id FROM merge_requests WHERE author_id = ? ORDER BY id LIMIT ?)`, e.Ghost, e.UserID, account.Batch)
	if err != nil {
		return false, fmt.Errorf("hand over merge requests: %w", err)
	}
	return n == account.Batch, nil
}

// departHard deletes requests. One that is being merged is a Conflict: the job tries again.
// Those of projects that are being deleted go with them.
func (s *Service) departHard(ctx context.Context, e account.Estate) (bool, error) {
	ids, err := db.Select[ID](ctx, s.DB, `SELECT m.id FROM merge_requests m
		JOIN projects p ON p.id = m.target_project_id AND NOT p.pending_delete
		WHERE m.author_id = ? ORDER BY m.id LIMIT ?`, e.UserID, account.Batch/10)
	if err != nil {
		return false, fmt.Errorf("merge requests of user: %w", err)
	}
	for _, id := range ids {
		m, err := s.load(ctx, "m.id = ?", id)
		if errs.Is(err, errs.NotFound) {
			continue
		}
		if err != nil {
			return false, err
		}
		projects, err := s.Projects.Load(ctx, []project.ID{m.ProjectID})
		if err != nil {
			return false, fmt.Errorf("project of merge request: %w", err)
		}
		p := projects[m.ProjectID]
		if p == nil {
			continue // its deletion began just now
		}
		if err := s.remove(ctx, e.Actor(), p, m); err != nil {
			return false, fmt.Errorf("delete merge request of user: %w", err)
		}
	}
	return len(ids) > 0, nil
}

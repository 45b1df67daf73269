package project

import (
	"context"
	"errors"
	"fmt"
	"time"

	"tenon/internal/base/db"
)

// RecordPush notes that references of the project's repository moved. A branch that is
// not empty becomes the default branch unless the project has one. It is called inside
// the transaction of the push and asks for no permission.
func (s *Service) RecordPush(ctx context.Context, id ID, branch string, at time.Time) error {
	query, args := "UPDATE projects SET last_activity_at = ?", []any{db.At(at)}
	if branch != "" {
		query, args = query+", default_branch = COALESCE(default_branch, ?)", append(args, branch)
	}
	if _, err := s.DB.Exec(ctx, query+" WHERE id = ?", append(args, id)...); err != nil {
		return fmt.Errorf("record push: %w", err)
	}
	return nil
}

// AdoptBranch makes a branch of the repository the default one of a project that has none.
// It asks for no permission.
func (s *Service) AdoptBranch(ctx context.Context, id ID, branch string) error {
	row := s.lock(id)
	row.Now = nil
	_, err := db.Update(ctx, s.DB, row, func(_ context.Context, p *Project) error {
		if p.DefaultBranch == nil {
			p.DefaultBranch = &branch
		}
		return nil
	})
	if err != nil && !errors.Is(err, db.ErrNotFound) {
		return fmt.Errorf("set default branch: %w", err)
	}
	return nil
}

package label

import (
	"context"
	"fmt"

	"tenon/internal/base/db"
	"tenon/internal/core/namespace"
	"tenon/internal/core/noteable"
	"tenon/internal/core/project"
)

// OnProjectRemoving takes the labels of groups off the things of a project.
func (s *Service) OnProjectRemoving(ctx context.Context, e project.Removing) error {
	cond, args, ok := noteable.InTable("target_type", "target_id", e.Table, e.IDs)
	if !ok {
		return nil
	}
	return s.went(ctx, cond, args...)
}

// OnGroupRemoving takes the labels of other groups off the things of a group.
func (s *Service) OnGroupRemoving(ctx context.Context, e namespace.GroupRemoving) error {
	for _, cond := range noteable.InGroup("target_type", "target_id") {
		if err := s.went(ctx, cond, e.Group.ID); err != nil {
			return err
		}
	}
	return nil
}

func (s *Service) went(ctx context.Context, cond string, args ...any) error {
	if _, err := s.db.Exec(ctx, "DELETE FROM label_links WHERE "+cond, args...); err != nil {
		return fmt.Errorf("labels of what goes: %w", err)
	}
	return nil
}

// goneBatch is how many ids one statement of Clean looks at.
const goneBatch = 1000

// Clean deletes the labels of things that are gone, which older versions left. It is for the
// administrator's command line.
func (s *Service) Clean(ctx context.Context) error {
	last, err := db.Get[int64](ctx, s.db, "SELECT COALESCE(MAX(id), 0) FROM labels")
	for from := int64(0); err == nil && from < last; from += goneBatch {
		_, err = s.db.Exec(ctx, "DELETE FROM label_links WHERE label_id > ? AND label_id <= ? AND "+noteable.GoneSQL("target_type", "target_id"), from, from+goneBatch)
	}
	if err != nil {
		return fmt.Errorf("clean labels: %w", err)
	}
	return nil
}

// Check tells how many labels of things there are that are gone. It is for the administrator's
// command line.
func (s *Service) Check(ctx context.Context) ([]string, error) {
	n, err := db.Get[int64](ctx, s.db, "SELECT COUNT(*) FROM label_links WHERE "+noteable.GoneSQL("target_type", "target_id"))
	if err != nil {
		return nil, fmt.Errorf("check labels: %w", err)
	}
	if n == 0 {
		return nil, nil
	}
	return []string{fmt.Sprintf("label_links: %d name things that are gone; --repair deletes them", n)}, nil
}

package award

import (
	"context"
	"fmt"

	"tenon/internal/base/db"
	"tenon/internal/base/event"
	"tenon/internal/core/namespace"
	"tenon/internal/core/noteable"
	"tenon/internal/core/project"
)

// Subscribe deletes reactions with the project or the group of what they are on.
func (s *Service) Subscribe(b *event.Bus) {
	const name = "reactions"
	event.On(b, name, func(ctx context.Context, e project.Removing) error {
		cond, args, ok := noteable.InTable("awardable_type", "awardable_id", e.Table, e.IDs)
		if !ok {
			return nil
		}
		return s.went(ctx, cond, args...)
	})
	event.On(b, name, func(ctx context.Context, e namespace.GroupRemoving) error {
		for _, cond := range noteable.InGroup("awardable_type", "awardable_id") {
			if err := s.went(ctx, cond, e.Group.ID); err != nil {
				return err
			}
		}
		return nil
	})
}

func (s *Service) went(ctx context.Context, cond string, args ...any) error {
	if _, err := s.db.Exec(ctx, "DELETE FROM award_emoji WHERE "+cond, args...); err != nil {
		return fmt.Errorf("reactions to what goes: %w", err)
	}
	return nil
}

// goneBatch is how many ids one statement of Clean looks at.
const goneBatch = 1000

// Clean deletes the reactions to things that are gone, which older versions left. It is for the
// administrator's command line.
func (s *Service) Clean(ctx context.Context) error {
	last, err := db.Get[int64](ctx, s.db, "SELECT COALESCE(MAX(id), 0) FROM award_emoji")
	for from := int64(0); err == nil && from < last; from += goneBatch {
		_, err = s.db.Exec(ctx, "DELETE FROM award_emoji WHERE id > ? AND id <= ? AND "+noteable.GoneSQL("awardable_type", "awardable_id"), from, from+goneBatch)
	}
	if err != nil {
		return fmt.Errorf("clean reactions: %w", err)
	}
	return nil
}

// Check tells how many reactions to things there are that are gone. It is for the administrator's
// command line.
func (s *Service) Check(ctx context.Context) ([]string, error) {
	n, err := db.Get[int64](ctx, s.db, "SELECT COUNT(*) FROM award_emoji WHERE "+noteable.GoneSQL("awardable_type", "awardable_id"))
	if err != nil {
		return nil, fmt.Errorf("check reactions: %w", err)
	}
	if n == 0 {
		return nil, nil
	}
	return []string{fmt.Sprintf("award_emoji: %d name things that are gone; --repair deletes them", n)}, nil
}

package board

import (
	"context"
	"fmt"
	"slices"

	"tenon/internal/base/db"
	"tenon/internal/base/event"
	"tenon/internal/core/label"
	"tenon/internal/core/milestone"
)

// Subscribe registers what happens with boards when something else happens.
func (s *Service) Subscribe(b *event.Bus) {
	event.On(b, "boards", func(ctx context.Context, e label.Promoted) error {
		if err := s.replace(ctx, "board_lists", "label_id", int64(e.Label.ID), ids(e.Replaces)); err != nil {
			return err
		}
		return s.replace(ctx, "board_labels", "label_id", int64(e.Label.ID), ids(e.Replaces))
	})
	event.On(b, "boards", func(ctx context.Context, e milestone.Promoted) error {
		if err := s.replace(ctx, "board_lists", "milestone_id", int64(e.Milestone.ID), ids(e.Replaces)); err != nil {
			return err
		}
		for chunk := range slices.Chunk(ids(e.Replaces), db.MaxArgs-1) {
			marks, args := db.Marks(chunk)
			if _, err := s.db.Exec(ctx, "UPDATE boards SET milestone_id = ? WHERE milestone_id IN ("+marks+")",
				append([]any{e.Milestone.ID}, args...)...); err != nil {
				return fmt.Errorf("promoted milestone of boards: %w", err)
			}
		}
		return nil
	})
}

func ids[T ~int64](list []T) []int64 {
	out := make([]int64, len(list))
	for i, id := range list {
		out[i] = int64(id)
	}
	return out
}

// replace puts a label or milestone in the place of others that are about to be deleted, on
// boards that do not have it yet.
func (s *Service) replace(ctx context.Context, table, column string, by int64, replaced []int64) error {
	for chunk := range slices.Chunk(replaced, db.MaxArgs-2) {
		marks, args := db.Marks(chunk)
		if _, err := s.db.Exec(ctx, "UPDATE "+table+" AS t SET "+column+" = ? WHERE "+column+" IN ("+marks+
			") AND NOT EXISTS (SELECT 1 FROM "+table+" o WHERE o.board_id = t.board_id AND o."+column+" = ?)",
			append(append([]any{by}, args...), by)...); err != nil {
			return fmt.Errorf("replace %s of %s: %w", column, table, err)
		}
	}
	return nil
}

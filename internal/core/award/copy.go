package award

import (
	"context"
	"fmt"

	"tenon/internal/core/noteable"
)

// Copy gives a new thing the reactions to another one of its kind, in the caller's transaction.
func (s *Service) Copy(ctx context.Context, from, to noteable.Ref) error {
	_, err := s.DB.Exec(ctx, `INSERT INTO award_emoji (name, user_id, awardable_type, awardable_id, created_at, updated_at)
		SELECT a.name, a.user_id, CAST(? AS TEXT), CAST(? AS BIGINT), a.created_at, a.updated_at FROM award_emoji a
		WHERE a.awardable_type = ? AND a.awardable_id = ? ORDER BY a.id`, to.Kind, to.ID, from.Kind, from.ID)
	if err != nil {
		return fmt.Errorf("copy awards: %w", err)
	}
	return nil
}

// CopyNotes gives the notes on a new thing, which are copies of those on another one and nothing
// else, the reactions to these, in the caller's transaction.
func (s *Service) CopyNotes(ctx context.Context, from, to noteable.Ref) error {
	const placed = "(SELECT n.id, ROW_NUMBER() OVER (ORDER BY n.id) AS place FROM notes n WHERE n.noteable_type = ? AND n.noteable_id = ?)"
	_, err := s.DB.Exec(ctx, `INSERT INTO award_emoji (name, user_id, awardable_type, awardable_id, created_at, updated_at)
		SELECT a.name, a.user_id, a.awardable_type, y.id, a.created_at, a.updated_at
		FROM award_emoji a JOIN `+placed+" x ON a.awardable_type = 'Note' AND a.awardable_id = x.id JOIN "+placed+` y ON y.place = x.place
		ORDER BY a.id`, from.Kind, from.ID, to.Kind, to.ID)
	if err != nil {
		return fmt.Errorf("copy awards of notes: %w", err)
	}
	return nil
}

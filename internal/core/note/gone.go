package note

import (
	"context"
	"fmt"

	"tenon/internal/base/db"
	"tenon/internal/core/authz"
	"tenon/internal/core/noteable"
)

// Gone says of a comment that was deleted from a discussion of a thing whether the actor could
// read it, and whether it was the last one of the discussion.
func (s *Service) Gone(ctx context.Context, as authz.Actor, on noteable.Ref, discussion string, internal bool) (seen, last bool, err error) {
	readable, err := s.readableOn(ctx, as, []noteable.Ref{on})
	if err != nil {
		return false, false, err
	}
	if all, ok := readable[on]; !ok || internal && !all {
		return false, false, nil
	}
	left, err := db.Get[int64](ctx, s.db, "SELECT COUNT(*) FROM notes WHERE noteable_type = ? AND noteable_id = ? AND discussion_id = ?", on.Kind, on.ID, discussion)
	if err != nil {
		return false, false, fmt.Errorf("notes of a discussion: %w", err)
	}
	return true, left == 0, nil
}

package note

import (
	"context"
	"fmt"

	"tenon/internal/base/db"
	"tenon/internal/core/authz"
	"tenon/internal/core/noteable"
)

// Removed is a comment that was deleted.
type Removed struct {
	On         noteable.Ref
	Discussion string
	Internal   bool
}

// Deletion says of a comment that was deleted whether the actor could read it, and whether it was the
// last one of its discussion.
func (s *Service) Deletion(ctx context.Context, as authz.Actor, was Removed) (seen, last bool, err error) {
	on := was.On
	readable, err := s.readableOn(ctx, as, []noteable.Ref{on})
	if err != nil {
		return false, false, err
	}
	if all, ok := readable[on]; !ok || was.Internal && !all {
		return false, false, nil
	}
	left, err := db.Get[int64](ctx, s.DB, "SELECT COUNT(*) FROM notes WHERE noteable_type = ? AND noteable_id = ? AND discussion_id = ?", on.Kind, on.ID, was.Discussion)
	if err != nil {
		return false, false, fmt.Errorf("notes of a discussion: %w", err)
	}
	return true, left == 0, nil
}

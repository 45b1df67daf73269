package mergerequest

import (
	"context"
	"fmt"

	"tenon/internal/core/authz"
)

// ReviewerState says how far a reviewer is.
type ReviewerState string

// The states that a review of notes leads to.
const (
	ReviewBegun      ReviewerState = "review_started" // the reviewer has draft notes
	ReviewDone       ReviewerState = "reviewed"
	ChangesRequested ReviewerState = "requested_changes"
)

// HasReviewed reports whether a reviewer with a state has given a review that stands.
func HasReviewed(state string) bool {
	return state == string(ReviewDone) || state == string(ChangesRequested) || state == ReviewApproved
}

// ReviewStarted records in the caller's transaction that a user has begun to write, where that
// user is a reviewer who has not reviewed. It asks for no permission.
func (s *Service) ReviewStarted(ctx context.Context, id ID, user authz.UserID) error {
	return s.setReviewerState(ctx, id, user, ReviewBegun, " AND state = ?", unreviewed)
}

// ReviewStopped takes that back. It asks for no permission.
func (s *Service) ReviewStopped(ctx context.Context, id ID, user authz.UserID) error {
	return s.setReviewerState(ctx, id, user, unreviewed, " AND state = ?", string(ReviewBegun))
}

// Reviewed records in the caller's transaction what a user's review says, where that user is a
// reviewer. It asks for no permission.
func (s *Service) Reviewed(ctx context.Context, id ID, user authz.UserID, state ReviewerState) error {
	return s.setReviewerState(ctx, id, user, state, "")
}

func (s *Service) setReviewerState(ctx context.Context, id ID, user authz.UserID, state ReviewerState, cond string, more ...any) error {
	_, err := s.db.Exec(ctx, "UPDATE merge_request_reviewers SET state = ? WHERE merge_request_id = ? AND user_id = ?"+cond,
		append([]any{string(state), id, user}, more...)...)
	if err != nil {
		return fmt.Errorf("set state of reviewer: %w", err)
	}
	return nil
}

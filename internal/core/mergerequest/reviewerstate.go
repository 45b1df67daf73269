package mergerequest

import (
	"context"
	"errors"
	"fmt"

	"tenon/internal/base/db"
	"tenon/internal/core/authz"
	"tenon/internal/core/project"
)

// ReviewerState says how far a reviewer is.
type ReviewerState string

// The states that a review of notes leads to.
const (
	ReviewBegun      ReviewerState = "review_started" // the reviewer has draft notes
	ReviewDone       ReviewerState = "reviewed"
	ChangesRequested ReviewerState = "requested_changes"
)

// ReviewerStateChanged is published when a reviewer has begun to write a review, has stopped, or has given one that is no approval. The merge
// request itself is as before but for its reviewers.
type ReviewerStateChanged struct {
	Fact
	UserID authz.UserID // the reviewer, who did it
	Former string       // state before
	State  string
}

// HasReviewed reports whether a reviewer with a state has given a review that stands.
func HasReviewed(state string) bool {
	return state == string(ReviewDone) || state == string(ChangesRequested) || state == ReviewApproved
}

// ReviewStarted records in the caller's transaction that a user has begun to write, where that
// user is a reviewer who has not reviewed. It asks for no permission.
func (s *Service) ReviewStarted(ctx context.Context, id ID, user authz.UserID) error {
	return s.review(ctx, id, user, ReviewBegun, unreviewed)
}

// ReviewStopped takes that back. It asks for no permission.
func (s *Service) ReviewStopped(ctx context.Context, id ID, user authz.UserID) error {
	return s.review(ctx, id, user, unreviewed, string(ReviewBegun))
}

// Reviewed records in the caller's transaction what a user's review says, where that user is a
// reviewer. It asks for no permission.
func (s *Service) Reviewed(ctx context.Context, id ID, user authz.UserID, state ReviewerState) error {
	return s.review(ctx, id, user, state, "")
}

// review gives a reviewer who did it himself another state in the caller's transaction, where it has the state only, "" for any, and
// publishes it.
func (s *Service) review(ctx context.Context, id ID, user authz.UserID, state ReviewerState, only string) error {
	former, err := db.Get[string](ctx, s.DB, "SELECT r.state FROM merge_request_reviewers r WHERE r.merge_request_id = ? AND r.user_id = ?", id, user)
	if errors.Is(err, db.ErrNotFound) || err == nil && (former == string(state) || only != "" && former != only) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read state of reviewer: %w", err)
	}
	before, err := s.load(ctx, "m.id = ?", id)
	if err != nil {
		return err
	}
	found, err := s.Projects.Load(ctx, []project.ID{before.ProjectID})
	if err != nil {
		return err
	}
	if err := s.attach(ctx, []*MergeRequest{before}); err != nil {
		return err
	}
	if err := s.setReviewerState(ctx, id, user, state); err != nil {
		return err
	}
	now := *before
	now.Reviewers, _ = withState(before.Reviewers, user, string(state))
	return s.Bus.Publish(ctx, ReviewerStateChanged{
		Fact:   s.changed(authz.Actor{UserID: user}, found[now.ProjectID], before, &now),
		UserID: user, Former: former, State: string(state),
	})
}

func (s *Service) setReviewerState(ctx context.Context, id ID, user authz.UserID, state ReviewerState) error {
	_, err := s.DB.Exec(ctx, "UPDATE merge_request_reviewers SET state = ? WHERE merge_request_id = ? AND user_id = ?", string(state), id, user)
	if err != nil {
		return fmt.Errorf("set state of reviewer: %w", err)
	}
	return nil
}

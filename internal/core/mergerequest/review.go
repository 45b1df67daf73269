package mergerequest

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/core/authz"
	"tenon/internal/core/project"
)

// States of a reviewer that approvals cause.
const (
	ReviewApproved   = "approved"
	ReviewUnapproved = "unapproved"
)

// Review records in the caller's transaction what the actor, if asked for a review, made of a
// request, and returns what an event says of that. The request is locked until the transaction
// ends; judge sees it as it is then. It asks for no permission: its callers in core have.
func (s *Service) Review(ctx context.Context, as authz.Actor, p *project.Project, id ID, state string, judge func(ctx context.Context, m *MergeRequest) error) (Fact, error) {
	out, err := db.Update(ctx, s.DB, s.row(id), func(ctx context.Context, m *MergeRequest) error {
		m.UpdatedAt = s.stamp()
		return judge(ctx, m)
	})
	if errors.Is(err, db.ErrNotFound) {
		return Fact{}, errs.Missing("")
	}
	if err != nil {
		return Fact{}, err
	}
	before, now := out.Before, out.After
	if err := s.attach(ctx, []*MergeRequest{&before}); err != nil {
		return Fact{}, err
	}
	now.Assignees, now.Labels, now.Upvotes, now.Downvotes, now.Blockers, now.Unruled = before.Assignees, before.Labels, before.Upvotes, before.Downvotes, before.Blockers, before.Unruled
	asked := false
	if now.Reviewers, asked = withState(before.Reviewers, as.UserID, state); asked {
		if err := s.setReviewerState(ctx, id, as.UserID, ReviewerState(state)); err != nil {
			return Fact{}, err
		}
	}
	return s.changed(as, p, &before, &now), nil
}

// withState returns reviewers with another state of one of them; ok is false where the user is none of them.
func withState(list []Reviewer, user authz.UserID, state string) (out []Reviewer, ok bool) {
	out = slices.Clone(list)
	for i := range out {
		if out[i].UserID == user {
			out[i].State, ok = state, true
		}
	}
	return out, ok
}

// RequestReview asks a reviewer of a request for another review, and returns the request. It requires
// SetMergeRequestMetadata; a user who is no reviewer of it is Unprocessable.
func (s *Service) RequestReview(ctx context.Context, as authz.Actor, p *project.Project, iid IID, user authz.UserID) (*MergeRequest, error) {
	m, err := s.Find(ctx, as, p, iid)
	if err != nil {
		return nil, err
	}
	if err := s.requireOn(ctx, as, authz.SetMergeRequestMetadata, p, m); err != nil {
		return nil, err
	}
	if !slices.Contains(m.ReviewerIDs(), user) {
		return nil, errs.Sentences(errs.Unprocessable, "Reviewer not found")
	}
	err = s.DB.InTx(ctx, func(ctx context.Context) error {
		var reviewers []Reviewer // before
		out, err := db.Update(ctx, s.DB, s.row(m.ID), func(ctx context.Context, m *MergeRequest) error {
			if err := s.attach(ctx, []*MergeRequest{m}); err != nil {
				return err
			}
			m.UpdatedAt, reviewers = s.stamp(), m.Reviewers
			m.Reviewers, _ = withState(reviewers, user, unreviewed)
			return s.setReviewerState(ctx, m.ID, user, unreviewed)
		})
		if errors.Is(err, db.ErrNotFound) {
			return errs.Missing("")
		}
		if err != nil {
			return err
		}
		before := out.After
		before.UpdatedAt, before.Reviewers = out.Before.UpdatedAt, reviewers
		f := s.changed(as, p, &before, &out.After)
		return s.Bus.Publish(ctx, Updated{Fact: f, Again: []authz.UserID{user}})
	})
	if err != nil {
		return nil, errs.Wrap(err, "request another review")
	}
	return s.Find(ctx, as, p, iid)
}

// Unreview takes back in the caller's transaction that users approved a request.
func (s *Service) Unreview(ctx context.Context, id ID, users []authz.UserID) error {
	var w db.Where
	w.And("merge_request_id = ?", id)
	w.In("user_id", users)
	w.And("state = ?", ReviewApproved)
	if _, err := s.DB.Exec(ctx, "UPDATE merge_request_reviewers SET state = ?"+w.SQL(), append([]any{ReviewUnapproved}, w.Args()...)...); err != nil {
		return fmt.Errorf("take back reviews: %w", err)
	}
	return nil
}

package mergerequest

import (
	"context"
	"errors"
	"fmt"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/core/authz"
	"tenon/internal/core/change"
	"tenon/internal/core/noteable"
	"tenon/internal/core/project"
)

// Delete removes a request with all that hangs on it. It requires DeleteMergeRequest.
// The check, where given, may refuse after looking at the request.
func (s *Service) Delete(ctx context.Context, as authz.Actor, p *project.Project, iid IID) error {
	m, err := s.Find(ctx, as, p, iid)
	if err != nil {
		return err
	}
	if err := s.requireOn(ctx, as, authz.DeleteMergeRequest, p, m); err != nil {
		return err
	}
	return s.remove(ctx, as, p, m)
}

// remove deletes a request that is not being merged, and its references.
func (s *Service) remove(ctx context.Context, as authz.Actor, p *project.Project, m *MergeRequest) error {
	err := s.DB.InTx(ctx, func(ctx context.Context) error {
		now, err := db.ForUpdate[MergeRequest](ctx, s.DB, s.row(m.ID).Provided(as.UnmodifiedAt))
		if errors.Is(err, db.ErrNotFound) || err == nil && now.State == StateLocked {
			return errs.Coded(errs.Conflict, CodeLocked, "")
		}
		if err != nil {
			return err
		}
		now.Assignees, now.Reviewers, now.Labels = m.Assignees, m.Reviewers, m.Labels
		if err := s.leaveTrain(ctx, m.ID); err != nil {
			return err
		}
		waiting, err := s.blockedBy(ctx, m.ID)
		if err != nil {
			return err
		}
		if err := s.CI.DeleteFor(ctx, as, int64(m.ID)); err != nil {
			return err
		}
		if _, err := db.Drop(ctx, s.DB, s.row(m.ID)); err != nil {
			return err
		}
		if err := s.release(ctx, waiting); err != nil {
			return err
		}
		if err := s.Labels.Detach(ctx, noteable.Ref{Kind: noteable.MergeRequest, ID: int64(m.ID)}); err != nil {
			return err
		}
		return s.Bus.Publish(ctx, Deleted{Fact{change.Deleted(as, s.Now(), p.Place(), &now), p}})
	})
	var known *errs.Error
	if err != nil && !errors.As(err, &known) {
		err = fmt.Errorf("delete merge request: %w", err)
	}
	if err != nil {
		return err
	}
	return s.unpin(context.WithoutCancel(ctx), p, m)
}

package issue

import (
	"context"

	"tenon/internal/base/errs"
	"tenon/internal/base/event"
	"tenon/internal/core/authz"
	"tenon/internal/core/noteable"
)

// Subscribe registers what follows from the events of issues in their projects.
func (s *Service) Subscribe(b *event.Bus) {
	event.On(b, "milestones of issues", s.OnPromoted)
	event.On(b, "milestones of issues", s.OnTransferred)
	event.On(b, "milestones of issues", s.OnGroupTransferred)
	event.On(b, "assignees of issues", s.OnMemberRemoved)
	const name = "open issues of the project"
	event.On(b, name, func(ctx context.Context, e Created) error {
		if e.Row().State != StateOpened { // it was moved
			return nil
		}
		return s.count(ctx, e.Row(), 1)
	})
	event.On(b, name, func(ctx context.Context, e Reopened) error { return s.count(ctx, e.Row(), 1) })
	event.On(b, name, func(ctx context.Context, e Closed) error { return s.count(ctx, e.Row(), -1) })
	event.On(b, name, func(ctx context.Context, e Deleted) error {
		if e.Row().State != StateOpened {
			return nil
		}
		return s.count(ctx, e.Row(), -1)
	})
	event.On(b, name, func(ctx context.Context, e Updated) error {
		switch {
		case e.Before.State != StateOpened || !e.Has("confidential"):
			return nil
		case e.Row().Confidential:
			return s.Projects.CountIssues(ctx, e.Row().ProjectID, 0, -1)
		}
		return s.Projects.CountIssues(ctx, e.Row().ProjectID, 0, 1)
	})
}

// count notes in its project that an issue was opened (by 1) or is no longer open (by -1).
func (s *Service) count(ctx context.Context, i *Issue, by int64) error {
	public := by
	if i.Confidential {
		public = 0
	}
	return s.Projects.CountIssues(ctx, i.ProjectID, by, public)
}

// CloseAll closes the issues with these ids. It skips those that do not exist, or are deleted
// at the same time, and those that the actor may not close. Commits of other projects are not told
// as the cause.
func (s *Service) CloseAll(ctx context.Context, as authz.Actor, ids []int64, by noteable.Cause) error {
	wanted := make([]ID, len(ids))
	for i, id := range ids {
		wanted[i] = ID(id)
	}
	found, err := s.ByIDs(ctx, as, wanted)
	if err != nil {
		return err
	}
	for _, id := range wanted {
		i := found[id]
		if i == nil || i.State == StateClosed {
			continue
		}
		cause := by
		if int64(i.ProjectID) != by.ProjectID {
			cause.Commit = ""
		}
		err := s.DB.InSavepoint(ctx, func(ctx context.Context) error {
			p, err := s.Projects.FindByID(ctx, as, i.ProjectID)
			if err == nil {
				_, err = s.Update(ctx, as, p, i.IID, Changes{StateEvent: "close", cause: cause})
			}
			return err
		})
		if err != nil && !errs.Is(err, errs.NotFound) && !errs.Is(err, errs.Forbidden) && !errs.Is(err, errs.Unauthorized) {
			return err
		}
	}
	return nil
}

package mergerequest

import (
	"context"

	"tenon/internal/base/event"
	"tenon/internal/core/authz"
	"tenon/internal/core/ci"
	"tenon/internal/core/noteable"
)

// Issues closes issues.
type Issues interface {
	// CloseAll closes the issues with these ids, but for those that are not there or that the
	// actor may not close.
	CloseAll(ctx context.Context, as authz.Actor, ids []int64, by noteable.Cause) error
}

// Subscribe registers what happens with merge requests, and through them, when something
// else happens.
func (s *Service) Subscribe(b *event.Bus) {
	event.On(b, "merge requests", s.OnPushed)
	event.On(b, "merge requests between forks", s.OnUnforked)
	event.On(b, "automatic merges", s.OnPipelineChanged)
	event.On(b, "merge requests stacked on it", s.OnMerged)
	event.On(b, "assignees of merge requests", s.OnMemberRemoved)
	s.subscribeClosing(b)
	event.On(b, "merge request dependencies", s.OnProjectDeleted)
	s.subscribeOwners(b)
	event.On(b, "milestones of merge requests", s.OnPromoted)
	event.On(b, "milestones of merge requests", s.OnTransferred)
	event.On(b, "milestones of merge requests", s.OnGroupTransferred)
}

// OnPipelineChanged reacts to the state of a pipeline of a branch, of a merge request, or of a car of a merge train.
func (s *Service) OnPipelineChanged(ctx context.Context, e ci.PipelineChanged) error {
	if err := s.OnCarPipeline(ctx, *e.Row()); err != nil {
		return err
	}
	if err := s.followPipeline(ctx, e); err != nil {
		return err
	}
	if e.Row().OfMergeRequest() {
		return s.OnRequestPipeline(ctx, *e.Row())
	}
	return s.OnPipeline(ctx, e.Row().ProjectID, e.Row().Ref, e.Row().State)
}

// closeIssues closes the issues that a merge request promised to close, as the user who
// merged it.
func (s *Service) closeIssues(ctx context.Context, e Merged) error {
	if len(e.ClosesIssues) == 0 {
		return nil
	}
	return s.Issues.CloseAll(ctx, e.By, idsOf(e.ClosesIssues), noteable.Cause{
		ProjectID: int64(e.Row().ProjectID), MergeRequest: int64(e.Row().ID),
	})
}

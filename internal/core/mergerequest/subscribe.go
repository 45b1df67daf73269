package mergerequest

import (
	"context"
	"fmt"

	"tenon/internal/base/errs"
	"tenon/internal/base/event"
	"tenon/internal/core/authz"
	"tenon/internal/core/ci"
	"tenon/internal/core/project"
)

// Issues closes issues.
type Issues interface {
	// CloseAll closes the issues of a project with these numbers, but for those that are
	// not there or that the actor may not close.
	CloseAll(ctx context.Context, as authz.Actor, p *project.Project, numbers []int64) error
}

// Subscribe registers what happens with merge requests, and through them, when something
// else happens.
func (s *Service) Subscribe(b *event.Bus) {
	event.On(b, "merge requests", s.OnPushed)
	event.On(b, "merge requests between forks", s.OnUnforked)
	event.On(b, "automatic merges", s.OnStatus)
	event.On(b, "issues it closes", s.closeIssues)
	event.On(b, "milestones of merge requests", s.OnPromoted)
	event.On(b, "milestones of merge requests", s.OnTransferred)
}

// OnStatus reacts to a report about a pipeline.
func (s *Service) OnStatus(ctx context.Context, e ci.StatusReported) error {
	return s.OnPipeline(ctx, e.Pipeline.ProjectID, e.Pipeline.Ref, e.Pipeline.State)
}

// closeIssues closes the issues that a merge request promised to close, as the user who
// merged it.
func (s *Service) closeIssues(ctx context.Context, e Merged) error {
	if len(e.ClosesIssues) == 0 {
		return nil
	}
	p, err := s.projects.FindByID(ctx, e.By, e.Project.ID)
	if errs.Is(err, errs.NotFound) {
		return nil // gone or hidden since: that must not keep the merge from being recorded
	}
	if err != nil {
		return fmt.Errorf("project of merge request: %w", err)
	}
	return s.issues.CloseAll(ctx, e.By, p, e.ClosesIssues)
}

package mergerequest

import (
	"context"

	"tenon/internal/core/milestone"
	"tenon/internal/core/namespace"
	"tenon/internal/core/project"
)

// inMilestones is what milestones know of merge requests.
func inMilestones() milestone.Table {
	return milestone.Table{Update: "UPDATE merge_requests", Name: "merge_requests", Project: "target_project_id"}
}

// OnPromoted gives merge requests the milestone of the group for those that it replaces.
func (s *Service) OnPromoted(ctx context.Context, e milestone.Promoted) error {
	return s.Milestones.Promoted(ctx, e, inMilestones())
}

// OnTransferred replaces the milestones of former groups on the merge requests of a project.
func (s *Service) OnTransferred(ctx context.Context, e project.Transferred) error {
	return s.Milestones.ReplaceFormer(ctx, e.By, e.Row().Place(), inMilestones())
}

// OnGroupTransferred is OnTransferred for all projects below a group.
func (s *Service) OnGroupTransferred(ctx context.Context, e namespace.GroupTransferred) error {
	return s.Milestones.ReplaceFormer(ctx, e.By, e.Row().Place(), inMilestones())
}

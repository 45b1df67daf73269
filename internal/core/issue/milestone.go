package issue

import (
	"context"
	"fmt"

	"tenon/internal/core/authz"
	"tenon/internal/core/milestone"
	"tenon/internal/core/namespace"
	"tenon/internal/core/project"
)

// inMilestones is what milestones know of issues.
func inMilestones() milestone.Table {
	return milestone.Table{Update: "UPDATE issues", Name: "issues", Project: "project_id"}
}

// OnPromoted gives issues the milestone of the group for those that it replaces.
func (s *Service) OnPromoted(ctx context.Context, e milestone.Promoted) error {
	return s.Milestones.Promoted(ctx, e, inMilestones())
}

// OnTransferred replaces the milestones of former groups on the issues of a project, and takes
// their iterations away.
func (s *Service) OnTransferred(ctx context.Context, e project.Transferred) error {
	return s.replaceFormer(ctx, e.By, e.Row().Place())
}

// OnGroupTransferred is OnTransferred for all projects below a group.
func (s *Service) OnGroupTransferred(ctx context.Context, e namespace.GroupTransferred) error {
	return s.replaceFormer(ctx, e.By, e.Row().Place())
}

func (s *Service) replaceFormer(ctx context.Context, as authz.Actor, at authz.Place) error {
	if err := s.Milestones.ReplaceFormer(ctx, as, at, inMilestones()); err != nil {
		return err
	}
	if _, err := s.DB.Exec(ctx, "UPDATE issues SET iteration_id = NULL WHERE iteration_id IS NOT NULL"+
		" AND project_id IN (SELECT p.id FROM projects p WHERE p.namespace_id IN "+namespace.InsideSQL+`) AND NOT EXISTS
		(SELECT 1 FROM iterations i JOIN namespace_ancestors a ON a.ancestor_id = i.namespace_id JOIN projects p ON p.namespace_id = a.namespace_id
			WHERE i.id = issues.iteration_id AND p.id = issues.project_id)`, at.Namespace); err != nil {
		return fmt.Errorf("iterations of former groups: %w", err)
	}
	return nil
}

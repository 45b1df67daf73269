package issue

import (
	"context"
	"fmt"
	"slices"

	"tenon/internal/base/db"
	"tenon/internal/core/authz"
	"tenon/internal/core/milestone"
	"tenon/internal/core/namespace"
	"tenon/internal/core/project"
)

// OnPromoted gives issues the milestone of the group for those that it replaces.
func (s *Service) OnPromoted(ctx context.Context, e milestone.Promoted) error {
	for ids := range slices.Chunk(e.Replaces, db.MaxArgs-1) {
		marks, args := db.Marks(ids)
		if _, err := s.db.Exec(ctx, "UPDATE issues SET milestone_id = ? WHERE milestone_id IN ("+marks+")",
			append([]any{e.Milestone.ID}, args...)...); err != nil {
			return fmt.Errorf("promoted milestone of issues: %w", err)
		}
	}
	return nil
}

// OnTransferred replaces the milestones of former groups on the issues of a project, and takes
// their iterations away.
func (s *Service) OnTransferred(ctx context.Context, e project.Transferred) error {
	return s.replaceFormer(ctx, e.By, milestone.In(&e.Project))
}

// OnGroupTransferred is OnTransferred for all projects below a group.
func (s *Service) OnGroupTransferred(ctx context.Context, e namespace.GroupTransferred) error {
	return s.replaceFormer(ctx, e.By, milestone.Of(&e.Group))
}

func (s *Service) replaceFormer(ctx context.Context, as authz.Actor, at milestone.Place) error {
	const inside = " AND project_id IN (SELECT p.id FROM projects p WHERE p.namespace_id IN " + namespace.InsideSQL + ")"
	successors := func(ctx context.Context, ids []milestone.ID) ([]namespace.Successor[milestone.ID], error) {
		return s.milestones.Successors(ctx, as, at, ids)
	}
	err := namespace.Replace(ctx, s.db, "SELECT DISTINCT milestone_id FROM issues WHERE milestone_id IS NOT NULL"+inside+" ORDER BY milestone_id", []any{at.Namespace},
		successors, func(ctx context.Context, from, to milestone.ID) error {
			_, err := s.db.Exec(ctx, "UPDATE issues SET milestone_id = ? WHERE milestone_id = ?"+inside, to, from, at.Namespace)
			return err
		})
	if err != nil {
		return fmt.Errorf("milestones of former groups on issues: %w", err)
	}
	if _, err := s.db.Exec(ctx, "UPDATE issues SET iteration_id = NULL WHERE iteration_id IS NOT NULL"+inside+` AND NOT EXISTS
		(SELECT 1 FROM iterations i JOIN namespace_ancestors a ON a.ancestor_id = i.namespace_id JOIN projects p ON p.namespace_id = a.namespace_id
			WHERE i.id = issues.iteration_id AND p.id = issues.project_id)`, at.Namespace); err != nil {
		return fmt.Errorf("iterations of former groups: %w", err)
	}
	return nil
}

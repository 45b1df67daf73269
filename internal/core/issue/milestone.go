package issue

import (
	"context"
	"fmt"
	"slices"

	"tenon/internal/base/db"
	"tenon/internal/core/milestone"
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

// OnTransferred replaces the milestones of former groups on the issues of a project, and
// takes their iterations away.
func (s *Service) OnTransferred(ctx context.Context, e project.Transferred) error {
	ids, err := db.Select[milestone.ID](ctx, s.db,
		"SELECT DISTINCT milestone_id FROM issues WHERE project_id = ? AND milestone_id IS NOT NULL ORDER BY milestone_id", e.Project.ID)
	if err != nil {
		return fmt.Errorf("milestones of the project's issues: %w", err)
	}
	for chunk := range slices.Chunk(ids, db.MaxArgs-1) {
		next, err := s.milestones.Successors(ctx, e.By, &e.Project, chunk)
		if err != nil {
			return err
		}
		for _, m := range next {
			if _, err := s.db.Exec(ctx, "UPDATE issues SET milestone_id = ? WHERE project_id = ? AND milestone_id = ?", m.To, e.Project.ID, m.From); err != nil {
				return fmt.Errorf("replace milestone of issues: %w", err)
			}
		}
	}
	if _, err := s.db.Exec(ctx, `UPDATE issues SET iteration_id = NULL WHERE project_id = ? AND iteration_id IS NOT NULL AND iteration_id NOT IN
		(SELECT i.id FROM iterations i JOIN namespace_ancestors a ON a.ancestor_id = i.namespace_id WHERE a.namespace_id = ?)`,
		e.Project.ID, e.Project.NamespaceID); err != nil {
		return fmt.Errorf("iterations of former groups: %w", err)
	}
	return nil
}

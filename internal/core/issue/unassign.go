package issue

import (
	"context"
	"fmt"

	"tenon/internal/core/namespace"
)

// OnMemberRemoved takes a user off what they were assigned to in the place that they leave, where that is asked for.
func (s *Service) OnMemberRemoved(ctx context.Context, e namespace.MemberRemoved) error {
	if !e.Unassign {
		return nil
	}
	_, err := s.db.Exec(ctx, `DELETE FROM issue_assignees WHERE user_id = ? AND issue_id IN (SELECT t.id FROM issues t
		JOIN projects p ON p.id = t.project_id JOIN namespace_ancestors a ON a.namespace_id = p.namespace_id WHERE a.ancestor_id = ?)`,
		e.Member.UserID, e.Place.Namespace)
	if err != nil {
		return fmt.Errorf("unassign member: %w", err)
	}
	return nil
}

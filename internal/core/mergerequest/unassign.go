package mergerequest

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
	_, err := s.db.Exec(ctx, `DELETE FROM merge_request_assignees WHERE user_id = ? AND merge_request_id IN (SELECT t.id FROM merge_requests t
		JOIN projects p ON p.id = t.target_project_id JOIN namespace_ancestors a ON a.namespace_id = p.namespace_id WHERE a.ancestor_id = ?)`,
		e.Member.UserID, e.Place.Namespace)
	if err != nil {
		return fmt.Errorf("unassign member: %w", err)
	}
	return nil
}

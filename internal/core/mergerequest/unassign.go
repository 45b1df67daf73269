package mergerequest

import (
	"context"

	"tenon/internal/core/namespace"
)

// OnMemberRemoved takes a user off what they were assigned to in the place that they leave, where that is asked for.
func (s *Service) OnMemberRemoved(ctx context.Context, e namespace.MemberRemoved) error {
	return rows.Unassign(ctx, s.DB, e)
}

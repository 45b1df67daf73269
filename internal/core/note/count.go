package note

import (
	"context"

	"tenon/internal/core/authz"
	"tenon/internal/core/noteable"
)

// CountComments counts the comments on things of one kind that were read for the actor, as far as it
// reads them. Things without any are left out.
func (s *Service) CountComments(ctx context.Context, as authz.Actor, things []noteable.Ref) (map[noteable.Ref]int64, error) {
	out := make(map[noteable.Ref]int64, len(things))
	rows, err := s.tally(ctx, as, things, "COUNT(*) AS value", "n.noteable_id ORDER BY n.noteable_id")
	for _, r := range rows {
		out[noteable.Ref{Kind: things[0].Kind, ID: r.ID}] = r.Value
	}
	return out, err
}

package namespace

import (
	"context"

	"tenon/internal/core/authz"
)

// May reports whether the actor may do something in a group that was read for it. It takes no
// statement where the group carries the level.
func (s *Service) May(ctx context.Context, as authz.Actor, g *Group, ability authz.Ability) (bool, error) {
	return s.Policy.Can(ctx, as, ability, g.Subject())
}

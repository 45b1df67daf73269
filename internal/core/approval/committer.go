package approval

import (
	"context"

	"tenon/internal/core/authz"
)

// CommittersApprove says of projects whether those who made commits of a merge request may
// approve it, in one statement. It asks for no permission: the projects were read for the actor.
func (s *Service) CommittersApprove(ctx context.Context, _ authz.Actor, ids []authz.NamespaceID) (map[authz.NamespaceID]bool, error) {
	found, err := s.settingsOf(ctx, ids)
	out := make(map[authz.NamespaceID]bool, len(found))
	for id := range found {
		out[id] = found[id].CommitterApproval.On
	}
	return out, err
}

package accesstoken

import (
	"context"

	"tenon/internal/base/event"
	"tenon/internal/core/authz"
	"tenon/internal/core/namespace"
	"tenon/internal/core/project"
)

// Subscribe registers what happens with access tokens when something else happens.
func (s *Service) Subscribe(b *event.Bus) {
	const name = "access tokens"
	event.On(b, name, func(ctx context.Context, e project.Deleted) error {
		return s.Clear(ctx, e.By, authz.Place{ID: int64(e.Row().ID)})
	})
	event.On(b, name, func(ctx context.Context, e namespace.GroupDeleted) error {
		return s.Clear(ctx, e.By, authz.Place{ID: int64(e.Row().ID), Group: true})
	})
}

package deploykey

import (
	"context"

	"tenon/internal/base/event"
	"tenon/internal/core/project"
)

// Subscribe registers what happens with deploy keys when something else happens.
func (s *Service) Subscribe(b *event.Bus) {
	event.On(b, "deploy keys", func(ctx context.Context, e project.Deleted) error { return s.Clear(ctx, e.Row().ID) })
}

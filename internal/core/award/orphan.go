package award

import (
	"context"

	"tenon/internal/base/event"
	"tenon/internal/core/namespace"
	"tenon/internal/core/noteable"
	"tenon/internal/core/project"
)

func (s *Service) links() noteable.Links {
	return noteable.Links{DB: s.DB, Kinds: s.Kinds, Table: "award_emoji", Kind: "awardable_type", ID: "awardable_id", Key: "id"}
}

// Subscribe deletes reactions with the project or the group of what they are on.
func (s *Service) Subscribe(b *event.Bus) {
	const name = "reactions"
	event.On(b, name, func(ctx context.Context, e project.Removing) error {
		return s.links().Remove(ctx, e.Table, e.IDs)
	})
	event.On(b, name, func(ctx context.Context, e namespace.GroupRemoving) error {
		return s.links().RemoveInGroup(ctx, e.Row().ID)
	})
}

// Clean deletes the reactions to what is gone, see noteable.Links.
func (s *Service) Clean(ctx context.Context) error { return s.links().Clean(ctx) }

// Check reports how many reactions there are to what is gone, see noteable.Links.
func (s *Service) Check(ctx context.Context) ([]string, error) { return s.links().Check(ctx) }

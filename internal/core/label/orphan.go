package label

import (
	"context"

	"tenon/internal/core/namespace"
	"tenon/internal/core/noteable"
	"tenon/internal/core/project"
)

func (s *Service) links() noteable.Links {
	return noteable.Links{DB: s.DB, Kinds: s.Kinds, Table: "label_links", Kind: "target_type", ID: "target_id", Key: "label_id"}
}

// OnProjectRemoving takes the labels of groups off what a project has.
func (s *Service) OnProjectRemoving(ctx context.Context, e project.Removing) error {
	return s.links().Remove(ctx, e.Table, e.IDs)
}

// OnGroupRemoving takes the labels of other groups off what a group has.
func (s *Service) OnGroupRemoving(ctx context.Context, e namespace.GroupRemoving) error {
	return s.links().RemoveInGroup(ctx, e.Row().ID)
}

// Clean deletes the labels of what is gone, see noteable.Links.
func (s *Service) Clean(ctx context.Context) error { return s.links().Clean(ctx) }

// Check reports how many labels there are of what is gone, see noteable.Links.
func (s *Service) Check(ctx context.Context) ([]string, error) { return s.links().Check(ctx) }

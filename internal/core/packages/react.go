package packages

import (
	"context"
	"slices"

	"tenon/internal/base/event"
	"tenon/internal/core/authz"
	"tenon/internal/core/namespace"
	"tenon/internal/core/project"
	"tenon/internal/core/setting"
)

// Subscribe has the distributions of groups published again when what they may show changes.
func (s *Service) Subscribe(b *event.Bus) {
	event.On(b, "Debian distributions", func(ctx context.Context, e project.Updated) error {
		decides := []string{"visibility", "packages_enabled", "package_registry_access_level"}
		if !slices.ContainsFunc(e.Attributes, func(name string) bool { return slices.Contains(decides, name) }) {
			return nil
		}
		return s.groupsOf(ctx, e.After.NamespaceID)
	})
	event.On(b, "Debian distributions", func(ctx context.Context, e setting.Changed) error {
		if e.Name != "package_registry_allow_anyone_to_pull_option" {
			return nil
		}
		return s.Jobs.Enqueue(ctx, republishGroups{Open: true})
	})
	event.On(b, "Debian distributions", func(ctx context.Context, e project.Transferred) error {
		return s.moved(ctx, e.After.NamespaceID, e.Before.Place().Parent)
	})
	event.On(b, "Debian distributions", func(ctx context.Context, e project.Deleted) error {
		return s.groupsOf(ctx, e.Before.NamespaceID)
	})
	event.On(b, "Debian distributions", func(ctx context.Context, e namespace.GroupUpdated) error {
		if !slices.Contains(e.Attributes, "visibility") {
			return nil
		}
		return s.groupsOf(ctx, e.After.Place().Namespace)
	})
	event.On(b, "Debian distributions", func(ctx context.Context, e namespace.GroupTransferred) error {
		return s.moved(ctx, e.After.Place().Namespace, e.Before.Place().Parent)
	})
}

// moved has the distributions published of the groups that something moved out of, and into.
func (s *Service) moved(ctx context.Context, id authz.NamespaceID, from *authz.NamespaceID) error {
	of := []authz.NamespaceID{id}
	if from != nil {
		of = append(of, *from)
	}
	return s.groupsOf(ctx, of...)
}

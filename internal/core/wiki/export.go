package wiki

import (
	"context"
	"fmt"

	"tenon/internal/core/tree"
)

// Moving describes the wiki of a project or group.
func (s *Service) Moving() []tree.Files {
	return []tree.Files{{Name: "wiki", In: tree.Both, Each: func(ctx context.Context, r *tree.Reading, put tree.Put) error {
		may, err := r.May(ctx, read(r.At))
		if !may || err != nil {
			return err
		}
		w, err := s.find(ctx, r.At)
		if w == nil || err != nil {
			return err
		}
		return s.Repos.PutBundle(ctx, s.attached(w), put, bundle(r.At.Group, r.At.ID))
	}, Fetch: elsewhere}}
}

// elsewhere is the wiki of a project or group at another server, where it has a page.
func elsewhere(ctx context.Context, from tree.Elsewhere) ([]tree.Repository, error) {
	some, err := from.Lists(ctx, "wikis")
	if !some || err != nil {
		return nil, err
	}
	return []tree.Repository{{Address: from.Path() + ".wiki.git", Name: bundle(from.IsGroup(), from.Number())}}, nil
}

// bundle is the file of a wiki in an archive. Those of groups are named by the number that the group has at the source.
func bundle(group bool, number int64) string {
	if group {
		return fmt.Sprintf("repositories/%d.wiki.bundle", number)
	}
	return "project.wiki.bundle"
}

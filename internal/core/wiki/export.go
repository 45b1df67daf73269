package wiki

import (
	"context"

	"tenon/internal/core/tree"
)

// Moving describes the wiki of a project.
func (s *Service) Moving() []tree.Files {
	return []tree.Files{{Name: "wiki", Each: func(ctx context.Context, r *tree.Reading, put tree.Put) error {
		may, err := r.May(ctx, read(r.At))
		if !may || err != nil {
			return err
		}
		w, err := s.find(ctx, r.At)
		if w == nil || err != nil {
			return err
		}
		return s.Repos.PutBundle(ctx, s.attached(w), put, "project.wiki.bundle")
	}}}
}

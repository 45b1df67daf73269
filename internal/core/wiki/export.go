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
		name := "project.wiki.bundle"
		if r.At.Group {
			name = fmt.Sprintf("repositories/%d.wiki.bundle", r.At.ID)
		}
		return s.Repos.PutBundle(ctx, s.attached(w), put, name)
	}}}
}

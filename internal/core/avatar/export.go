package avatar

import (
	"context"
	"io"

	"tenon/internal/core/authz"
	"tenon/internal/core/project"
	"tenon/internal/core/tree"
)

// Moving describes the avatar of a project.
func (s *Service) Moving() []tree.Files {
	return []tree.Files{{Name: "avatar", Each: func(ctx context.Context, r *tree.Reading, put tree.Put) error {
		may, err := r.May(ctx, authz.ReadProject)
		stored := project.Of(r.At).Avatar
		if !may || err != nil || stored == "" {
			return err
		}
		return s.Objects.Offer(ctx, key{Project, r.At.ID}.object(stored), func(size int64, open func(context.Context) (io.ReadCloser, error)) error {
			return put("avatar/"+FileName(stored), size, open)
		})
	}}}
}

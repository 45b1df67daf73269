package avatar

import (
	"context"
	"io"

	"tenon/internal/core/namespace"
	"tenon/internal/core/project"
	"tenon/internal/core/tree"
)

// Moving describes the avatar of a project or group. Archives have that of a project.
func (s *Service) Moving() []tree.Files {
	return []tree.Files{{Name: "avatar", Relation: "uploads", RelationIn: tree.Both, Each: func(ctx context.Context, r *tree.Reading, put tree.Put) error {
		may, err := r.May(ctx, r.Readable())
		kind, stored := Project, ""
		if r.At.Group {
			kind, stored = Group, namespace.Of(r.At).Avatar
		} else {
			stored = project.Of(r.At).Avatar
		}
		if !may || err != nil || stored == "" {
			return err
		}
		return s.Objects.Offer(ctx, key{kind, r.At.ID}.object(stored), func(size int64, open func(context.Context) (io.ReadCloser, error)) error {
			return put("avatar/"+FileName(stored), size, open)
		})
	}}}
}

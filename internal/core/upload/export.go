package upload

import (
	"context"
	"fmt"
	"io"

	"tenon/internal/base/db"
	"tenon/internal/core/authz"
	"tenon/internal/core/tree"
)

// movingBatch is how many rows are read at a time.
const movingBatch = 500

// Moving describes the files that were attached to texts of a project or group. Archives have those of projects.
func (s *Service) Moving() []tree.Files {
	return []tree.Files{{Name: "uploads", Relation: "uploads", RelationIn: tree.Both, Prefix: "uploads/", Each: func(ctx context.Context, r *tree.Reading, put tree.Put) error {
		may, err := r.May(ctx, authz.ReadUploads)
		if !may || err != nil {
			return err
		}
		for last := ID(0); ; {
			rows, err := db.Select[Upload](ctx, s.DB, "SELECT "+db.Columns[Upload]("")+" FROM uploads WHERE namespace_id = ? AND id > ? ORDER BY id LIMIT ?",
				r.At.Namespace, last, movingBatch)
			if err != nil {
				return fmt.Errorf("read uploads: %w", err)
			}
			for i := range rows {
				u := &rows[i]
				err := s.Objects.Offer(ctx, u.key(), func(size int64, open func(context.Context) (io.ReadCloser, error)) error {
					return put("uploads/"+u.Secret+"/"+u.Name, size, open)
				})
				if err != nil {
					return err
				}
				last = u.ID
			}
			if len(rows) < movingBatch {
				return nil
			}
		}
	}}}
}

package lfs

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"

	"tenon/internal/base/db"
	"tenon/internal/core/authz"
	"tenon/internal/core/tree"
)

// movingBatch is how many rows are read at a time.
const movingBatch = 1000

// Moving describes the large objects of a project: each is a file, and one file lists them. Those of its wiki are not kept apart.
func (s *Service) Moving() []tree.Files {
	return []tree.Files{{Name: "lfs objects", Relation: "lfs_objects", Prefix: "lfs-objects/", Replace: map[string]string{"lfs-objects.json": "lfs_objects.json"}, Each: func(ctx context.Context, r *tree.Reading, put tree.Put) error {
		list := map[string][]int{}
		may, err := r.May(ctx, authz.ReadCode)
		if err == nil && may {
			err = s.each(ctx, r.At.ID, func(o Pointer) error {
				return s.Objects.Offer(ctx, key(o.OID), func(size int64, open func(context.Context) (io.ReadCloser, error)) error {
					list[o.OID] = []int{0}
					return put("lfs-objects/"+o.OID, size, open)
				})
			})
		}
		if err != nil {
			return err
		}
		text, err := json.Marshal(list)
		if err != nil {
			return fmt.Errorf("list large objects: %w", err)
		}
		return put("lfs-objects.json", int64(len(text)), func(context.Context) (io.ReadCloser, error) {
			return io.NopCloser(bytes.NewReader(text)), nil
		})
	}}}
}

// each hands the objects of a project to fn.
func (s *Service) each(ctx context.Context, of int64, fn func(o Pointer) error) error {
	type row struct {
		ID   int64  `db:"id"`
		OID  string `db:"oid"`
		Size int64  `db:"size"`
	}
	for last := int64(0); ; {
		rows, err := db.Select[row](ctx, s.DB, `SELECT o.id, o.oid, o.size FROM lfs_links l JOIN lfs_objects o ON o.id = l.object_id
			WHERE l.project_id = ? AND o.id > ? ORDER BY o.id LIMIT ?`, of, last, movingBatch)
		if err != nil {
			return fmt.Errorf("read large objects: %w", err)
		}
		for _, r := range rows {
			if err := fn(Pointer{OID: r.OID, Size: r.Size}); err != nil {
				return err
			}
			last = r.ID
		}
		if len(rows) < movingBatch {
			return nil
		}
	}
}

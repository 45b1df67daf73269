package lfs

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"tenon/internal/base/db"
)

// Sweep is the periodic job that removes objects which no project has.
type Sweep struct{}

// Kind names the job.
func (Sweep) Kind() string { return "lfs_sweep" }

const (
	sweepAge   = 24 * time.Hour // how long an object stays that no project has
	sweepBatch = 500
)

// Sweep removes the objects that no project has, the older ones, and content that a crash
// left without a record. Doing it twice is harmless.
func (s *Service) Sweep(ctx context.Context, _ Sweep) error {
	before := s.now().Add(-sweepAge)
	for after := int64(0); ; {
		type row struct {
			ID  int64  `db:"id"`
			OID string `db:"oid"`
		}
		rows, err := db.Select[row](ctx, s.db, `SELECT o.id, o.oid FROM lfs_objects o WHERE o.id > ? AND o.created_at < ?
			AND NOT EXISTS (SELECT 1 FROM lfs_links l WHERE l.object_id = o.id) ORDER BY o.id LIMIT ?`, after, db.At(before), sweepBatch)
		if err != nil {
			return fmt.Errorf("look for large objects without a project: %w", err)
		}
		for _, r := range rows {
			if err := s.remove(ctx, r.OID); err != nil {
				return err
			}
			after = r.ID
		}
		if len(rows) < sweepBatch {
			break
		}
	}
	return s.sweepContent(ctx, before)
}

// remove removes the record of an object and its content, unless a project has it by now.
func (s *Service) remove(ctx context.Context, oid string) error {
	s.placing.Lock()
	defer s.placing.Unlock()
	_, err := s.db.Exec(ctx, `DELETE FROM lfs_objects WHERE oid = ?
		AND NOT EXISTS (SELECT 1 FROM lfs_links l WHERE l.object_id = lfs_objects.id)`, oid)
	if err != nil {
		return fmt.Errorf("remove large object: %w", err)
	}
	stays, err := db.Get[bool](ctx, s.db, "SELECT EXISTS (SELECT 1 FROM lfs_objects WHERE oid = ?)", oid)
	if err != nil || stays {
		return err
	}
	return s.objects.Delete(ctx, key(oid))
}

// sweepContent removes content that no record names.
func (s *Service) sweepContent(ctx context.Context, before time.Time) error {
	var oids []string
	look := func() error {
		var w db.Where
		w.In("oid", oids)
		known, err := db.Select[string](ctx, s.db, "SELECT oid FROM lfs_objects"+w.SQL(), w.Args()...)
		if err != nil {
			return fmt.Errorf("look for large objects: %w", err)
		}
		recorded := make(map[string]bool, len(known))
		for _, oid := range known {
			recorded[oid] = true
		}
		for _, oid := range oids {
			if !recorded[oid] {
				err = errors.Join(err, s.remove(ctx, oid))
			}
		}
		oids = oids[:0]
		return err
	}
	for info, err := range s.objects.List(ctx, "lfs") {
		if err != nil {
			return err
		}
		oid := strings.ReplaceAll(strings.TrimPrefix(info.Key, "lfs/"), "/", "")
		if !(Pointer{OID: oid}).Valid() || !info.Modified.Before(before) {
			continue
		}
		if oids = append(oids, oid); len(oids) == sweepBatch {
			if err := look(); err != nil {
				return err
			}
		}
	}
	return look()
}

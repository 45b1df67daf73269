package lfs

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"tenon/internal/base/blob"
	"tenon/internal/base/db"
	"tenon/internal/base/job"
)

// Sweep is the periodic job that removes objects which no project has.
type Sweep struct{}

// Kind names the job.
func (Sweep) Kind() string { return "lfs_sweep" }

const (
	sweepAge   = 24 * time.Hour // how long an object stays that no project has
	sweepBatch = 500
)

// RegisterJobs has objects that nothing needs deleted each day.
func (s *Service) RegisterJobs(r *job.Registry) {
	job.Register(r, s.Sweep, job.On(job.Maintenance), job.Unique(), job.Low(), job.Timeout(time.Hour))
	job.Every(r, 24*time.Hour, Sweep{})
}

// Sweep removes the objects that no project has, the older ones, and content that a crash
// left without a record. Doing it twice is harmless.
func (s *Service) Sweep(ctx context.Context, _ Sweep) error {
	before := s.Now().Add(-sweepAge)
	for after := int64(0); ; {
		type row struct {
			ID  int64  `db:"id"`
			OID string `db:"oid"`
		}
		rows, err := db.Select[row](ctx, s.DB, `SELECT o.id, o.oid FROM lfs_objects o WHERE o.id > ? AND o.created_at < ?
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
	_, err := s.DB.Exec(ctx, `DELETE FROM lfs_objects WHERE oid = ?
		AND NOT EXISTS (SELECT 1 FROM lfs_links l WHERE l.object_id = lfs_objects.id)`, oid)
	if err != nil {
		return fmt.Errorf("remove large object: %w", err)
	}
	stays, err := db.Get[bool](ctx, s.DB, "SELECT EXISTS (SELECT 1 FROM lfs_objects WHERE oid = ?)", oid)
	if err != nil || stays {
		return err
	}
	return s.Objects.Delete(ctx, key(oid))
}

// sweepContent removes content that no record names.
func (s *Service) sweepContent(ctx context.Context, before time.Time) error {
	return s.Objects.SweepUnnamed(ctx, blob.Unnamed{
		Prefix: "lfs", Before: before, Named: s.named,
		Remove: func(ctx context.Context, at string) error { return s.remove(ctx, oidOf(at)) },
	})
}

// oidOf is the object id in a key.
func oidOf(key string) string { return strings.ReplaceAll(strings.TrimPrefix(key, "lfs/"), "/", "") }

// named returns those of the keys whose content has a record, and those that are not of large objects.
func (s *Service) named(ctx context.Context, keys []string) ([]string, error) {
	var named []string
	of := make(map[string]string, len(keys))
	for _, at := range keys {
		if oid := oidOf(at); (Pointer{OID: oid}).Valid() {
			of[oid] = at
		} else {
			named = append(named, at)
		}
	}
	var w db.Where
	w.In("oid", slices.Collect(maps.Keys(of)))
	known, err := db.Select[string](ctx, s.DB, "SELECT oid FROM lfs_objects"+w.SQL(), w.Args()...)
	if err != nil {
		return nil, fmt.Errorf("look for large objects: %w", err)
	}
	for _, oid := range known {
		named = append(named, of[oid])
	}
	return named, nil
}

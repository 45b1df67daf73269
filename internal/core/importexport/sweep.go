package importexport

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"tenon/internal/base/blob"
	"tenon/internal/base/db"
)

// Sweep is the periodic job that deletes archives that have expired, and those that no export names.
type Sweep struct{}

// Kind names the job.
func (Sweep) Kind() string { return "project_export_sweep" }

// sweepBatch is how many exports one transaction deletes.
const sweepBatch = 200

// Sweep deletes what has expired. Doing it twice is harmless.
func (s *Service) Sweep(ctx context.Context, _ Sweep) error {
	for {
		var ids []ID
		err := s.DB.InTx(ctx, func(ctx context.Context) error {
			var err error
			ids, err = db.Select[ID](ctx, s.DB, "SELECT id FROM exports WHERE updated_at < ? AND status IN (?, ?) ORDER BY updated_at, id LIMIT ?",
				db.At(s.Now().Add(-lifetime)), Finished, Failed, sweepBatch)
			if err != nil || len(ids) == 0 {
				return err
			}
			marks, args := db.Marks(ids)
			return s.drop(ctx, "id IN ("+marks+")", args...)
		})
		if err != nil {
			return fmt.Errorf("delete exports: %w", err)
		}
		if len(ids) < sweepBatch {
			break
		}
	}
	for more := true; more; {
		err := s.DB.InTx(ctx, func(ctx context.Context) error {
			ids, err := db.Select[RelationID](ctx, s.DB, "SELECT id FROM relation_exports WHERE updated_at < ? ORDER BY updated_at, id LIMIT ?",
				db.At(s.Now().Add(-lifetime)), sweepBatch)
			more = len(ids) == sweepBatch
			if err != nil || len(ids) == 0 {
				return err
			}
			marks, args := db.Marks(ids)
			return s.dropRelations(ctx, "id IN ("+marks+")", args...)
		})
		if err != nil {
			return fmt.Errorf("delete exports of relations: %w", err)
		}
	}
	return s.Objects.SweepUnnamed(ctx, blob.Unnamed{Prefix: Objects, Before: s.Now().Add(-time.Hour), Named: s.named})
}

// named returns those of the keys that exports and files of relations name.
func (s *Service) named(ctx context.Context, keys []string) ([]string, error) {
	var w db.Where
	w.In("object", keys)
	named, err := db.Select[string](ctx, s.DB, "SELECT object FROM exports"+w.SQL()+" UNION ALL SELECT object FROM relation_export_files"+w.SQL(),
		append(w.Args(), w.Args()...)...)
	if err != nil {
		return nil, fmt.Errorf("look for exports: %w", err)
	}
	return named, nil
}

// drop deletes exports in the caller's transaction, and their archives after it.
func (s *Service) drop(ctx context.Context, cond string, args ...any) error {
	objects, err := db.Select[string](ctx, s.DB, "DELETE FROM exports WHERE "+cond+" RETURNING object", args...)
	if err != nil {
		return fmt.Errorf("delete exports: %w", err)
	}
	s.DB.AfterCommit(ctx, func() {
		for _, key := range objects {
			s.remove(ctx, key)
		}
	})
	return nil
}

// remove deletes an archive; the sweep takes what is left.
func (s *Service) remove(ctx context.Context, key string) {
	if key == "" {
		return
	}
	if err := s.Objects.Delete(context.WithoutCancel(ctx), key); err != nil {
		s.Log.WarnContext(ctx, "archive could not be deleted", slog.String("key", key), slog.Any("error", err))
	}
}

package importexport

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"tenon/internal/base/blob"
	"tenon/internal/base/db"
	"tenon/internal/core/project"
)

// Sweep is the periodic job that deletes archives that have expired, and those that no export names.
type Sweep struct{}

// Kind names the job.
func (Sweep) Kind() string { return "project_export_sweep" }

// sweepBatch is how many exports one transaction deletes.
const sweepBatch = 200

// Sweep deletes what has expired. Doing it twice is harmless.
func (s *Service) Sweep(ctx context.Context, _ Sweep) error {
	if err := s.expire(ctx, s.drop, "exports WHERE updated_at < ? AND status IN (?, ?)", Finished, Failed); err != nil {
		return err
	}
	if err := s.expire(ctx, s.dropRelations, "relation_exports WHERE updated_at < ?"); err != nil {
		return err
	}
	if err := s.endStale(ctx); err != nil {
		return err
	}
	if err := s.endStaleBulks(ctx); err != nil {
		return err
	}
	if err := s.forgetTokens(ctx); err != nil {
		return err
	}
	if err := s.dropItems(ctx); err != nil {
		return err
	}
	before := s.Now().Add(-time.Hour)
	if err := s.Objects.SweepUnnamed(ctx, blob.Unnamed{Prefix: Uploaded, Before: before, Named: s.namedIn("file_imports", "group_imports", "bulk_import_files", "import_lines")}); err != nil {
		return err
	}
	return s.Objects.SweepUnnamed(ctx, blob.Unnamed{Prefix: Objects, Before: before, Named: s.namedIn("exports", "relation_export_files")})
}

// expire drops the rows of a query that are older than lifetime, some in each transaction.
func (s *Service) expire(ctx context.Context, drop func(ctx context.Context, cond string, args ...any) error, from string, more ...any) error {
	args := append([]any{db.At(s.Now().Add(-lifetime))}, append(more, sweepBatch)...)
	for again := true; again; {
		err := s.DB.InTx(ctx, func(ctx context.Context) error {
			ids, err := db.Select[int64](ctx, s.DB, "SELECT id FROM "+from+" ORDER BY updated_at, id LIMIT ?", args...)
			again = len(ids) == sweepBatch
			if err != nil || len(ids) == 0 {
				return err
			}
			marks, named := db.Marks(ids)
			return drop(ctx, "id IN ("+marks+")", named...)
		})
		if err != nil {
			return fmt.Errorf("delete exports: %w", err)
		}
	}
	return nil
}

// dropItems deletes the items and lines of reports that were kept long enough. Their counts stay.
func (s *Service) dropItems(ctx context.Context) error {
	before := db.At(s.Now().AddDate(0, 0, -keptItems))
	for _, table := range []string{"file_import_items", "imported_group_items", "import_lines"} {
		for {
			n, err := s.DB.Exec(ctx, "DELETE FROM "+table+" WHERE id IN (SELECT id FROM "+table+" WHERE created_at < ? ORDER BY id LIMIT ?)", before, sweepBatch)
			if err != nil {
				return fmt.Errorf("delete items of reports: %w", err)
			}
			if n < sweepBatch {
				break
			}
		}
	}
	return nil
}

// patience is how long an import may make no progress.
const patience = 24 * time.Hour

// endStale ends imports that make no progress.
func (s *Service) endStale(ctx context.Context) error {
	if err := s.endStaleGroups(ctx); err != nil {
		return err
	}
	for {
		stale, err := db.Select[importRow](ctx, s.DB, "SELECT "+importColumns+" FROM file_imports AS f WHERE f.object <> '' AND f.updated_at < ? AND "+waiting+" ORDER BY f.id LIMIT ?",
			db.At(s.Now().Add(-patience)), project.ImportScheduled, project.ImportStarted, sweepBatch)
		if err != nil {
			return fmt.Errorf("stale imports: %w", err)
		}
		for i := range stale {
			if err := s.endImport(ctx, &stale[i], tooLate); err != nil {
				return err
			}
		}
		if len(stale) < sweepBatch {
			return nil
		}
	}
}

func (s *Service) endStaleGroups(ctx context.Context) error {
	for {
		stale, err := db.Select[groupImportRow](ctx, s.DB, "SELECT "+groupImportColumns+" FROM group_imports WHERE object <> '' AND updated_at < ? ORDER BY id LIMIT ?",
			db.At(s.Now().Add(-patience)), sweepBatch)
		if err != nil {
			return fmt.Errorf("stale imports: %w", err)
		}
		for i := range stale {
			if err := s.endGroupImport(ctx, &stale[i], groupFailed, tooLate); err != nil {
				return err
			}
		}
		if len(stale) < sweepBatch {
			return nil
		}
	}
}

// namedIn returns those of the keys that rows of tables name.
func (s *Service) namedIn(tables ...string) func(ctx context.Context, keys []string) ([]string, error) {
	return func(ctx context.Context, keys []string) ([]string, error) {
		var w db.Where
		w.In("object", keys)
		var parts []string
		var args []any
		for _, table := range tables {
			parts, args = append(parts, "SELECT object FROM "+table+w.SQL()), append(args, w.Args()...)
		}
		named, err := db.Select[string](ctx, s.DB, strings.Join(parts, " UNION ALL "), args...)
		if err != nil {
			return nil, fmt.Errorf("look for archives: %w", err)
		}
		return named, nil
	}
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

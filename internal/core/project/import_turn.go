package project

import (
	"context"
	"errors"
	"fmt"

	"tenon/internal/base/db"
	"tenon/internal/core/authz"
)

// ImportCaps bound how many imports run at a time. The others wait as scheduled: the users
// take turns, and each user's imports begin in their order.
type ImportCaps struct {
	Running int // in all, 8 where zero
	PerUser int // 2 where zero
}

// StartImports is the periodic job that starts imports which are left over: what ends an
// import starts the next one.
type StartImports struct{}

// Kind names the job.
func (StartImports) Kind() string { return "imports_start" }

// importRow is an import that waits or runs.
type importRow struct {
	ProjectID ID           `db:"project_id"`
	UserID    authz.UserID `db:"user_id"`
	URL       string       `db:"url"`
	Sealed    string       `db:"sealed"`
	Started   bool         `db:"started"`
}

// awaitTurn writes an import down and starts it if there is room.
func (s *Service) awaitTurn(ctx context.Context, row importRow) error {
	if err := s.holdImports(ctx); err != nil {
		return err
	}
	_, err := db.InsertRow(ctx, s.DB, "project_imports", db.Values{
		"project_id": row.ProjectID, "user_id": row.UserID, "url": row.URL, "sealed": row.Sealed, "started": false,
	}, "")
	if err != nil {
		return fmt.Errorf("schedule import: %w", err)
	}
	return s.startImports(ctx)
}

// holdImports lets one transaction at a time choose what runs. Rows of projects are
// changed before, never after.
func (s *Service) holdImports(ctx context.Context) error {
	if err := s.DB.Lock(ctx, "project_imports"); err != nil {
		return fmt.Errorf("lock imports: %w", err)
	}
	return nil
}

// startImports enqueues as many imports as there is room for, those of the users first who
// have the fewest running.
func (s *Service) startImports(ctx context.Context) error {
	running, err := db.Get[int](ctx, s.DB, "SELECT COUNT(*) FROM project_imports WHERE started")
	if err != nil {
		return fmt.Errorf("running imports: %w", err)
	}
	for ; running < s.Imports.Running; running++ {
		id, err := db.Get[ID](ctx, s.DB, `SELECT i.project_id FROM project_imports i
			LEFT JOIN (SELECT user_id, COUNT(*) AS running FROM project_imports WHERE started GROUP BY user_id) u ON u.user_id = i.user_id
			WHERE NOT i.started AND COALESCE(u.running, 0) < ? ORDER BY COALESCE(u.running, 0), i.project_id LIMIT 1`, s.Imports.PerUser)
		if errors.Is(err, db.ErrNotFound) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("next import: %w", err)
		}
		if _, err := s.DB.Exec(ctx, "UPDATE project_imports SET started = ? WHERE project_id = ?", true, id); err != nil {
			return fmt.Errorf("start import: %w", err)
		}
		if err := s.Jobs.Enqueue(ctx, Import{ProjectID: id}); err != nil {
			return err
		}
	}
	return nil
}

// endImport gives the place of an import to the next one, in the transaction of ctx.
func (s *Service) endImport(ctx context.Context, id ID) error {
	there, err := db.Get[bool](ctx, s.DB, "SELECT EXISTS (SELECT 1 FROM project_imports WHERE project_id = ?)", id)
	if err != nil {
		return fmt.Errorf("find import: %w", err)
	}
	if !there {
		return nil
	}
	if err := s.holdImports(ctx); err != nil {
		return err
	}
	if _, err := s.DB.Exec(ctx, "DELETE FROM project_imports WHERE project_id = ?", id); err != nil {
		return fmt.Errorf("end import: %w", err)
	}
	return s.startImports(ctx)
}

// cancelImport keeps the repository of a project that is being deleted from being filled,
// in the transaction of ctx.
func (s *Service) cancelImport(ctx context.Context, id ID) error {
	_, err := s.DB.Exec(ctx, `UPDATE projects SET import_status = ?, import_error = ? WHERE id = ? AND import_status IN (?, ?)
		AND (EXISTS (SELECT 1 FROM project_imports i WHERE i.project_id = projects.id) OR EXISTS (SELECT 1 FROM file_imports f WHERE f.project_id = projects.id))`,
		ImportFailed, ImportCancelled, id, ImportScheduled, ImportStarted)
	if err != nil {
		return fmt.Errorf("cancel import: %w", err)
	}
	return s.endImport(ctx, id)
}

// ImportCancelled is the message of an import whose project is being deleted.
const ImportCancelled = "The import was cancelled because the project is being deleted."

// StartImports starts what there is room for, and once more what has begun and has lost its
// job. An import whose job is there does not run twice.
func (s *Service) StartImports(ctx context.Context, _ StartImports) error {
	return s.DB.InTx(ctx, func(ctx context.Context) error {
		if err := s.holdImports(ctx); err != nil {
			return err
		}
		_, err := s.DB.Exec(ctx, `DELETE FROM project_imports WHERE NOT EXISTS (SELECT 1 FROM projects p
			WHERE p.id = project_imports.project_id AND NOT p.pending_delete AND p.import_status IN (?, ?))`, ImportScheduled, ImportStarted)
		if err != nil {
			return fmt.Errorf("clear imports: %w", err)
		}
		begun, err := db.Select[ID](ctx, s.DB, "SELECT project_id FROM project_imports WHERE started ORDER BY project_id")
		if err != nil {
			return fmt.Errorf("running imports: %w", err)
		}
		for _, id := range begun {
			if err := s.Jobs.Enqueue(ctx, Import{ProjectID: id}); err != nil {
				return err
			}
		}
		return s.startImports(ctx)
	})
}

// Source completes the arguments of an import with the address and the sealed credentials.
// It reports false where the import has ended.
func (s *Service) Source(ctx context.Context, args Import) (Import, bool, error) {
	if args.URL != "" { // enqueued by a program of before imports took turns
		return args, true, nil
	}
	row, err := db.Get[importRow](ctx, s.DB, "SELECT project_id, user_id, url, sealed, started FROM project_imports WHERE project_id = ?", args.ProjectID)
	if errors.Is(err, db.ErrNotFound) {
		return args, false, nil
	}
	if err != nil {
		return args, false, fmt.Errorf("find import: %w", err)
	}
	args.URL, args.Sealed = row.URL, row.Sealed
	return args, true, nil
}

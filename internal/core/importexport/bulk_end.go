package importexport

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"tenon/internal/base/db"
	"tenon/internal/core/project"
	"tenon/internal/core/tree"
)

// finish ends the entity, with the broken rows as failures, adds those below it, and ends the transfer where it was the last, in the caller's
// transaction.
func (r *entityRun) finish(ctx context.Context, items string, of int64, children []Entity) error {
	s := r.s
	n, err := s.DB.Exec(ctx, "UPDATE bulk_import_entities SET status = ?, updated_at = ? WHERE id = ? AND status = ?", BulkFinished, db.At(s.Now()), r.e.ID, BulkStarted)
	if err != nil {
		return fmt.Errorf("end entity: %w", err)
	}
	if n == 0 {
		return tree.ErrStop
	}
	broken, err := db.Select[ReportItem](ctx, s.DB, "SELECT "+itemColumns+" FROM "+items+" AND i.failed ORDER BY i.id DESC LIMIT ?", of, maxFailures)
	if err != nil {
		return fmt.Errorf("broken rows: %w", err)
	}
	slices.Reverse(broken)
	for _, item := range broken {
		if err := s.noteFailure(ctx, r.e.ID, item.Relation, "loader", failure{item.Reason}); err != nil {
			return err
		}
	}
	if err := s.dropFiles(ctx, r.e.ID); err != nil {
		return err
	}
	if err := s.addEntities(ctx, r.e.BulkID, children); err != nil {
		return err
	}
	return s.settleBulk(ctx, r.e.BulkID)
}

// failEntity ends an entity that failed.
func (s *Service) failEntity(ctx context.Context, e *Entity, relation string, why error) error {
	return s.DB.InTx(ctx, func(ctx context.Context) error {
		n, err := s.DB.Exec(ctx, "UPDATE bulk_import_entities SET status = ?, updated_at = ? WHERE id = ? AND status IN (?, ?)", BulkFailed, db.At(s.Now()), e.ID, BulkCreated, BulkStarted)
		if err != nil || n == 0 {
			return err
		}
		if err := s.noteFailure(ctx, e.ID, relation, "extractor", why); err != nil {
			return err
		}
		if e.ProjectID != nil {
			if err := s.Projects.RecordImport(ctx, *e.ProjectID, project.ImportFailed, reasonOf(why)); err != nil {
				return err
			}
		}
		if err := s.dropFiles(ctx, e.ID); err != nil {
			return err
		}
		return s.settleBulk(ctx, e.BulkID)
	})
}

// reasonOf words a failure for users: only what is known to hold no secret.
func reasonOf(why error) string {
	known, ok := errors.AsType[failure](why)
	_, source := errors.AsType[sourceError](why)
	switch {
	case ok:
		return known.text
	case source:
		return strings.TrimPrefix(why.Error(), "deliver: ")
	}
	return "The entity could not be moved."
}

// maxFailureText bounds the message of a failure, in characters.
const maxFailureText = 255

func (s *Service) noteFailure(ctx context.Context, of EntityID, relation, step string, why error) error {
	text := []rune(reasonOf(why))
	class := "StandardError"
	if step == "loader" {
		class = "InvalidRelation"
	}
	row := BulkFailure{
		EntityID: of, Relation: relation, Step: step, Message: string(text[:min(len(text), maxFailureText)]), Class: class, CorrelationID: fmt.Sprintf("bulk-%d", of),
		CreatedAt: db.At(s.Now()),
	}
	if err := db.Create(ctx, s.DB, "bulk_import_failures", &row); err != nil {
		return fmt.Errorf("note failure: %w", err)
	}
	return nil
}

// settleBulk ends a transfer whose entities have all ended: as failed where all of them failed.
func (s *Service) settleBulk(ctx context.Context, id BulkID) error {
	type sum struct {
		Open int64 `db:"open"`
		Done int64 `db:"done"`
	}
	got, err := db.Get[sum](ctx, s.DB, `SELECT COALESCE(SUM(CASE WHEN status IN ('created', 'started') THEN 1 ELSE 0 END), 0) AS open,
		COALESCE(SUM(CASE WHEN status = 'finished' THEN 1 ELSE 0 END), 0) AS done FROM bulk_import_entities WHERE bulk_import_id = ?`, id)
	if err != nil {
		return fmt.Errorf("end transfer: %w", err)
	}
	if got.Open > 0 {
		return nil
	}
	if got.Done == 0 {
		return s.closeBulk(ctx, id, BulkFailed)
	}
	return s.closeBulk(ctx, id, BulkFinished)
}

// endStaleBulks ends transfers that make no progress.
func (s *Service) endStaleBulks(ctx context.Context) error {
	ids, err := db.Select[BulkID](ctx, s.DB, `SELECT b.id FROM bulk_imports b WHERE b.token <> '' AND b.status <> 'failed' AND b.updated_at < ?
		AND NOT EXISTS (SELECT 1 FROM bulk_import_entities e WHERE e.bulk_import_id = b.id AND e.updated_at >= ?) ORDER BY b.id LIMIT ?`,
		db.At(s.Now().Add(-patience)), db.At(s.Now().Add(-patience)), sweepBatch)
	if err != nil {
		return fmt.Errorf("stale transfers: %w", err)
	}
	for _, id := range ids {
		if err := s.endBulk(ctx, id, BulkFailed, tooLate); err != nil {
			return err
		}
	}
	return nil
}

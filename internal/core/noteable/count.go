package noteable

import (
	"context"
	"errors"
	"fmt"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
)

// CountComments changes the counters of comments of a row and the time of its last change in the
// caller's transaction, and returns the counters as they are then; a zero time leaves that of the row. update is "UPDATE " and the
// table. It is NotFound if there is no such row.
func CountComments(ctx context.Context, d *db.DB, update string, on Ref, by Counts, at time.Time) (Counts, error) {
	n, err := db.Get[Counts](ctx, d, update+` SET notes_count = notes_count + ?, public_notes_count = public_notes_count + ?,
		updated_at = COALESCE(?, updated_at) WHERE id = ? RETURNING notes_count, public_notes_count`, by.Notes, by.PublicNotes, ChangedAt(at), on.ID)
	if errors.Is(err, db.ErrNotFound) {
		return n, errs.Missing("")
	}
	if err != nil {
		return n, fmt.Errorf("count notes of %s: %w", on.Kind, err)
	}
	return n, nil
}

// ChangedAt is a time for a statement that leaves the one of the row where it is NULL; NULL for the zero time.
func ChangedAt(at time.Time) *db.Time {
	if at.IsZero() {
		return nil
	}
	return new(db.At(at))
}

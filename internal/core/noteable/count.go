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
// caller's transaction, and returns the counters as they are then. update is "UPDATE " and the
// table. It is NotFound if there is no such row.
func CountComments(ctx context.Context, d *db.DB, update string, on Ref, by Counts, at time.Time) (Counts, error) {
	n, err := db.Get[Counts](ctx, d, update+` SET notes_count = notes_count + ?, public_notes_count = public_notes_count + ?,
		updated_at = ? WHERE id = ? RETURNING notes_count, public_notes_count`, by.Notes, by.PublicNotes, at, on.ID)
	if errors.Is(err, db.ErrNotFound) {
		return n, errs.Missing("")
	}
	if err != nil {
		return n, fmt.Errorf("count notes of %s: %w", on.Kind, err)
	}
	return n, nil
}

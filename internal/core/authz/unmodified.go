package authz

import (
	"context"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
)

// Unmodified answers PreconditionFailed where a row was changed after UnmodifiedSince. A row that
// db.Update or db.Delete writes has [Actor.UnmodifiedAt] as its condition (If of db.Row); this
// is for a condition on other rows than the one that changes, on several, or on one that may not be there yet.
// The query selects the time of their last change, and no row is no refusal. It has to run in the transaction that
// writes; it locks the rows until that transaction ends. Without a condition nothing is read.
func (a Actor) Unmodified(ctx context.Context, d *db.DB, query string, args ...any) error {
	if a.UnmodifiedSince.IsZero() {
		return nil
	}
	times, err := db.Select[stamp](ctx, d, query+d.Dialect().ForUpdate(), args...)
	if err != nil {
		return err
	}
	for _, t := range times {
		if err := a.UnmodifiedAt(t.UpdatedAt.Time); err != nil {
			return err
		}
	}
	return nil
}

// Unconditional is the actor without the condition: for what else the call changes, once
// the thing that it names was checked.
func (a Actor) Unconditional() Actor {
	a.UnmodifiedSince = time.Time{}
	return a
}

type stamp struct {
	UpdatedAt db.Time `db:"updated_at"`
}

// UnmodifiedAt is the condition of the request on the time of the last change: If of db.Row, or for what
// no row has the time of.
func (a Actor) UnmodifiedAt(changed time.Time) error {
	if a.UnmodifiedSince.IsZero() {
		return nil
	}
	precision := time.Millisecond // of the times that clients are shown
	if a.UnmodifiedSince.Nanosecond() == 0 {
		precision = time.Second // of HTTP dates
	}
	if changed.Truncate(precision).After(a.UnmodifiedSince) {
		return errs.New(errs.PreconditionFailed, "")
	}
	return nil
}

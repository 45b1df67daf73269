// Package timelog tracks the time that is estimated for issues and merge requests and spent
// on them. The packages of these keep the totals in their rows and change them here, in the
// transaction of their own update.
package timelog

import (
	"context"
	"errors"
	"fmt"
	"time"
	"unicode/utf8"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/core/account"
	"tenon/internal/core/authz"
	"tenon/internal/core/noteable"
	"tenon/internal/core/setting"
)

// The codes of refusals that transports word.
const (
	CodeEstimate errs.Code = "time estimate is invalid"
	CodeSpent    errs.Code = "time spent is invalid"
)

// maxSummary bounds the summary of an entry, in characters.
const maxSummary = 255

// ID identifies an entry.
type ID int64

// Totals stand in the row of an issue or merge request, in seconds.
type Totals struct {
	Estimate int64 `db:"time_estimate"`
	Spent    int64 `db:"total_time_spent"`
}

// Change is what an update does to the time of an issue or merge request. The zero value
// does nothing.
type Change struct {
	Estimate *string // such as "3h30m"; "0" removes the estimate. nil leaves it alone
	Spend    string  // time to add, or with a minus to take back; "" for none
	Summary  string  // what the time was spent on
	SpentAt  *time.Time
	Reset    bool // take back all time spent, before Spend is added
	Delete   ID   // entry to delete; 0 for none
	Made     *ID  // where the id of the entry for Spend is put; nil for nowhere
}

// Diff is what a change did.
type Diff struct {
	OldEstimate *int64 // nil where the estimate is the same
	Reset       bool   // all time spent was taken back
	Spent       int64  // seconds that were added; negative where time was taken back
	SpentAt     time.Time
	Deleted     *Entry // the entry that was deleted, if any
}

// Empty reports that nothing changed.
func (d *Diff) Empty() bool {
	return d.OldEstimate == nil && !d.Reset && d.Spent == 0 && d.Deleted == nil
}

// Entry is time that a user spent.
type Entry struct {
	ID        ID           `db:"id"`
	IssueID   *int64       `db:"issue_id"`
	RequestID *int64       `db:"merge_request_id"`
	UserID    authz.UserID `db:"user_id"`
	Spent     int64        `db:"time_spent"` // seconds; negative takes back
	Summary   *string      `db:"summary"`
	SpentAt   db.Time      `db:"spent_at"`
	CreatedAt db.Time      `db:"created_at"`
}

// Deps are what the service is built on.
type Deps struct {
	DB       *db.DB
	Policy   *authz.Policy
	Settings *setting.Store
	Now      func() time.Time
}

// Service reads and writes entries.
type Service struct {
	Deps

	above Above
}

// Readable says which things of one kind the actor may read.
type Readable interface {
	// ReadableSQL is a condition that holds where the actor may read the thing whose id is in
	// column.
	ReadableSQL(as authz.Actor, column string) (cond string, args []any)
}

// Above is what time is spent on.
type Above struct{ Issues, MergeRequests Readable }

// New builds the service.
func New(d Deps) *Service { return &Service{Deps: d} }

// Connect hands over what is built after the service.
func (s *Service) Connect(a Above) { s.above = a }

// Apply changes the totals of an issue or merge request and writes the entries. The caller
// has asked for permission, holds the lock of the row and writes the totals.
func (s *Service) Apply(ctx context.Context, as authz.Actor, on noteable.Ref, t *Totals, c Change) (Diff, error) {
	var out Diff
	if c == (Change{}) {
		return out, nil
	}
	if c.Estimate != nil {
		n, ok := Parse(*c.Estimate)
		if !ok || n < 0 {
			return out, errs.Coded(errs.Invalid, CodeEstimate, "Time estimate must have a valid format and be greater than or equal to zero.")
		}
		if old := t.Estimate; old != n {
			out.OldEstimate, t.Estimate = &old, n
		}
	}
	now := s.Now()
	out.SpentAt = now
	if c.Delete != 0 {
		if err := s.drop(ctx, on, t, c.Delete, &out); err != nil {
			return out, err
		}
	}
	if c.Reset && t.Spent != 0 {
		if _, err := s.insert(ctx, as, on, -t.Spent, "", now); err != nil {
			return out, err
		}
		out.Reset, t.Spent = true, 0
	}
	if c.Spend == "" {
		return out, nil
	}
	n, ok := Parse(c.Spend)
	if !ok || n == 0 {
		return out, errs.Coded(errs.Invalid, CodeSpent, "Time spent must be formatted correctly. For example: 1h 30m.")
	}
	var bad errs.Fields
	bad.Check(t.Spent+n >= 0, "base", "Time to subtract exceeds the total time spent")
	bad.Check(t.Spent+n <= maxSeconds, "base", "Total time spent is too long")
	bad.Check(utf8.RuneCountInString(c.Summary) <= maxSummary, "summary", "is too long (maximum is 255 characters)")
	if c.SpentAt != nil {
		bad.Check(!c.SpentAt.After(now), "spent_at", "can't be a future date and time.")
		out.SpentAt = *c.SpentAt
	}
	if err := bad.Err(); err != nil {
		return out, err
	}
	made, err := s.insert(ctx, as, on, n, c.Summary, out.SpentAt)
	if err != nil {
		return out, err
	}
	if c.Made != nil {
		*c.Made = made
	}
	out.Spent = n
	t.Spent += n
	return out, nil
}

func (s *Service) insert(ctx context.Context, as authz.Actor, on noteable.Ref, seconds int64, summary string, at time.Time) (ID, error) {
	e := Entry{UserID: as.UserID, Spent: seconds, SpentAt: db.At(at), CreatedAt: db.At(s.Now())}
	switch on.Kind {
	case noteable.Issue:
		e.IssueID = &on.ID
	case noteable.MergeRequest:
		e.RequestID = &on.ID
	default:
		return 0, fmt.Errorf("time is not tracked on %s", on.Kind)
	}
	if summary != "" {
		e.Summary = &summary
	}
	if err := db.Create(ctx, s.DB, "timelogs", &e); err != nil {
		return 0, fmt.Errorf("insert timelog: %w", err)
	}
	return e.ID, nil
}

// drop deletes an entry of an issue or merge request.
func (s *Service) drop(ctx context.Context, on noteable.Ref, t *Totals, id ID, out *Diff) error {
	e, err := db.Get[Entry](ctx, s.DB, "SELECT "+db.Columns[Entry]("")+" FROM timelogs WHERE id = ? AND "+column(on.Kind)+" = ?", id, on.ID)
	switch {
	case errors.Is(err, db.ErrNotFound):
		return errs.Missing("")
	case err != nil:
		return fmt.Errorf("find timelog: %w", err)
	case t.Spent < e.Spent:
		var bad errs.Fields
		bad.Add("base", "Time to subtract exceeds the total time spent")
		return bad.Err()
	}
	if _, err := db.Drop(ctx, s.DB, db.Row{Table: "timelogs", ID: id}); err != nil { // the row with the totals is locked
		return fmt.Errorf("delete timelog: %w", err)
	}
	t.Spent -= e.Spent
	out.Deleted = &e
	return nil
}

// column names what an entry is of.
func column(kind noteable.Kind) string {
	if kind == noteable.MergeRequest {
		return "merge_request_id"
	}
	return "issue_id"
}

// Move gives the entries of an issue or merge request to another of its kind, in the caller's
// transaction. The caller writes the totals.
func (s *Service) Move(ctx context.Context, kind noteable.Kind, from, to int64) error {
	of := column(kind)
	if _, err := s.DB.Exec(ctx, "UPDATE timelogs SET "+of+" = ? WHERE "+of+" = ?", to, from); err != nil {
		return fmt.Errorf("move timelogs: %w", err)
	}
	return nil
}

// Depart is the account.Executor of time tracking: what a departing user spent becomes the
// ghost's, so that totals stay.
func (s *Service) Depart(ctx context.Context, e account.Estate) (bool, error) {
	n, err := s.DB.Exec(ctx, "UPDATE timelogs SET user_id = ? WHERE id IN (SELECT id FROM timelogs WHERE user_id = ? ORDER BY id LIMIT ?)",
		e.Ghost, e.UserID, account.Batch)
	if err != nil {
		return false, fmt.Errorf("hand over timelogs: %w", err)
	}
	return n == account.Batch, nil
}

package timelog

import (
	"context"
	"fmt"

	"tenon/internal/base/db"
	"tenon/internal/core/authz"
	"tenon/internal/core/noteable"
	"tenon/internal/core/tree"
)

// maxImported bounds the seconds of an imported entry: a thousand years.
const maxImported = 1000 * 366 * 24 * 3600

// Plausible reports whether an import takes an entry of so many seconds. What keeps the total of its entries counts no others.
func Plausible(seconds int64) bool {
	return seconds != 0 && seconds <= maxImported && seconds >= -maxImported
}

// Writers says how time is imported. The totals stand in the rows that it was spent on, which are written with them.
func (s *Service) Writers() []tree.Writer {
	return []tree.Writer{tree.Write("timelogs", s.importAll)}
}

func (s *Service) importAll(ctx context.Context, _ *tree.Writing, rows []*tree.Row[exported]) error {
	var out []Entry
	for _, r := range rows {
		if !Plausible(r.Value.TimeSpent) {
			r.Fail("time_spent is out of range")
			continue
		}
		e := Entry{UserID: authz.UserID(r.Value.UserID), Spent: r.Value.TimeSpent, Summary: r.Value.Summary, SpentAt: r.Value.SpentAt, CreatedAt: r.Value.CreatedAt}
		if r.Of == string(noteable.Issue) {
			e.IssueID = &r.Parent
		} else {
			e.RequestID = &r.Parent
		}
		if r.Unmatched("user_id") {
			r.Change("the user was not found")
		}
		out = append(out, e)
	}
	if _, err := db.InsertAll(ctx, s.DB, "timelogs", out); err != nil {
		return fmt.Errorf("insert timelogs: %w", err)
	}
	return nil
}

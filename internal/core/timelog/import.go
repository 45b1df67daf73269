package timelog

import (
	"context"
	"encoding/json"
	"fmt"

	"tenon/internal/base/db"
	"tenon/internal/core/authz"
	"tenon/internal/core/noteable"
	"tenon/internal/core/tree"
)

// maxImported bounds the seconds of an imported entry: a thousand years.
const maxImported = 1000 * 366 * 24 * 3600

// plausible reports whether an import takes an entry of so many seconds.
func plausible(seconds int64) bool {
	return seconds != 0 && seconds <= maxImported && seconds >= -maxImported
}

// Spent is the total of the entries that are nested in a row, as far as an import takes them.
func Spent(row *tree.State) int64 {
	var entries []struct {
		Spent json.Number `json:"time_spent"`
	}
	if !row.Nested("timelogs", &entries) {
		return 0
	}
	sum := int64(0)
	for _, e := range entries {
		if n, err := e.Spent.Int64(); err == nil && plausible(n) {
			sum += n
		}
	}
	return sum
}

// Writers says how time is imported. The totals stand in the rows that it was spent on, which are written with them.
func (s *Service) Writers() []tree.Writer {
	return []tree.Writer{tree.Write("timelogs", s.importAll)}
}

func (s *Service) importAll(ctx context.Context, _ *tree.Writing, rows []*tree.Row[exported]) error {
	var out []Entry
	for _, r := range rows {
		if !plausible(r.Value.TimeSpent) {
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
			r.Change(r.NotFound("the user", "user_id"))
		}
		out = append(out, e)
	}
	if _, err := db.InsertAll(ctx, s.DB, "timelogs", out); err != nil {
		return fmt.Errorf("insert timelogs: %w", err)
	}
	return nil
}

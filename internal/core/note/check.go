package note

import (
	"context"
	"fmt"

	"tenon/internal/base/db"
)

// Check compares the counters of notes and threads with the notes and describes what differs,
// the first 100 of each kind. It is for the administrator's command line.
func (s *Service) Check(ctx context.Context) ([]string, error) {
	type line struct {
		ID   int64 `db:"id"`
		Kept int64 `db:"kept"`
		Want int64 `db:"want"`
	}
	const comments = "(SELECT COUNT(*) FROM notes n WHERE n.noteable_type = '%[2]s' AND n.noteable_id = t.id AND NOT n.system%[3]s)"
	const threads = "(SELECT COUNT(%[3]s) FROM notes n WHERE n.noteable_type = '%[2]s' AND n.noteable_id = t.id AND n.type IS NOT NULL)"
	var out []string
	for _, c := range []struct{ table, kind, column, count, cond string }{
		{"issues", "Issue", "notes_count", comments, ""},
		{"issues", "Issue", "public_notes_count", comments, " AND NOT n.internal"},
		{"epics", "Epic", "notes_count", comments, ""},
		{"epics", "Epic", "public_notes_count", comments, " AND NOT n.internal"},
		{"snippets", "Snippet", "notes_count", comments, ""},
		{"snippets", "Snippet", "public_notes_count", comments, " AND NOT n.internal"},
		{"merge_requests", "MergeRequest", "notes_count", comments, ""},
		{"merge_requests", "MergeRequest", "public_notes_count", comments, " AND NOT n.internal"},
		{"merge_requests", "MergeRequest", "resolvable_discussions_count", threads, "DISTINCT n.discussion_id"},
		{"merge_requests", "MergeRequest", "unresolved_discussions_count", threads, "DISTINCT CASE WHEN n.resolved_at IS NULL THEN n.discussion_id END"},
	} {
		rows, err := db.Select[line](ctx, s.db, fmt.Sprintf("SELECT x.id, x.kept, x.want FROM (SELECT t.id, t.%[4]s AS kept, "+c.count+
			" AS want FROM %[1]s t) x WHERE x.kept <> x.want ORDER BY x.id LIMIT 100", c.table, c.kind, c.cond, c.column))
		if err != nil {
			return nil, fmt.Errorf("check counters of notes: %w", err)
		}
		for _, r := range rows {
			out = append(out, fmt.Sprintf("%s: %s of %d is %d, want %d", c.table, c.column, r.ID, r.Kept, r.Want))
		}
	}
	return out, nil
}

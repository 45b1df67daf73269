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
	type counter struct{ column, count, cond string }
	var out []string
	for _, kind := range s.Kinds.All() {
		if kind.Table == "" {
			continue // the comments themselves are counted
		}
		counters := []counter{{"notes_count", comments, ""}, {"public_notes_count", comments, " AND NOT n.internal"}}
		if kind.Threads {
			counters = append(counters, counter{"resolvable_discussions_count", threads, "DISTINCT n.discussion_id"},
				counter{"unresolved_discussions_count", threads, "DISTINCT CASE WHEN n.resolved_at IS NULL THEN n.discussion_id END"})
		}
		for _, c := range counters {
			rows, err := db.Select[line](ctx, s.DB, fmt.Sprintf("SELECT x.id, x.kept, x.want FROM (SELECT t.id, t.%[4]s AS kept, "+c.count+
				" AS want FROM %[1]s t) x WHERE x.kept <> x.want ORDER BY x.id LIMIT 100", kind.Table, kind.Kind, c.cond, c.column))
			if err != nil {
				return nil, fmt.Errorf("check counters of notes: %w", err)
			}
			for _, r := range rows {
				out = append(out, fmt.Sprintf("%s: %s of %d is %d, want %d", kind.Table, c.column, r.ID, r.Kept, r.Want))
			}
		}
	}
	return out, nil
}

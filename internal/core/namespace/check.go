package namespace

import (
	"context"
	"fmt"

	"tenon/internal/base/db"
)

// Check compares what is derived from the tree of namespaces, the closure and the full
// paths, with the tree itself, and says in sentences what differs. It asks for no
// permission.
func (s *Service) Check(ctx context.Context) ([]string, error) {
	const tree = `WITH RECURSIVE up (namespace_id, ancestor_id, depth) AS (
			SELECT id, id, 0 FROM namespaces
			UNION ALL
			SELECT up.namespace_id, n.parent_id, up.depth + 1 FROM up JOIN namespaces n ON n.id = up.ancestor_id
			WHERE n.parent_id IS NOT NULL AND up.depth < 100
		) `
	type line struct {
		ID       ID    `db:"namespace_id"`
		Ancestor ID    `db:"ancestor_id"`
		Depth    int64 `db:"depth"`
	}
	const kept = "SELECT namespace_id, ancestor_id, CAST(depth AS BIGINT) AS depth FROM namespace_ancestors"
	const right = "SELECT namespace_id, ancestor_id, CAST(depth AS BIGINT) AS depth FROM up"
	var out []string
	for _, c := range []struct{ query, format string }{
		{tree + right + " EXCEPT " + kept, "namespace %d: its ancestor %d (%d above) is missing in namespace_ancestors"},
		{tree + kept + " EXCEPT " + right, "namespace %d: namespace_ancestors names %d (%d above), which is no ancestor"},
	} {
		rows, err := db.Select[line](ctx, s.DB, c.query+" ORDER BY 1, 2 LIMIT 100")
		if err != nil {
			return nil, fmt.Errorf("check ancestors: %w", err)
		}
		for _, r := range rows {
			out = append(out, fmt.Sprintf(c.format, r.ID, r.Ancestor, r.Depth))
		}
	}
	type route struct {
		ID   ID      `db:"id"`
		Path *string `db:"path"`
		Want string  `db:"want"`
	}
	routes, err := db.Select[route](ctx, s.DB, `SELECT n.id, r.path, COALESCE(p.path || '/', '') || n.path AS want
		FROM namespaces n LEFT JOIN routes r ON r.namespace_id = n.id LEFT JOIN routes p ON p.namespace_id = n.parent_id
		WHERE r.path IS NULL OR r.path <> COALESCE(p.path || '/', '') || n.path ORDER BY n.id LIMIT 100`)
	if err != nil {
		return nil, fmt.Errorf("check paths: %w", err)
	}
	for _, r := range routes {
		if r.Path == nil {
			out = append(out, fmt.Sprintf("namespace %d: it has no path in routes, want %q", r.ID, r.Want))
			continue
		}
		out = append(out, fmt.Sprintf("namespace %d: its path in routes is %q, want %q", r.ID, *r.Path, r.Want))
	}
	return out, nil
}

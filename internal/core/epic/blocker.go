package epic

import (
	"context"
	"fmt"

	"tenon/internal/base/db"
	"tenon/internal/core/authz"
)

// Blocking is the open epics that block an epic, and those that it blocks, by id.
type Blocking struct{ By, Of []ID }

// Blockings returns the open epics that block each of the epics with these ids or are blocked by
// it, as far as the actor may read them, in one statement. Those without any are left out.
func (s *Service) Blockings(ctx context.Context, as authz.Actor, ids []ID) (map[ID]Blocking, error) {
	out := make(map[ID]Blocking, len(ids))
	if len(ids) == 0 {
		return out, nil
	}
	marks, args := db.Marks(ids)
	cond, more := s.ReadableSQL(as, "e.id")
	type row struct {
		ID    ID   `db:"id"`
		Other ID   `db:"other"`
		By    bool `db:"by_other"`
	}
	rows, err := db.Select[row](ctx, s.DB, `SELECT x.id, x.other, x.by_other FROM (
			SELECT l.target_id AS id, l.source_id AS other, TRUE AS by_other FROM epic_links l WHERE l.link_type = 'blocks' AND l.target_id IN (`+marks+`)
			UNION ALL SELECT l.source_id, l.target_id, FALSE FROM epic_links l WHERE l.link_type = 'blocks' AND l.source_id IN (`+marks+`)
		) x JOIN epics e ON e.id = x.other WHERE e.state = 'opened' AND `+cond+" ORDER BY x.other", append(append(args, args...), more...)...)
	if err != nil {
		return nil, fmt.Errorf("epics that block: %w", err)
	}
	for _, r := range rows {
		b := out[r.ID]
		if r.By {
			b.By = append(b.By, r.Other)
		} else {
			b.Of = append(b.Of, r.Other)
		}
		out[r.ID] = b
	}
	return out, nil
}

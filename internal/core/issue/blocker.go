package issue

import (
	"context"
	"fmt"

	"tenon/internal/base/db"
	"tenon/internal/base/page"
	"tenon/internal/core/authz"
)

// byBlocking sorts issues by how many open issues they block, as far as the actor may read those.
func (s *Service) byBlocking(as authz.Actor) page.Order {
	readable, args := s.ReadableSQL(as, "bl.target_id")
	return page.Order{page.Computed(`(SELECT COUNT(*) FROM issue_links bl JOIN issues b ON b.id = bl.target_id
		WHERE bl.source_id = i.id AND bl.link_type = 'blocks' AND b.state = 'opened' AND `+readable+")", args...), page.ID("i.id")}
}

// Blockers returns the open issues that block each of the issues with these ids and that the actor
// may read, by id, in one statement. Those that nothing blocks are left out.
func (s *Service) Blockers(ctx context.Context, as authz.Actor, ids []ID) (map[ID][]ID, error) {
	out := make(map[ID][]ID, len(ids))
	if len(ids) == 0 {
		return out, nil
	}
	var w db.Where
	w.In("l.target_id", ids)
	w.And("l.link_type = ?", Blocks)
	w.Raw("EXISTS (SELECT 1 FROM issues b WHERE b.id = l.source_id AND b.state = 'opened')")
	cond, args := s.ReadableSQL(as, "l.source_id")
	w.And(cond, args...)
	type row struct {
		Source ID `db:"source_id"`
		Target ID `db:"target_id"`
	}
	rows, err := db.Select[row](ctx, s.DB, "SELECT l.source_id, l.target_id FROM issue_links l"+w.SQL()+" ORDER BY l.source_id", w.Args()...)
	if err != nil {
		return nil, fmt.Errorf("issues that block: %w", err)
	}
	for _, r := range rows {
		out[r.Target] = append(out[r.Target], r.Source)
	}
	return out, nil
}

package issue

import (
	"context"
	"fmt"
	"slices"

	"tenon/internal/base/db"
	"tenon/internal/core/authz"
	"tenon/internal/core/filter"
	"tenon/internal/core/milestone"
)

// BurndownEvent is one step of the issues of a milestone.
type BurndownEvent struct {
	At     db.Time `db:"created_at"`
	Weight *int64  `db:"weight"` // of the issue now
	Action string  `db:"action"` // created, closed, reopened
}

// maxBurndown is how many events a burndown chart is drawn of.
const maxBurndown = 10_000

// Burndown returns what happened to those issues of a milestone that the actor may read, by
// time, the first 10,000 events. A milestone without start or due date has none.
func (s *Service) Burndown(ctx context.Context, as authz.Actor, in authz.Place, m *milestone.Milestone) ([]BurndownEvent, error) {
	if err := s.require(ctx, as, in); err != nil {
		return nil, err
	}
	if m.StartDate == nil || m.DueDate == nil {
		return nil, nil
	}
	f := Filter{Milestone: filter.Milestone{ID: m.ID}}
	sc := s.within(as, in, f)
	f.where(&sc.where, as, in, s.Now())
	list, err := db.Select[BurndownEvent](ctx, s.DB, "SELECT b.created_at, b.weight, b.action FROM (SELECT i.id * 2 AS id, i.created_at, i.weight, 'created' AS action FROM "+
		sc.from+sc.where.SQL()+" UNION ALL SELECT e.id * 2 + 1, e.created_at, i.weight, e.action FROM "+sc.from+" CROSS JOIN events e"+sc.where.SQL()+
		" AND e.target_type = 'Issue' AND e.target_id = i.id AND e.action IN ('closed', 'reopened')) b ORDER BY b.created_at, b.id LIMIT ?",
		slices.Concat(sc.where.Args(), sc.where.Args(), []any{maxBurndown})...)
	if err != nil {
		return nil, fmt.Errorf("burndown events: %w", err)
	}
	return list, nil
}

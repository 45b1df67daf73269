package issue

import (
	"context"
	"fmt"

	"tenon/internal/base/db"
	"tenon/internal/core/authz"
	"tenon/internal/core/milestone"
)

// MilestoneCount is how many issues a milestone has that the actor may read.
type MilestoneCount struct {
	MilestoneID milestone.ID `db:"milestone_id"`
	Total       int64        `db:"total"`
	Closed      int64        `db:"closed"`
}

// CountByMilestone counts the issues of milestones that the actor may read, in one statement.
// Milestones without any are left out.
func (s *Service) CountByMilestone(ctx context.Context, as authz.Actor, ids []milestone.ID) (map[milestone.ID]MilestoneCount, error) {
	out := make(map[milestone.ID]MilestoneCount, len(ids))
	may, err := s.Policy.Can(ctx, as, authz.ReadMilestone, authz.Subject{})
	if err != nil || !may || len(ids) == 0 {
		return out, err
	}
	sc := s.within(as, authz.Place{}, Filter{})
	sc.where.In("i.milestone_id", ids)
	rows, err := db.Select[MilestoneCount](ctx, s.DB, "SELECT i.milestone_id, COUNT(*) AS total, SUM(CASE WHEN i.state = 'closed' THEN 1 ELSE 0 END) AS closed FROM "+
		sc.from+sc.where.SQL()+" GROUP BY i.milestone_id", sc.where.Args()...)
	if err != nil {
		return nil, fmt.Errorf("count issues of milestones: %w", err)
	}
	for _, r := range rows {
		out[r.MilestoneID] = r
	}
	return out, nil
}

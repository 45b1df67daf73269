package timelog

import (
	"context"

	"tenon/internal/base/db"
	"tenon/internal/core/authz"
	"tenon/internal/core/noteable"
	"tenon/internal/core/tree"
)

// exported is time spent as it moves.
type exported struct {
	TimeSpent int64   `db:"time_spent" tree:"time_spent"`
	UserID    int64   `db:"user_id" tree:"user_id,user"`
	ProjectID int64   `db:"project_id" tree:"project_id,project"`
	SpentAt   db.Time `db:"spent_at" tree:"spent_at"`
	CreatedAt db.Time `db:"created_at" tree:"created_at"`
	UpdatedAt db.Time `db:"updated_at" tree:"updated_at"`
	Summary   *string `db:"summary" tree:"summary,max=255"`
}

// Relations describes the time spent on issues and merge requests.
func (s *Service) Relations() []tree.Relation {
	return []tree.Relation{
		tree.Rows(tree.Relation{Name: "timelogs", Tables: []string{"timelogs"}}, tree.Query[exported]{
			Columns: "t.time_spent, t.user_id, p.id AS project_id, t.spent_at, t.created_at, t.created_at AS updated_at, t.summary",
			From:    "projects p, timelogs t", ID: "t.id",
			ParentOf: map[string]string{string(noteable.Issue): "t.issue_id", string(noteable.MergeRequest): "t.merge_request_id"},
			Where: func(ctx context.Context, r *tree.Reading, _ string) (*db.Where, error) {
				return r.Within(ctx, authz.ListTimelogs, "p.id = ?", r.At.ID)
			},
		}),
	}
}

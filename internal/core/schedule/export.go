package schedule

import (
	"context"

	"tenon/internal/base/db"
	"tenon/internal/core/project"
	"tenon/internal/core/tree"
)

// exported is a schedule as it moves, without its variables.
type exported struct {
	Active      bool     `db:"active" tree:"active"`
	CreatedAt   db.Time  `db:"created_at" tree:"created_at"`
	UpdatedAt   db.Time  `db:"updated_at" tree:"updated_at"`
	Cron        string   `db:"cron" tree:"cron,max=255"`
	Timezone    string   `db:"cron_timezone" tree:"cron_timezone,max=255"`
	Description string   `db:"description" tree:"description,max=255"`
	NextRunAt   *db.Time `db:"next_run_at" tree:"next_run_at"`
	ProjectID   int64    `db:"project_id" tree:"project_id,project"`
	Ref         string   `db:"ref" tree:"ref,max=255"`
	OwnerID     int64    `db:"owner_id" tree:"owner_id,user"`
}

// Relations describes the schedules of a project.
func (s *Service) Relations() []tree.Relation {
	return []tree.Relation{
		tree.Rows(tree.Relation{Name: "pipeline_schedules", Tables: []string{"pipeline_schedules"}}, tree.Query[exported]{
			Columns: `s.active, s.created_at, s.updated_at, s.cron, s.cron_timezone, s.description, s.next_run_at, s.project_id, s.ref, s.owner_id`,
			From:    "pipeline_schedules s", ID: "s.id", Where: func(ctx context.Context, r *tree.Reading, _ string) (*db.Where, error) {
				return r.Within(ctx, reading(project.Of(r.At)), "s.project_id = ?", r.At.ID)
			},
		}),
	}
}

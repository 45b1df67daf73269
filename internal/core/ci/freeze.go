package ci

import (
	"context"
	"fmt"

	"tenon/internal/base/crontab"
	"tenon/internal/base/db"
	"tenon/internal/core/project"
)

// freezeVariable says that a pipeline was made while a freeze period of its project was in force.
func freezeVariable(ctx context.Context, d *db.DB, l *list, p *project.Project, of *Pipeline) error {
	type period struct {
		Start    string `db:"freeze_start"`
		End      string `db:"freeze_end"`
		Timezone string `db:"cron_timezone"`
	}
	periods, err := db.Select[period](ctx, d, "SELECT f.freeze_start, f.freeze_end, f.cron_timezone FROM freeze_periods f WHERE f.project_id = ? AND f.created_at <= ? ORDER BY f.id",
		p.ID, of.CreatedAt)
	if err != nil {
		return fmt.Errorf("freeze periods of project: %w", err)
	}
	for _, f := range periods {
		if crontab.Between(f.Start, f.End, f.Timezone, of.CreatedAt.Time) {
			l.add("CI_DEPLOY_FREEZE", "true")
			return nil
		}
	}
	return nil
}

package schedule

import (
	"context"
	"fmt"

	"tenon/internal/base/crontab"
	"tenon/internal/base/db"
	"tenon/internal/core/project"
	"tenon/internal/core/tree"
)

// Writers says how schedules are imported: inactive, as the importing user's.
func (s *Service) Writers() []tree.Writer {
	return []tree.Writer{tree.Write("pipeline_schedules", s.importAll)}
}

func (s *Service) importAll(ctx context.Context, w *tree.Writing, rows []*tree.Row[exported]) error {
	var made []Schedule
	for _, r := range rows {
		v := r.Value
		one := Schedule{
			ProjectID: project.ID(w.At.ID), OwnerID: w.As.UserID, Description: v.Description, Ref: v.Ref, Cron: v.Cron, Timezone: v.Timezone, CreatedAt: v.CreatedAt,
			UpdatedAt: v.UpdatedAt,
		}
		if one.Description == "" || one.Ref == "" || !crontab.Valid(v.Cron) {
			r.Fail("description, ref or cron is invalid")
			continue
		}
		if v.Active {
			r.Change("it is inactive")
		}
		made = append(made, one)
	}
	if _, err := db.InsertAll(ctx, s.DB, "pipeline_schedules", made); err != nil {
		return fmt.Errorf("insert schedules: %w", err)
	}
	return nil
}

package graphql

import (
	"context"
	"fmt"
	"time"

	"tenon/internal/base/gitstore"
	"tenon/internal/base/page"
	"tenon/internal/core/authz"
	"tenon/internal/core/ci"
	"tenon/internal/core/project"
	"tenon/internal/core/schedule"
	"tenon/internal/transport/graphql/exec"
)

// scheduleModel is the model of global ids of schedules.
const scheduleModel = "Ci::PipelineSchedule"

// shortRef is the name of a branch or tag without its namespace.
func shortRef(s *schedule.Seen) string {
	return gitstore.RefName(s.Ref).Short()
}

// schedules binds pipeline schedules.
func (b *binder) schedules() {
	type filter struct {
		paging
		IDs    []string
		Status *string
	}
	exec.Batch(b.Schema, "Project.pipelineSchedules", func(ctx context.Context, c *exec.Call[filter], of []*project.Project) ([]*exec.Page[*schedule.Seen], error) {
		ids, err := idsOf[schedule.ID](scheduleModel, c.Args.IDs)
		if err != nil {
			return nil, err
		}
		f := schedule.Filter{IDs: ids}
		if c.Args.Status != nil {
			f.Active = new(*c.Args.Status == "ACTIVE")
		}
		return lists(ctx, part(b, c, c.Args.paging, maxPage), of, func(ctx context.Context, p *project.Project, r page.Range) (page.Page[*schedule.Seen], error) {
			f := f
			f.Range = r
			list, err := b.Schedules.List(ctx, c.As, p, f)
			return page.Map(list, func(row *schedule.Schedule) *schedule.Seen { return &schedule.Seen{Schedule: row, Project: p} }), err
		}, same)
	})
	value(b, "PipelineSchedule.id", func(s *schedule.Seen) string { return gid(scheduleModel, s.ID) })
	value(b, "PipelineSchedule.cronTimezone", func(s *schedule.Seen) string { return s.Timezone })
	value(b, "PipelineSchedule.nextRunAt", func(s *schedule.Seen) *time.Time { return s.NextRunAt.Ptr() })
	value(b, "PipelineSchedule.realNextRun", func(s *schedule.Seen) *time.Time { return s.NextRunAt.Ptr() })
	value(b, "PipelineSchedule.createdAt", func(s *schedule.Seen) time.Time { return s.CreatedAt.Time })
	value(b, "PipelineSchedule.updatedAt", func(s *schedule.Seen) time.Time { return s.UpdatedAt.Time })
	value(b, "PipelineSchedule.forTag", func(s *schedule.Seen) bool { return gitstore.RefName(s.Ref).IsTag() })
	value(b, "PipelineSchedule.refForDisplay", shortRef)
	value(b, "PipelineSchedule.refPath", func(s *schedule.Seen) string {
		return b.URLs.Path(b.URLs.Commits(s.Project.FullPath, shortRef(s), ""))
	})
	one(b, "PipelineSchedule.owner", "users", func(s *schedule.Seen) authz.UserID { return s.OwnerID }, b.usersByIDs)
	exec.Batch(b.Schema, "PipelineSchedule.lastPipeline", func(ctx context.Context, c *exec.Call[exec.None], of []*schedule.Seen) ([]*pipeline, error) {
		return forEach(ctx, b, c, of, func(ctx context.Context, s *schedule.Seen) (*pipeline, error) {
			last, err := b.Schedules.Last(ctx, c.As, s.Project, s.ID)
			if last == nil {
				return nil, err
			}
			return &pipeline{last, s.Project}, err
		})
	}, exec.Costly)
	exec.Batch(b.Schema, "PipelineSchedule.variables", b.scheduleVariables)
	exec.Batch(b.Schema, "PipelineSchedule.userPermissions", func(ctx context.Context, c *exec.Call[exec.None], of []*schedule.Seen) ([]schedule.Permissions, error) {
		return forEach(ctx, b, c, of, func(ctx context.Context, s *schedule.Seen) (schedule.Permissions, error) {
			return b.Schedules.Permissions(ctx, c.As, s.Project, s.Schedule)
		})
	})
	value(b, "PipelineSchedulePermissions.adminPipelineSchedule", func(may schedule.Permissions) bool { return may.Admin })
	value(b, "PipelineSchedulePermissions.playPipelineSchedule", func(may schedule.Permissions) bool { return may.Play })
	value(b, "PipelineSchedulePermissions.takeOwnershipPipelineSchedule", func(may schedule.Permissions) bool { return may.TakeOwnership })
	value(b, "PipelineSchedulePermissions.updatePipelineSchedule", func(may schedule.Permissions) bool { return may.Update })
	exec.Struct[*schedule.Seen](b.Schema, "PipelineSchedule")
	exec.Connection[*schedule.Seen](b.Schema, "PipelineSchedule")
	exec.Connection[*ciVariable](b.Schema, "PipelineScheduleVariable")
	b.scheduleMutations()
}

// scheduleVariables returns the variables of schedules.
func (b *binder) scheduleVariables(ctx context.Context, c *exec.Call[paging], of []*schedule.Seen) ([]*exec.Page[*ciVariable], error) {
	found, err := forEach(ctx, b, c, of, func(ctx context.Context, s *schedule.Seen) ([]ci.Variable, error) {
		return b.Schedules.Variables(ctx, c.As, s.Project, s.Schedule)
	})
	if err != nil {
		return nil, err
	}
	out := make([]*exec.Page[*ciVariable], len(of))
	for i, list := range found {
		shown := make([]*ciVariable, len(list))
		for j, v := range list {
			shown[j] = &ciVariable{ID: gid("Ci::PipelineScheduleVariable", fmt.Sprintf("%d-%s", of[i].ID, v.Key)), Key: v.Key, Value: &v.Value, Raw: v.Raw, VariableType: "ENV_VAR"}
			if v.File {
				shown[j].VariableType = "FILE"
			}
		}
		if out[i], err = listOf(c.Args, maxPage, shown); err != nil {
			return nil, err
		}
	}
	return out, nil
}

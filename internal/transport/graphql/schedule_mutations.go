package graphql

import (
	"context"

	"tenon/internal/core/project"
	"tenon/internal/core/schedule"
	"tenon/internal/transport/graphql/exec"
)

// scheduleVariable is a variable that an input sets or deletes.
type scheduleVariable struct {
	Destroy      bool
	Key, Value   string
	VariableType string
}

// schedulePayload is what mutations of schedules give.
type schedulePayload struct{ PipelineSchedule *schedule.Seen }

// scheduleMutations binds what is done with schedules.
func (b *binder) scheduleMutations() {
	type create struct {
		Active             *bool
		Cron, CronTimezone string
		Description        string
		ProjectPath        string
		Ref                string
		Variables          []scheduleVariable
	}
	exec.Mutation(b.Schema, "pipelineScheduleCreate", func(ctx context.Context, c *exec.Call[create]) (schedulePayload, error) {
		p, err := b.project(ctx, c.As, c.Args.ProjectPath)
		if err != nil {
			return schedulePayload{}, err
		}
		made, err := b.Schedules.Create(ctx, c.As, p, schedule.Input{
			Description: c.Args.Description, Ref: c.Args.Ref, Cron: c.Args.Cron, Timezone: c.Args.CronTimezone, Inactive: c.Args.Active != nil && !*c.Args.Active,
			Variables: variableEdits(c.Args.Variables),
		})
		return scheduleSeen(p, made, err)
	})
	b.scheduleUpdate()
	type which struct{ ID globalID }
	exec.Mutation(b.Schema, "pipelineScheduleDelete", func(ctx context.Context, c *exec.Call[which]) (exec.None, error) {
		s, err := needed(ctx, c.As, c.Args.ID, b.Schedules.ByIDs)
		if err != nil {
			return exec.None{}, err
		}
		return exec.None{}, b.Schedules.Delete(ctx, c.As, s.Project, s.ID)
	})
	exec.Mutation(b.Schema, "pipelineSchedulePlay", func(ctx context.Context, c *exec.Call[which]) (schedulePayload, error) {
		s, err := needed(ctx, c.As, c.Args.ID, b.Schedules.ByIDs)
		if err != nil {
			return schedulePayload{}, err
		}
		return scheduleSeen(s.Project, s.Schedule, b.Schedules.Play(ctx, c.As, s.Project, s.ID))
	})
	exec.Mutation(b.Schema, "pipelineScheduleTakeOwnership", func(ctx context.Context, c *exec.Call[which]) (schedulePayload, error) {
		s, err := needed(ctx, c.As, c.Args.ID, b.Schedules.ByIDs)
		if err != nil {
			return schedulePayload{}, err
		}
		taken, err := b.Schedules.TakeOwnership(ctx, c.As, s.Project, s.ID)
		return scheduleSeen(s.Project, taken, err)
	})
}

// scheduleSeen is the payload with a schedule of a project.
func scheduleSeen(p *project.Project, row *schedule.Schedule, err error) (schedulePayload, error) {
	if err != nil {
		return schedulePayload{}, err
	}
	return schedulePayload{&schedule.Seen{Schedule: row, Project: p}}, nil
}

// scheduleUpdate binds the change of a schedule.
func (b *binder) scheduleUpdate() {
	type update struct {
		ID                                   globalID
		Active                               *bool
		Cron, CronTimezone, Description, Ref *string
		Variables                            []scheduleVariable
	}
	exec.Mutation(b.Schema, "pipelineScheduleUpdate", func(ctx context.Context, c *exec.Call[update]) (schedulePayload, error) {
		s, err := needed(ctx, c.As, c.Args.ID, b.Schedules.ByIDs)
		if err != nil {
			return schedulePayload{}, err
		}
		changed, err := b.Schedules.Update(ctx, c.As, s.Project, s.ID, schedule.Changes{
			Description: c.Args.Description, Ref: c.Args.Ref, Cron: c.Args.Cron, Timezone: c.Args.CronTimezone, Active: c.Args.Active,
			Variables: variableEdits(c.Args.Variables),
		})
		return scheduleSeen(s.Project, changed, err)
	})
}

// variableEdits are the edits as core takes them.
func variableEdits(list []scheduleVariable) []schedule.VariableEdit {
	out := make([]schedule.VariableEdit, len(list))
	for i, v := range list {
		out[i] = schedule.VariableEdit{Key: v.Key, Value: v.Value, File: v.VariableType == "FILE", Delete: v.Destroy}
	}
	return out
}

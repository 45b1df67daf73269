package rest

import (
	"context"

	"tenon/internal/core/authz"
	"tenon/internal/core/ci"
	"tenon/internal/core/project"
	"tenon/internal/core/schedule"
	"tenon/internal/transport/rest/api"
)

var _ = Resource("pipeline_schedules", (*Server).scheduleRoutes)

func (s *Server) scheduleRoutes() []*api.Route {
	const path = "/projects/:id/pipeline_schedules"
	const one = path + "/:pipeline_schedule_id"
	return api.Scoped(nil,
		api.Get(path, s.listSchedules).Doc("List the pipeline schedules of a project").Needs(authz.ReadSchedules),
		api.Post(path, s.createSchedule).Doc("Create a pipeline schedule").Needs(authz.CreatePipeline, authz.ReadSchedules, authz.ReadPipeline),
		api.Get(one, s.getSchedule).Doc("Get a pipeline schedule").Needs(authz.ReadSchedules, authz.ReadPipeline),
		api.Put(one, s.updateSchedule).Timed().Doc("Update a pipeline schedule").Needs(authz.CreatePipeline, authz.UpdateSchedule, authz.ReadSchedules, authz.ReadPipeline),
		api.Delete(one, s.deleteSchedule).Timed().Doc("Delete a pipeline schedule").Needs(authz.CreatePipeline, authz.DeleteSchedule),
		api.Post(one+"/take_ownership", s.takeSchedule).Doc("Take ownership of a pipeline schedule").Needs(authz.AdminSchedules, authz.ReadSchedules, authz.ReadPipeline),
		api.Post(one+"/play", s.playSchedule).Doc("Run a pipeline schedule immediately").Needs(authz.CreatePipeline),
		api.Get(one+"/pipelines", s.schedulePipelines).Doc("List the pipelines of a pipeline schedule").Needs(authz.ReadSchedules, authz.ReadPipeline),
		api.Post(one+"/variables", s.addScheduleVariable).Doc("Create a variable of a pipeline schedule").Needs(authz.CreatePipeline, authz.UpdateSchedule),
		api.Get(one+"/variables/:key", s.getScheduleVariable).Doc("Get a variable of a pipeline schedule").Needs(authz.CreatePipeline, authz.UpdateSchedule),
		api.Put(one+"/variables/:key", s.updateScheduleVariable).Doc("Update a variable of a pipeline schedule").Needs(authz.CreatePipeline, authz.UpdateSchedule),
		api.Delete(one+"/variables/:key", s.deleteScheduleVariable).Status(202).Doc("Delete a variable of a pipeline schedule").
			Needs(authz.CreatePipeline, authz.UpdateSchedule),
	)
}

type scheduleEntity struct {
	ID          schedule.ID `json:"id"`
	Description string      `json:"description"`
	Ref         string      `json:"ref"`
	Cron        string      `json:"cron"`
	Timezone    string      `json:"cron_timezone"`
	NextRunAt   *api.Time   `json:"next_run_at"`
	Active      bool        `json:"active"`
	CreatedAt   api.Time    `json:"created_at"`
	UpdatedAt   api.Time    `json:"updated_at"`
	Owner       *userBasic  `json:"owner"`
}

type scheduleDetails struct {
	scheduleEntity
	LastPipeline *pipelineEntity           `json:"last_pipeline"`
	Variables    *[]pipelineVariableEntity `json:"variables,omitempty"` // for those who may change the schedule
}

func (s *Server) schedulesOf(ctx context.Context, list []schedule.Schedule) ([]scheduleEntity, error) {
	ids := make([]authz.UserID, len(list))
	for i := range list {
		ids[i] = list[i].OwnerID
	}
	users, err := s.Accounts.ByIDs(ctx, ids)
	if err != nil {
		return nil, err
	}
	out := make([]scheduleEntity, len(list))
	for i := range list {
		r := &list[i]
		out[i] = scheduleEntity{
			ID: r.ID, Description: r.Description, Ref: r.Ref, Cron: r.Cron, Timezone: r.Timezone, NextRunAt: api.TimePtr(r.NextRunAt.Ptr()), Active: r.Active,
			CreatedAt: api.Time(r.CreatedAt.Time), UpdatedAt: api.Time(r.UpdatedAt.Time), Owner: s.user(users[r.OwnerID]),
		}
	}
	return out, nil
}

// scheduleOf renders a schedule with what the caller may see of it.
func (s *Server) scheduleOf(ctx context.Context, as authz.Actor, p *project.Project, row *schedule.Schedule, err error) (*scheduleDetails, error) {
	if err != nil {
		return nil, err
	}
	list, err := s.schedulesOf(ctx, []schedule.Schedule{*row})
	if err != nil {
		return nil, err
	}
	out := &scheduleDetails{scheduleEntity: list[0]}
	last, err := s.Schedules.Last(ctx, as, p, row.ID)
	if err != nil {
		return nil, err
	}
	if last != nil {
		out.LastPipeline = s.pipeline(p, last)
	}
	vars, err := s.Schedules.Variables(ctx, as, p, row)
	if err != nil || vars == nil {
		return out, err
	}
	shown := make([]pipelineVariableEntity, len(vars))
	for i := range vars {
		shown[i] = scheduleVariableOf(&vars[i])
	}
	out.Variables = &shown
	return out, nil
}

func scheduleVariableOf(v *ci.Variable) pipelineVariableEntity {
	kind := "env_var"
	if v.File {
		kind = "file"
	}
	return pipelineVariableEntity{kind, v.Key, v.Value, v.Raw}
}

type listSchedulesParams struct {
	projectPath
	Scope string `param:"scope" values:"active,inactive" doc:"Scope of the schedules: active or inactive"`
	api.Page
}

func (s *Server) listSchedules(ctx context.Context, as authz.Actor, in listSchedulesParams) (api.List[scheduleEntity], error) {
	none := api.List[scheduleEntity]{}
	p, err := s.Projects.Find(ctx, as, in.ID)
	if err != nil {
		return none, err
	}
	var active *bool
	if in.Scope != "" {
		active = new(in.Scope == "active")
	}
	list, err := s.Schedules.List(ctx, as, p, schedule.Filter{Active: active, Range: in.Range()})
	if err != nil {
		return none, err
	}
	items, err := s.schedulesOf(ctx, list.Items)
	if err != nil {
		return none, err
	}
	return api.Listed(list, items), nil
}

type createScheduleParams struct {
	projectPath
	Description string `param:"description,required" doc:"Description of the schedule"`
	Ref         string `param:"ref,required" doc:"Branch or tag to run pipelines for"`
	Cron        string `param:"cron,required" doc:"Cron expression"`
	Timezone    string `param:"cron_timezone" default:"UTC" doc:"Time zone of the cron expression"`
	Active      bool   `param:"active" default:"true" doc:"Whether the schedule runs"`
}

func (s *Server) createSchedule(ctx context.Context, as authz.Actor, in createScheduleParams) (*scheduleDetails, error) {
	p, err := s.Projects.Find(ctx, as, in.ID)
	if err != nil {
		return nil, err
	}
	row, err := s.Schedules.Create(ctx, as, p, schedule.Input{Description: in.Description, Ref: in.Ref, Cron: in.Cron, Timezone: in.Timezone, Inactive: !in.Active})
	return s.scheduleOf(ctx, as, p, row, err)
}

type schedulePath struct {
	projectPath
	ScheduleID schedule.ID `param:"pipeline_schedule_id" doc:"ID of the pipeline schedule"`
}

func (s *Server) getSchedule(ctx context.Context, as authz.Actor, in schedulePath) (*scheduleDetails, error) {
	p, err := s.Projects.Find(ctx, as, in.ID)
	if err != nil {
		return nil, err
	}
	row, err := s.Schedules.Find(ctx, as, p, in.ScheduleID)
	return s.scheduleOf(ctx, as, p, row, err)
}

type updateScheduleParams struct {
	schedulePath
	Description *string `param:"description" doc:"Description of the schedule"`
	Ref         *string `param:"ref" doc:"Branch or tag to run pipelines for"`
	Cron        *string `param:"cron" doc:"Cron expression"`
	Timezone    *string `param:"cron_timezone" doc:"Time zone of the cron expression"`
	Active      *bool   `param:"active" doc:"Whether the schedule runs"`
}

func (s *Server) updateSchedule(ctx context.Context, as authz.Actor, in updateScheduleParams) (*scheduleDetails, error) {
	p, err := s.Projects.Find(ctx, as, in.ID)
	if err != nil {
		return nil, err
	}
	row, err := s.Schedules.Update(ctx, as, p, in.ScheduleID, schedule.Changes{
		Description: in.Description, Ref: in.Ref, Cron: in.Cron, Timezone: in.Timezone, Active: in.Active,
	})
	return s.scheduleOf(ctx, as, p, row, err)
}

func (s *Server) deleteSchedule(ctx context.Context, as authz.Actor, in schedulePath) (api.None, error) {
	p, err := s.Projects.Find(ctx, as, in.ID)
	if err != nil {
		return api.None{}, err
	}
	return api.None{}, s.Schedules.Delete(ctx, as, p, in.ScheduleID)
}

func (s *Server) takeSchedule(ctx context.Context, as authz.Actor, in schedulePath) (*scheduleDetails, error) {
	p, err := s.Projects.Find(ctx, as, in.ID)
	if err != nil {
		return nil, err
	}
	row, err := s.Schedules.TakeOwnership(ctx, as, p, in.ScheduleID)
	return s.scheduleOf(ctx, as, p, row, err)
}

// played is the answer to a schedule that is about to run.
type played struct {
	Message string `json:"message"`
}

func (s *Server) playSchedule(ctx context.Context, as authz.Actor, in schedulePath) (played, error) {
	p, err := s.Projects.Find(ctx, as, in.ID)
	if err != nil {
		return played{}, err
	}
	return played{"201 Created"}, s.Schedules.Play(ctx, as, p, in.ScheduleID)
}

type schedulePipelinesParams struct {
	schedulePath
	api.Page
}

func (s *Server) schedulePipelines(ctx context.Context, as authz.Actor, in schedulePipelinesParams) (api.List[pipelineEntity], error) {
	p, err := s.Projects.Find(ctx, as, in.ID)
	if err != nil {
		return api.List[pipelineEntity]{}, err
	}
	list, err := s.Schedules.Pipelines(ctx, as, p, in.ScheduleID, ci.PipelineFilter{Asc: true, Range: in.Range()})
	if err != nil {
		return api.List[pipelineEntity]{}, err
	}
	return api.ListOf(list, func(of *ci.Pipeline) pipelineEntity { return *s.pipeline(p, of) }), nil
}

type addScheduleVariableParams struct {
	schedulePath
	runVariable
}

func (s *Server) addScheduleVariable(ctx context.Context, as authz.Actor, in addScheduleVariableParams) (pipelineVariableEntity, error) {
	p, err := s.Projects.Find(ctx, as, in.ID)
	if err != nil {
		return pipelineVariableEntity{}, err
	}
	v := ci.Variable{Key: in.Key, Value: in.Value, File: in.Type == "file"}
	return scheduleVariableOf(&v), s.Schedules.AddVariable(ctx, as, p, in.ScheduleID, v)
}

type scheduleVariablePath struct {
	schedulePath
	Key string `param:"key" doc:"Key of the variable"`
}

func (s *Server) scheduleVariable(v *ci.Variable, err error) (pipelineVariableEntity, error) {
	if err != nil {
		return pipelineVariableEntity{}, err
	}
	return scheduleVariableOf(v), nil
}

func (s *Server) getScheduleVariable(ctx context.Context, as authz.Actor, in scheduleVariablePath) (pipelineVariableEntity, error) {
	p, err := s.Projects.Find(ctx, as, in.ID)
	if err != nil {
		return pipelineVariableEntity{}, err
	}
	return s.scheduleVariable(s.Schedules.FindVariable(ctx, as, p, in.ScheduleID, in.Key))
}

type updateScheduleVariableParams struct {
	scheduleVariablePath
	Value *string `param:"value" doc:"Value of the variable"`
	Type  string  `param:"variable_type" values:"env_var,file" doc:"Type of the variable: env_var or file"`
}

func (s *Server) updateScheduleVariable(ctx context.Context, as authz.Actor, in updateScheduleVariableParams) (pipelineVariableEntity, error) {
	p, err := s.Projects.Find(ctx, as, in.ID)
	if err != nil {
		return pipelineVariableEntity{}, err
	}
	var file *bool
	if in.Type != "" {
		file = new(in.Type == "file")
	}
	return s.scheduleVariable(s.Schedules.UpdateVariable(ctx, as, p, in.ScheduleID, in.Key, schedule.VariableChanges{Value: in.Value, File: file}))
}

func (s *Server) deleteScheduleVariable(ctx context.Context, as authz.Actor, in scheduleVariablePath) (pipelineVariableEntity, error) {
	p, err := s.Projects.Find(ctx, as, in.ID)
	if err != nil {
		return pipelineVariableEntity{}, err
	}
	return s.scheduleVariable(s.Schedules.DeleteVariable(ctx, as, p, in.ScheduleID, in.Key))
}

package rest

import (
	"context"

	"tenon/internal/core"
	"tenon/internal/core/authz"
	"tenon/internal/core/deploy"
	"tenon/internal/core/project"
	"tenon/internal/transport/rest/api"
)

var _ = Resource("freeze_periods", (*Server).freezePeriodRoutes)

func (s *Server) freezePeriodRoutes() []*api.Route {
	h := freezeHandlers{s, core.Part[*deploy.Service](s.Services)}
	const list, one = "/projects/:id/freeze_periods", "/projects/:id/freeze_periods/:freeze_period_id"
	return api.Scoped(nil,
		api.Get(list, h.list).Doc("List the freeze periods of a project").Needs(authz.ReadFreezePeriod),
		api.Post(list, h.create).Doc("Create a freeze period").Needs(authz.AdminFreezePeriod),
		api.Get(one, h.get).Doc("Get a freeze period").Needs(authz.ReadFreezePeriod),
		api.Put(one, h.update).Timed().Doc("Update a freeze period").Needs(authz.AdminFreezePeriod),
		api.Delete(one, h.delete).Timed().Doc("Delete a freeze period").Needs(authz.AdminFreezePeriod),
	)
}

type freezeHandlers struct {
	server  *Server
	deploys *deploy.Service
}

func (h freezeHandlers) project(ctx context.Context, as authz.Actor, id string) (*project.Project, error) {
	return h.server.Projects.Find(ctx, as, id)
}

type freezePeriodEntity struct {
	ID        deploy.FreezeID `json:"id"`
	Start     string          `json:"freeze_start"`
	End       string          `json:"freeze_end"`
	Timezone  string          `json:"cron_timezone"`
	CreatedAt api.Time        `json:"created_at"`
	UpdatedAt api.Time        `json:"updated_at"`
}

func freezePeriodOf(f *deploy.FreezePeriod) freezePeriodEntity {
	return freezePeriodEntity{f.ID, f.Start, f.End, f.Timezone, api.Time(f.CreatedAt.Time), api.Time(f.UpdatedAt.Time)}
}

func freezePeriodFound(f *deploy.FreezePeriod, err error) (freezePeriodEntity, error) {
	if err != nil {
		return freezePeriodEntity{}, err
	}
	return freezePeriodOf(f), nil
}

type listFreezePeriodsParams struct {
	projectPath
	api.Page
}

func (h freezeHandlers) list(ctx context.Context, as authz.Actor, in listFreezePeriodsParams) (api.List[freezePeriodEntity], error) {
	none := api.List[freezePeriodEntity]{}
	p, err := h.project(ctx, as, in.ID)
	if err != nil {
		return none, err
	}
	list, err := h.deploys.FreezePeriods(ctx, as, p, in.Range())
	if err != nil {
		return none, err
	}
	return api.ListOf(list, freezePeriodOf), nil
}

type freezePeriodPath struct {
	projectPath
	Freeze deploy.FreezeID `param:"freeze_period_id" doc:"ID of the freeze period"`
}

func (h freezeHandlers) get(ctx context.Context, as authz.Actor, in freezePeriodPath) (freezePeriodEntity, error) {
	p, err := h.project(ctx, as, in.ID)
	if err != nil {
		return freezePeriodEntity{}, err
	}
	return freezePeriodFound(h.deploys.FreezePeriod(ctx, as, p, in.Freeze))
}

type createFreezePeriodParams struct {
	projectPath
	Start    string  `param:"freeze_start,required" doc:"Start of the freeze period in cron format"`
	End      string  `param:"freeze_end,required" doc:"End of the freeze period in cron format"`
	Timezone *string `param:"cron_timezone" doc:"Time zone of both; defaults to UTC"`
}

func (h freezeHandlers) create(ctx context.Context, as authz.Actor, in createFreezePeriodParams) (freezePeriodEntity, error) {
	p, err := h.project(ctx, as, in.ID)
	if err != nil {
		return freezePeriodEntity{}, err
	}
	return freezePeriodFound(h.deploys.CreateFreezePeriod(ctx, as, p, deploy.FreezeChanges{Start: &in.Start, End: &in.End, Timezone: in.Timezone}))
}

type updateFreezePeriodParams struct {
	freezePeriodPath
	Start    *string `param:"freeze_start" doc:"Start of the freeze period in cron format"`
	End      *string `param:"freeze_end" doc:"End of the freeze period in cron format"`
	Timezone *string `param:"cron_timezone" doc:"Time zone of both"`
}

func (h freezeHandlers) update(ctx context.Context, as authz.Actor, in updateFreezePeriodParams) (freezePeriodEntity, error) {
	p, err := h.project(ctx, as, in.ID)
	if err != nil {
		return freezePeriodEntity{}, err
	}
	return freezePeriodFound(h.deploys.UpdateFreezePeriod(ctx, as, p, in.Freeze, deploy.FreezeChanges{Start: in.Start, End: in.End, Timezone: in.Timezone}))
}

func (h freezeHandlers) delete(ctx context.Context, as authz.Actor, in freezePeriodPath) (api.None, error) {
	p, err := h.project(ctx, as, in.ID)
	if err != nil {
		return api.None{}, err
	}
	return api.None{}, h.deploys.DeleteFreezePeriod(ctx, as, p, in.Freeze)
}

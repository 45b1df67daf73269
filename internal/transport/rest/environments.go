package rest

import (
	"context"
	"net/http"
	"time"

	"tenon/internal/core"
	"tenon/internal/core/authz"
	"tenon/internal/core/deploy"
	"tenon/internal/core/project"
	"tenon/internal/transport/rest/api"
)

var _ = Resource("environments", (*Server).environmentRoutes)

func (s *Server) environmentRoutes() []*api.Route {
	const path = "/projects/:id/environments"
	const one = path + "/:environment_id"
	h := s.deployHandlers()
	return api.Scoped(nil,
		api.Get(path, h.listEnvironments).Doc("List the environments of a project").Needs(authz.ReadEnvironment),
		api.Post(path, h.createEnvironment).Doc("Create an environment").Needs(authz.CreateEnvironment),
		api.Post(path+"/stop_stale", h.stopStale).Status(http.StatusOK).Doc("Stop stale environments").Needs(authz.StopEnvironment),
		api.Delete(path+"/review_apps", h.deleteReviewApps).Status(http.StatusOK).Doc("Delete stopped review apps").Needs(authz.DestroyEnvironment),
		api.Get(one, h.getEnvironment).Doc("Get an environment").Needs(authz.ReadEnvironment),
		api.Put(one, h.updateEnvironment).Timed().Doc("Update an environment").Needs(authz.UpdateEnvironment),
		api.Delete(one, h.deleteEnvironment).Timed().Doc("Delete an environment").Needs(authz.DestroyEnvironment),
		api.Post(one+"/stop", h.stopEnvironment).Status(http.StatusOK).Doc("Stop an environment").Needs(authz.StopEnvironment),
	)
}

// deployHandlers are the endpoints of environments and deployments.
type deployHandlers struct {
	server  *Server
	deploys *deploy.Service
}

func (s *Server) deployHandlers() deployHandlers {
	return deployHandlers{s, core.Part[*deploy.Service](s.Services)}
}

// environmentBasic is an environment in a deployment.
type environmentBasic struct {
	ID          deploy.EnvironmentID `json:"id"`
	Name        string               `json:"name"`
	Slug        string               `json:"slug"`
	ExternalURL *string              `json:"external_url"`
	CreatedAt   api.Time             `json:"created_at"`
	UpdatedAt   api.Time             `json:"updated_at"`
}

// environmentEntity is an environment in a list.
type environmentEntity struct {
	environmentBasic
	Tier                deploy.Tier             `json:"tier"`
	Project             *projectBasic           `json:"project,omitempty"`
	State               deploy.EnvironmentState `json:"state"`
	AutoStopAt          *api.Time               `json:"auto_stop_at"`
	ClusterAgent        *struct{}               `json:"cluster_agent" later:"cluster agents"`
	KubernetesNamespace *string                 `json:"kubernetes_namespace"`
	FluxResourcePath    *string                 `json:"flux_resource_path"`
	Description         *string                 `json:"description"`
	AutoStopSetting     string                  `json:"auto_stop_setting"`
}

// environmentDetails is one environment.
type environmentDetails struct {
	environmentEntity
	LastDeployment *deploymentEntity `json:"last_deployment"`
}

func newEnvironmentBasic(e *deploy.Environment) environmentBasic {
	return environmentBasic{e.ID, e.Name, e.Slug, e.ExternalURL, api.Time(e.CreatedAt.Time), api.Time(e.UpdatedAt.Time)}
}

func newEnvironment(e *deploy.Environment, in *projectBasic) environmentEntity {
	return environmentEntity{
		environmentBasic: newEnvironmentBasic(e), Tier: e.Tier, Project: in, State: e.State, AutoStopAt: api.TimePtr(e.AutoStopAt.Ptr()),
		KubernetesNamespace: e.KubernetesNamespace, FluxResourcePath: e.FluxResourcePath, Description: e.Description, AutoStopSetting: e.AutoStopSetting,
	}
}

// environments renders environments of a project.
func (h deployHandlers) environments(ctx context.Context, as authz.Actor, p *project.Project, list []deploy.Environment) ([]environmentEntity, error) {
	views, err := h.server.Projects.Views(ctx, as, []*project.Project{p}, project.ViewOptions{})
	if err != nil {
		return nil, err
	}
	in, out := h.server.projectBasic(&views[0]), make([]environmentEntity, len(list))
	for i := range list {
		out[i] = newEnvironment(&list[i], in)
	}
	return out, nil
}

// environment renders the environment that a call made or changed.
func (h deployHandlers) environment(ctx context.Context, as authz.Actor, p *project.Project, e *deploy.Environment, err error) (*environmentEntity, error) {
	if err != nil {
		return nil, err
	}
	list, err := h.environments(ctx, as, p, []deploy.Environment{*e})
	if err != nil {
		return nil, err
	}
	return &list[0], nil
}

// inState narrows a list to a state; "" is any.
func inState[T ~string](state T) []T {
	if state == "" {
		return nil
	}
	return []T{state}
}

type listEnvironmentsParams struct {
	projectPath
	Name   string `param:"name" doc:"Name of the environment"`
	Search string `param:"search" doc:"Search in names: at least three characters"`
	States string `param:"states" values:"available,stopping,stopped" doc:"State of the environments"`
	api.Page
}

func (h deployHandlers) listEnvironments(ctx context.Context, as authz.Actor, in listEnvironmentsParams) (api.List[environmentEntity], error) {
	none := api.List[environmentEntity]{}
	p, err := h.server.Projects.Find(ctx, as, in.ID)
	if err != nil {
		return none, err
	}
	if in.Name != "" && in.Search != "" {
		return none, &api.Refusal{Status: http.StatusBadRequest, Text: "name, search cannot be used together"}
	}
	list, err := h.deploys.Environments(ctx, as, p, deploy.EnvironmentFilter{
		Name: in.Name, Search: in.Search, States: inState(deploy.EnvironmentState(in.States)), Range: in.Range(),
	})
	if err != nil {
		return none, err
	}
	items, err := h.environments(ctx, as, p, list.Items)
	if err != nil {
		return none, err
	}
	return api.Listed(list, items), nil
}

type environmentPath struct {
	projectPath
	EnvironmentID deploy.EnvironmentID `param:"environment_id" doc:"ID of the environment"`
}

func (h deployHandlers) getEnvironment(ctx context.Context, as authz.Actor, in environmentPath) (*environmentDetails, error) {
	p, err := h.server.Projects.Find(ctx, as, in.ID)
	if err != nil {
		return nil, err
	}
	e, err := h.deploys.FindEnvironment(ctx, as, p, in.EnvironmentID)
	if err != nil {
		return nil, err
	}
	out := &environmentDetails{environmentEntity: newEnvironment(e, nil)}
	last, err := h.deploys.Last(ctx, as, p, e.ID)
	if err != nil || last == nil {
		return out, err
	}
	list, err := h.deployments(ctx, as, p, []deploy.Deployment{*last})
	if err != nil {
		return nil, err
	}
	out.LastDeployment = &list[0]
	out.LastDeployment.Environment = nil
	return out, nil
}

// environmentParams are what callers set of an environment.
type environmentParams struct {
	ExternalURL         *string      `param:"external_url" doc:"Where the environment is"`
	Tier                *deploy.Tier `param:"tier" values:"production,staging,testing,development,other" doc:"Tier; guessed from the name where it is not given"`
	Description         *string      `param:"description" doc:"Description"`
	KubernetesNamespace *string      `param:"kubernetes_namespace" doc:"Kubernetes namespace of the environment"`
	FluxResourcePath    *string      `param:"flux_resource_path" doc:"Flux resource path of the environment"`
	AutoStopSetting     *string      `param:"auto_stop_setting" values:"always,with_action" doc:"Whether the environment is stopped by itself without a job that stops it"`
	Slug                *string      `param:"slug" doc:"Is refused: the slug is made of the name"`
}

// changes are the attributes that core is asked for.
func (p *environmentParams) changes(name *string) (deploy.EnvironmentChanges, error) {
	if p.Slug != nil {
		return deploy.EnvironmentChanges{}, &api.Refusal{Status: http.StatusBadRequest, Text: "slug is automatically generated and cannot be changed"}
	}
	return deploy.EnvironmentChanges{
		Name: name, Tier: p.Tier, ExternalURL: p.ExternalURL, Description: p.Description, KubernetesNamespace: p.KubernetesNamespace,
		FluxResourcePath: p.FluxResourcePath, AutoStopSetting: p.AutoStopSetting,
	}, nil
}

type createEnvironmentParams struct {
	projectPath
	Name string `param:"name,required" doc:"Name of the environment"`
	environmentParams
}

func (h deployHandlers) createEnvironment(ctx context.Context, as authz.Actor, in createEnvironmentParams) (*environmentEntity, error) {
	p, err := h.server.Projects.Find(ctx, as, in.ID)
	if err != nil {
		return nil, err
	}
	c, err := in.changes(&in.Name)
	if err != nil {
		return nil, err
	}
	e, err := h.deploys.CreateEnvironment(ctx, as, p, c)
	return h.environment(ctx, as, p, e, err)
}

type updateEnvironmentParams struct {
	environmentPath
	Name *string `param:"name" doc:"Name of the environment"`
	environmentParams
}

func (h deployHandlers) updateEnvironment(ctx context.Context, as authz.Actor, in updateEnvironmentParams) (*environmentEntity, error) {
	p, err := h.server.Projects.Find(ctx, as, in.ID)
	if err != nil {
		return nil, err
	}
	c, err := in.changes(in.Name)
	if err != nil {
		return nil, err
	}
	e, err := h.deploys.UpdateEnvironment(ctx, as, p, in.EnvironmentID, c)
	return h.environment(ctx, as, p, e, err)
}

func (h deployHandlers) deleteEnvironment(ctx context.Context, as authz.Actor, in environmentPath) (api.None, error) {
	p, err := h.server.Projects.Find(ctx, as, in.ID)
	if err != nil {
		return api.None{}, err
	}
	return api.None{}, h.deploys.DeleteEnvironment(ctx, as, p, in.EnvironmentID)
}

type stopEnvironmentParams struct {
	environmentPath
	Force bool `param:"force" default:"false" doc:"Stop the environment without the job that stops it"`
}

func (h deployHandlers) stopEnvironment(ctx context.Context, as authz.Actor, in stopEnvironmentParams) (*environmentEntity, error) {
	p, err := h.server.Projects.Find(ctx, as, in.ID)
	if err != nil {
		return nil, err
	}
	e, err := h.deploys.Stop(ctx, as, p, in.EnvironmentID, deploy.StopOptions{Force: in.Force})
	return h.environment(ctx, as, p, e, err)
}

type stopStaleParams struct {
	projectPath
	Before time.Time `param:"before,required" doc:"Stop environments that were last changed or deployed to before this time: between ten years and one week ago"`
}

// environmentsMessage is the answer to a call whose work a job does.
type environmentsMessage struct {
	Message string `json:"message"`
}

func (h deployHandlers) stopStale(ctx context.Context, as authz.Actor, in stopStaleParams) (environmentsMessage, error) {
	p, err := h.server.Projects.Find(ctx, as, in.ID)
	if err != nil {
		return environmentsMessage{}, err
	}
	return environmentsMessage{"Successfully scheduled stale environments to stop"}, h.deploys.StopStale(ctx, as, p, in.Before)
}

type deleteReviewAppsParams struct {
	projectPath
	Before *time.Time `param:"before" doc:"Delete environments that were created before this time; 30 days ago by default"`
	Limit  int        `param:"limit" default:"100" min:"1" max:"1000" doc:"Number of environments at most"`
	DryRun bool       `param:"dry_run" default:"true" doc:"List what would be deleted, and delete nothing"`
}

// reviewApps says what becomes of review apps.
type reviewApps struct {
	Scheduled     []environmentBasic `json:"scheduled_entries"`
	Unprocessable []environmentBasic `json:"unprocessable_entries"`
}

func (h deployHandlers) deleteReviewApps(ctx context.Context, as authz.Actor, in deleteReviewAppsParams) (*reviewApps, error) {
	p, err := h.server.Projects.Find(ctx, as, in.ID)
	if err != nil {
		return nil, err
	}
	r := deploy.ReviewApps{Limit: in.Limit, DryRun: in.DryRun}
	if in.Before != nil {
		r.Before = *in.Before
	}
	done, err := h.deploys.DeleteReviewApps(ctx, as, p, r)
	if err != nil {
		return nil, err
	}
	basics := func(list []deploy.Environment) []environmentBasic {
		out := make([]environmentBasic, len(list))
		for i := range list {
			out[i] = newEnvironmentBasic(&list[i])
		}
		return out
	}
	return &reviewApps{basics(done.Scheduled), basics(done.Unprocessable)}, nil
}

package rest

import (
	"context"
	"time"

	"tenon/internal/core/authz"
	"tenon/internal/core/ci"
	"tenon/internal/core/project"
	"tenon/internal/transport/rest/api"
)

var _ = Resource("pipelines", (*Server).pipelineRoutes)

func (s *Server) pipelineRoutes() []*api.Route {
	return api.Scoped(nil,
		api.Get("/projects/:id/pipelines", s.listPipelines).Doc("List the pipelines of a project").Needs(authz.ReadPipeline).Public(),
		api.Get("/projects/:id/pipelines/latest", s.latestPipeline).Doc("Get the latest pipeline of a branch or tag").Needs(authz.ReadPipeline).Public(),
		api.Get("/projects/:id/pipelines/:pipeline_id", s.getPipeline).Doc("Get a pipeline").Needs(authz.ReadPipeline).Public(),
		api.Post("/projects/:id/pipeline", s.createPipeline).Doc("Create a pipeline").Needs(authz.CreatePipeline, authz.ReadCode),
		api.Post("/projects/:id/pipelines/:pipeline_id/retry", s.retryPipeline).Doc("Retry the failed and canceled jobs of a pipeline").
			Needs(authz.UpdatePipeline, authz.ReadPipeline),
		api.Post("/projects/:id/pipelines/:pipeline_id/cancel", s.cancelPipeline).Status(200).Doc("Cancel the jobs of a pipeline").
			Needs(authz.UpdatePipeline, authz.ReadPipeline),
		api.Delete("/projects/:id/pipelines/:pipeline_id", s.deletePipeline).Doc("Delete a pipeline").Needs(authz.DeletePipeline, authz.ReadPipeline),
		api.Get("/projects/:id/pipelines/:pipeline_id/variables", s.pipelineVariables).Doc("List the variables of a pipeline").
			Needs(authz.ReadPipeline, authz.ReadPipelineDetails),
		api.Put("/projects/:id/pipelines/:pipeline_id/metadata", s.renamePipeline).Doc("Update the metadata of a pipeline").
			Needs(authz.UpdatePipeline, authz.ReadPipeline),
		api.Get("/projects/:id/pipelines/:pipeline_id/test_report", s.pipelineTests).Doc("Get the test report of a pipeline").Needs(authz.ReadPipeline).Public(),
		api.Get("/projects/:id/pipelines/:pipeline_id/test_report_summary", s.pipelineTestSummary).Doc("Get the summary of the test report of a pipeline").
			Needs(authz.ReadPipeline).Public(),
		api.Get("/projects/:id/pipelines/:pipeline_id/jobs", s.pipelineJobs).Doc("List the jobs of a pipeline").Needs(authz.ReadPipeline).Public(),
		api.Get("/projects/:id/pipelines/:pipeline_id/bridges", s.pipelineBridges).Doc("List the trigger jobs of a pipeline").Needs(authz.ReadPipeline).Public(),
	)
}

type pipelinePath struct {
	projectPath
	PipelineID ci.PipelineID `param:"pipeline_id" doc:"ID of the pipeline"`
}

type listPipelinesParams struct {
	projectPath
	Scope         string     `param:"scope" values:"running,pending,finished,branches,tags" doc:"Scope of the pipelines"`
	Status        string     `param:"status" values:"created,waiting_for_resource,preparing,waiting_for_callback,pending,running,success,failed,canceling,canceled,skipped,manual,scheduled" doc:"Status of the pipelines"`
	Source        string     `param:"source" values:"unknown,push,web,trigger,schedule,api,external,pipeline,chat,webide,merge_request_event,external_pull_request_event,parent_pipeline,ondemand_dast_scan,ondemand_dast_validation,security_orchestration_policy,container_registry_push" doc:"Source of the pipelines"`
	Ref           string     `param:"ref" doc:"Branch or tag"`
	SHA           string     `param:"sha" doc:"SHA of the commit"`
	YAMLErrors    *bool      `param:"yaml_errors" doc:"Return pipelines with an invalid configuration only, or without"`
	Username      string     `param:"username" doc:"Username of the user who started the pipelines"`
	UpdatedAfter  *time.Time `param:"updated_after" doc:"Return pipelines updated after this time"`
	UpdatedBefore *time.Time `param:"updated_before" doc:"Return pipelines updated before this time"`
	CreatedAfter  *time.Time `param:"created_after" doc:"Return pipelines created after this time"`
	CreatedBefore *time.Time `param:"created_before" doc:"Return pipelines created before this time"`
	Name          string     `param:"name" doc:"Name of the pipelines"`
	OrderBy       string     `param:"order_by" values:"id,status,ref,updated_at,user_id" default:"id" doc:"Column to order by"`
	Sort          string     `param:"sort" values:"asc,desc" default:"desc" doc:"asc or desc"`
	api.Page
}

func (s *Server) listPipelines(ctx context.Context, as authz.Actor, in listPipelinesParams) (api.List[pipelineEntity], error) {
	p, err := s.Projects.Find(ctx, as, in.ID)
	if err != nil {
		return api.List[pipelineEntity]{}, err
	}
	list, err := s.CI.List(ctx, as, p, ci.PipelineFilter{
		Scope: in.Scope, State: ci.State(in.Status), Source: ci.Source(in.Source), Ref: in.Ref, SHA: in.SHA, Name: in.Name, YAMLErrors: in.YAMLErrors, Username: in.Username,
		UpdatedAfter: in.UpdatedAfter, UpdatedBefore: in.UpdatedBefore, CreatedAfter: in.CreatedAfter, CreatedBefore: in.CreatedBefore,
		OrderBy: in.OrderBy, Asc: in.Sort == "asc", Range: in.Range(),
	})
	if err != nil {
		return api.List[pipelineEntity]{}, err
	}
	return api.ListOf(list, func(of *ci.Pipeline) pipelineEntity { return *s.pipeline(p, of) }), nil
}

// shown renders a pipeline in full.
func (s *Server) shown(ctx context.Context, p *project.Project, of *ci.Pipeline, err error) (*pipelineFull, error) {
	if err != nil {
		return nil, err
	}
	return s.pipelineFull(ctx, p, of)
}

type latestPipelineParams struct {
	projectPath
	Ref string `param:"ref" doc:"Branch or tag; defaults to the default branch"`
}

func (s *Server) latestPipeline(ctx context.Context, as authz.Actor, in latestPipelineParams) (*pipelineFull, error) {
	p, err := s.Projects.Find(ctx, as, in.ID)
	if err != nil {
		return nil, err
	}
	of, err := s.CI.Latest(ctx, as, p, in.Ref)
	return s.shown(ctx, p, of, err)
}

func (s *Server) getPipeline(ctx context.Context, as authz.Actor, in pipelinePath) (*pipelineFull, error) {
	p, err := s.Projects.Find(ctx, as, in.ID)
	if err != nil {
		return nil, err
	}
	of, err := s.CI.Find(ctx, as, p, in.PipelineID)
	return s.shown(ctx, p, of, err)
}

type runVariable struct {
	Key   string `param:"key,required" doc:"Key of the variable"`
	Value string `param:"value,required" doc:"Value of the variable"`
	Type  string `param:"variable_type" values:"env_var,file" default:"env_var" doc:"Type of the variable: env_var or file"`
}

type createPipelineParams struct {
	projectPath
	Ref       string        `param:"ref,required" doc:"Branch or tag to run the pipeline for"`
	Variables []runVariable `param:"variables" doc:"Variables of the pipeline"`
}

func (s *Server) createPipeline(ctx context.Context, as authz.Actor, in createPipelineParams) (*pipelineFull, error) {
	p, err := s.Projects.Find(ctx, as, in.ID)
	if err != nil {
		return nil, err
	}
	run := ci.RunInput{Ref: in.Ref, Source: ci.ByAPI}
	for _, v := range in.Variables {
		run.Variables = append(run.Variables, ci.Variable{Key: v.Key, Value: v.Value, File: v.Type == "file"})
	}
	of, err := s.CI.Run(ctx, as, p, run)
	return s.shown(ctx, p, of, err)
}

func (s *Server) retryPipeline(ctx context.Context, as authz.Actor, in pipelinePath) (*pipelineFull, error) {
	p, err := s.Projects.Find(ctx, as, in.ID)
	if err != nil {
		return nil, err
	}
	of, err := s.CI.Retry(ctx, as, p, in.PipelineID)
	return s.shown(ctx, p, of, err)
}

func (s *Server) cancelPipeline(ctx context.Context, as authz.Actor, in pipelinePath) (*pipelineFull, error) {
	p, err := s.Projects.Find(ctx, as, in.ID)
	if err != nil {
		return nil, err
	}
	of, err := s.CI.Cancel(ctx, as, p, in.PipelineID)
	return s.shown(ctx, p, of, err)
}

func (s *Server) deletePipeline(ctx context.Context, as authz.Actor, in pipelinePath) (api.None, error) {
	p, err := s.Projects.Find(ctx, as, in.ID)
	if err != nil {
		return api.None{}, err
	}
	return api.None{}, s.CI.Delete(ctx, as, p, in.PipelineID)
}

// pipelineVariableEntity is a variable that a pipeline was started with.
type pipelineVariableEntity struct {
	Type  string `json:"variable_type"`
	Key   string `json:"key"`
	Value string `json:"value"`
	Raw   bool   `json:"raw"`
}

func (s *Server) pipelineVariables(ctx context.Context, as authz.Actor, in pipelinePath) ([]pipelineVariableEntity, error) {
	p, err := s.Projects.Find(ctx, as, in.ID)
	if err != nil {
		return nil, err
	}
	list, err := s.CI.VariablesOf(ctx, as, p, in.PipelineID)
	out := make([]pipelineVariableEntity, len(list))
	for i, v := range list {
		out[i] = pipelineVariableEntity{"env_var", v.Key, v.Value, v.Raw}
		if v.File {
			out[i].Type = "file"
		}
	}
	return out, err
}

type renamePipelineParams struct {
	pipelinePath
	Name string `param:"name,required" doc:"Name of the pipeline"`
}

func (s *Server) renamePipeline(ctx context.Context, as authz.Actor, in renamePipelineParams) (*pipelineFull, error) {
	p, err := s.Projects.Find(ctx, as, in.ID)
	if err != nil {
		return nil, err
	}
	of, err := s.CI.Rename(ctx, as, p, in.PipelineID, in.Name)
	return s.shown(ctx, p, of, err)
}

package rest

import (
	"context"

	"tenon/internal/core/authz"
	"tenon/internal/core/namespace"
	"tenon/internal/core/project"
	"tenon/internal/transport/rest/api"
)

var _ = Resource("job_token_scope", (*Server).jobTokenRoutes)

func (s *Server) jobTokenRoutes() []*api.Route {
	const (
		path     = "/projects/:id/job_token_scope"
		projects = path + "/allowlist"
		groups   = path + "/groups_allowlist"
	)
	return api.Scoped(nil,
		api.Get(path, s.getJobTokenScope).Doc("Get the CI/CD job token access settings of a project").Needs(authz.ReadJobTokenScope),
		api.Patch(path, s.updateJobTokenScope).Doc("Update the CI/CD job token access settings of a project").Needs(authz.AdminJobTokenScope),
		api.Get(projects, s.listJobTokenProjects).Doc("List the projects in the job token allowlist").Needs(authz.ReadJobTokenScope),
		api.Post(projects, s.allowJobTokenProject).Doc("Add a project to the job token allowlist").Needs(authz.AdminJobTokenScope),
		api.Delete(projects+"/:target_project_id", s.disallowJobTokenProject).Doc("Remove a project from the job token allowlist").Needs(authz.AdminJobTokenScope),
		api.Get(groups, s.listJobTokenGroups).Doc("List the groups in the job token allowlist").Needs(authz.ReadJobTokenScope),
		api.Post(groups, s.allowJobTokenGroup).Doc("Add a group to the job token allowlist").Needs(authz.AdminJobTokenScope),
		api.Delete(groups+"/:target_group_id", s.disallowJobTokenGroup).Doc("Remove a group from the job token allowlist").Needs(authz.AdminJobTokenScope),
	)
}

type jobTokenScope struct {
	Inbound  bool `json:"inbound_enabled"`
	Outbound bool `json:"outbound_enabled"`
}

func (s *Server) getJobTokenScope(ctx context.Context, as authz.Actor, p projectPath) (jobTokenScope, error) {
	of, err := s.Projects.Find(ctx, as, p.ID)
	if err != nil {
		return jobTokenScope{}, err
	}
	got, err := s.JobTokens.Scope(ctx, as, of)
	return jobTokenScope(got), err
}

type updateJobTokenScopeParams struct {
	projectPath
	Enabled bool `param:"enabled,required" doc:"Limit access to projects and groups in the allowlist"`
}

func (s *Server) updateJobTokenScope(ctx context.Context, as authz.Actor, p updateJobTokenScopeParams) (api.None, error) {
	of, err := s.Projects.Find(ctx, as, p.ID)
	if err != nil {
		return api.None{}, err
	}
	return api.None{}, s.JobTokens.SetInbound(ctx, as, of, p.Enabled)
}

type listJobTokenParams struct {
	projectPath
	api.Page
}

func (s *Server) listJobTokenProjects(ctx context.Context, as authz.Actor, p listJobTokenParams) (api.List[*projectBasic], error) {
	none := api.List[*projectBasic]{}
	of, err := s.Projects.Find(ctx, as, p.ID)
	if err != nil {
		return none, err
	}
	list, err := s.JobTokens.Projects(ctx, as, of, p.Range())
	if err != nil {
		return none, err
	}
	views, err := s.Projects.Views(ctx, as, list.Items, project.ViewOptions{})
	if err != nil {
		return none, err
	}
	out := make([]*projectBasic, len(views))
	for i := range views {
		out[i] = s.projectBasic(&views[i])
	}
	return api.Listed(list, out), nil
}

type allowedProject struct {
	Source project.ID `json:"source_project_id"`
	Target project.ID `json:"target_project_id"`
}

type allowJobTokenProjectParams struct {
	projectPath
	Target project.ID `param:"target_project_id,required" doc:"ID of the project whose jobs get access"`
}

func (s *Server) allowJobTokenProject(ctx context.Context, as authz.Actor, p allowJobTokenProjectParams) (allowedProject, error) {
	of, err := s.Projects.Find(ctx, as, p.ID)
	if err != nil {
		return allowedProject{}, err
	}
	target, err := s.JobTokens.AllowProject(ctx, as, of, p.Target)
	if err != nil {
		return allowedProject{}, err
	}
	return allowedProject{of.ID, target.ID}, nil
}

type jobTokenProjectPath struct {
	projectPath
	Target project.ID `param:"target_project_id" doc:"ID of a project in the allowlist"`
}

func (s *Server) disallowJobTokenProject(ctx context.Context, as authz.Actor, p jobTokenProjectPath) (api.None, error) {
	of, err := s.Projects.Find(ctx, as, p.ID)
	if err != nil {
		return api.None{}, err
	}
	return api.None{}, s.JobTokens.DisallowProject(ctx, as, of, p.Target)
}

func (s *Server) listJobTokenGroups(ctx context.Context, as authz.Actor, p listJobTokenParams) (api.List[groupBrief], error) {
	of, err := s.Projects.Find(ctx, as, p.ID)
	if err != nil {
		return api.List[groupBrief]{}, err
	}
	return s.briefs(s.JobTokens.Groups(ctx, as, of, p.Range()))
}

type allowedGroup struct {
	Source project.ID   `json:"source_project_id"`
	Target namespace.ID `json:"target_group_id"`
}

type allowJobTokenGroupParams struct {
	projectPath
	Target namespace.ID `param:"target_group_id,required" doc:"ID of the group whose jobs get access"`
}

func (s *Server) allowJobTokenGroup(ctx context.Context, as authz.Actor, p allowJobTokenGroupParams) (allowedGroup, error) {
	of, err := s.Projects.Find(ctx, as, p.ID)
	if err != nil {
		return allowedGroup{}, err
	}
	target, err := s.JobTokens.AllowGroup(ctx, as, of, p.Target)
	if err != nil {
		return allowedGroup{}, err
	}
	return allowedGroup{of.ID, target.ID}, nil
}

type jobTokenGroupPath struct {
	projectPath
	Target namespace.ID `param:"target_group_id" doc:"ID of a group in the allowlist"`
}

func (s *Server) disallowJobTokenGroup(ctx context.Context, as authz.Actor, p jobTokenGroupPath) (api.None, error) {
	of, err := s.Projects.Find(ctx, as, p.ID)
	if err != nil {
		return api.None{}, err
	}
	return api.None{}, s.JobTokens.DisallowGroup(ctx, as, of, p.Target)
}

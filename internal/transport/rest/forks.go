package rest

import (
	"context"
	"strconv"

	"tenon/internal/core/authz"
	"tenon/internal/core/namespace"
	"tenon/internal/core/project"
	"tenon/internal/transport/rest/api"
)

var _ = Resource("projects", (*Server).forkRoutes)

func (s *Server) forkRoutes() []*api.Route {
	return api.Scoped(nil,
		api.Post("/projects/:id/fork", s.forkProject).Doc("Fork a project").
			Needs(authz.ForkProject, authz.ReadCode, authz.ReadNamespace, authz.CreateProject, authz.TransferInto),
		api.Delete("/projects/:id/fork", s.unforkProject).Timed().Doc("Delete a fork relationship").Needs(authz.RemoveForkLink),
		api.Post("/projects/:id/fork/:forked_from_id", s.makeFork).Doc("Create a fork relationship").
			Needs(authz.RemoveForkLink, authz.ForkProject, authz.ReadCode),
		api.Get("/projects/:id/forks", s.listForks).Doc("List the forks of a project").Needs(authz.ListProjects).Public(),
	)
}

type forkParams struct {
	projectPath
	Namespace         string        `param:"namespace" doc:"ID or path of the namespace; use namespace_id or namespace_path instead"`
	NamespaceID       *namespace.ID `param:"namespace_id" doc:"ID of the namespace; defaults to that of the current user"`
	NamespacePath     string        `param:"namespace_path" doc:"Path of the namespace"`
	Name              *string       `param:"name" doc:"Name of the fork; defaults to that of the source project"`
	Path              *string       `param:"path" doc:"Path of the fork; defaults to that of the source project"`
	Description       *string       `param:"description" doc:"Description of the fork; defaults to that of the source project"`
	Visibility        *string       `param:"visibility" values:"private,internal,public" doc:"Visibility; at most that of the source project and the namespace"`
	Branches          string        `param:"branches" doc:"Branch to fork; defaults to all branches"`
	DefaultTargetSelf *bool         `param:"mr_default_target_self" doc:"Target the fork itself by default in merge requests"`
}

func (s *Server) forkProject(ctx context.Context, as authz.Actor, p forkParams) (projectForm, error) {
	in := project.ForkInput{
		Namespace: p.Namespace, Name: p.Name, Path: p.Path, Description: p.Description, Visibility: visibilityOf(p.Visibility),
		Branch: p.Branches, DefaultTargetSelf: p.DefaultTargetSelf,
	}
	switch {
	case p.NamespaceID != nil:
		in.Namespace = strconv.FormatInt(int64(*p.NamespaceID), 10)
	case p.NamespacePath != "":
		in.Namespace = p.NamespacePath
	}
	fork, err := s.Projects.Fork(ctx, as, p.ID, in)
	if err != nil {
		return nil, err
	}
	return s.project(ctx, as, fork, project.ViewOptions{})
}

func (s *Server) unforkProject(ctx context.Context, as authz.Actor, p projectPath) (api.None, error) {
	return api.None{}, s.Projects.Unfork(ctx, as, p.ID)
}

type makeForkParams struct {
	projectPath
	Source string `param:"forked_from_id" doc:"ID or URL-encoded path of the source project"`
}

func (s *Server) makeFork(ctx context.Context, as authz.Actor, p makeForkParams) (projectForm, error) {
	fork, err := s.Projects.MakeFork(ctx, as, p.ID, p.Source)
	if err != nil {
		return nil, err
	}
	return s.project(ctx, as, fork, project.ViewOptions{})
}

type listForksParams struct {
	projectPath
	listProjectsParams
}

func (s *Server) listForks(ctx context.Context, as authz.Actor, p listForksParams) (api.List[projectForm], error) {
	source, err := s.Projects.Find(ctx, as, p.ID)
	if err != nil {
		return api.List[projectForm]{}, err
	}
	f := p.filter()
	f.ForkedFrom = source.ID
	return s.pageOfProjects(ctx, as, p.Page, &p.projectFilter, f)
}

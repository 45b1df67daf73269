package rest

import (
	"context"

	"tenon/internal/core/authz"
	"tenon/internal/core/namespace"
	"tenon/internal/core/project"
	"tenon/internal/transport/rest/api"
)

var _ = Resource("projects", (*Server).transferRoutes)

func (s *Server) transferRoutes() []*api.Route {
	moves := []authz.Ability{authz.TransferProject, authz.ReadNamespace, authz.CreateProject, authz.TransferInto}
	return api.Scoped(nil,
		api.Put("/projects/:id/transfer", s.transferProject).Timed().Doc("Transfer a project to a namespace").Needs(moves...),
		api.Post("/groups/:id/projects/:project_id", s.transferProjectHere).Doc("Transfer a project to a group").Needs(moves...),
		api.Get("/projects/:id/transfer_locations", s.listProjectLocations).Doc("List the transfer locations of a project").
			Needs(authz.TransferProject, authz.ListGroups),
		api.Get("/projects/:id/share_locations", s.listShareLocations).Doc("List the share locations of a project").
			Needs(authz.ShareProject, authz.ListGroups),
		api.Post("/groups/:id/transfer", s.transferGroup).Doc("Transfer a group").
			Needs(authz.TransferGroup),
		api.Get("/groups/:id/transfer_locations", s.listGroupLocations).Doc("List the transfer locations of a group").
			Needs(authz.TransferGroup, authz.ListGroups),
	)
}

type transferProjectParams struct {
	projectPath
	Namespace string `param:"namespace,required" doc:"ID or path of the namespace"`
}

func (s *Server) transferProject(ctx context.Context, as authz.Actor, p transferProjectParams) (projectForm, error) {
	moved, err := s.Projects.Transfer(ctx, as, p.ID, p.Namespace)
	if err != nil {
		return nil, err
	}
	return s.project(ctx, as, moved, project.ViewOptions{})
}

type transferHereParams struct {
	groupPath
	ProjectID string `param:"project_id" doc:"ID or URL-encoded path of the project"`
}

func (s *Server) transferProjectHere(ctx context.Context, as authz.Actor, p transferHereParams) (*groupDetails, error) {
	g, err := s.Namespaces.Find(ctx, as, p.ID)
	if err != nil {
		return nil, err
	}
	if _, err := s.Projects.Transfer(ctx, as, p.ProjectID, g.FullPath); err != nil {
		return nil, err
	}
	return s.groupDetails(ctx, as, g, groupView{projects: true})
}

type transferGroupParams struct {
	groupPath
	Into *namespace.ID `param:"group_id" doc:"ID of the new parent group; unset for the top level"`
}

func (s *Server) transferGroup(ctx context.Context, as authz.Actor, p transferGroupParams) (*groupDetails, error) {
	moved, err := s.Namespaces.Transfer(ctx, as, p.ID, p.Into)
	if err != nil {
		return nil, err
	}
	return s.groupDetails(ctx, as, moved, groupView{projects: true})
}

type listLocationsParams struct {
	ID string `param:"id" doc:"ID or URL-encoded path"`
	api.Page
	Search string `param:"search" doc:"Search in names and paths"`
}

func (s *Server) listProjectLocations(ctx context.Context, as authz.Actor, p listLocationsParams) (api.List[groupBrief], error) {
	return s.briefs(s.Projects.Locations(ctx, as, p.ID, namespace.GroupFilter{Search: p.Search, Range: p.Range()}))
}

func (s *Server) listShareLocations(ctx context.Context, as authz.Actor, p listLocationsParams) (api.List[groupBrief], error) {
	return s.briefs(s.Projects.ShareLocations(ctx, as, p.ID, namespace.GroupFilter{Search: p.Search, Range: p.Range()}))
}

func (s *Server) listGroupLocations(ctx context.Context, as authz.Actor, p listLocationsParams) (api.List[groupBrief], error) {
	return s.briefs(s.Namespaces.Locations(ctx, as, p.ID, namespace.GroupFilter{Search: p.Search, Range: p.Range()}))
}

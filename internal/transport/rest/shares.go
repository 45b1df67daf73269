package rest

import (
	"context"
	"slices"

	"tenon/internal/core/authz"
	"tenon/internal/core/limit"
	"tenon/internal/core/namespace"
	"tenon/internal/core/project"
	"tenon/internal/transport/rest/api"
)

var _ = Resource("groups", (*Server).shareRoutes)

func (s *Server) shareRoutes() []*api.Route {
	routes := s.onPlanningPlaces("share", func(m mount) []*api.Route {
		if m.group {
			return []*api.Route{
				api.Post(m.path, s.shareGroup).Doc("Share a group with another group").Needs(authz.ShareGroup),
				api.Delete(m.path+"/:group_id", m.unshare).Timed().Doc("Delete a shared group link of a group").Needs(authz.ShareGroup),
			}
		}
		return []*api.Route{
			api.Post(m.path, s.shareProject).Doc("Share a project with a group").Needs(authz.AdminProject, authz.ShareProject),
			api.Delete(m.path+"/:group_id", m.unshare).Timed().Doc("Delete a shared group link of a project").
				Needs(authz.AdminProject, authz.ShareProject),
		}
	})
	routes = append(routes, api.Get("/groups/:id/groups/shared", s.listSharedGroups).Doc("List the groups shared with a group").
		Needs(authz.ListGroups).Public().Rate(limit.GroupSharedGroups))
	routes = append(routes, s.onPlaces("invited_groups", func(m mount) []*api.Route {
		class := limit.ProjectInvitedGroups
		if m.group {
			class = limit.GroupInvitedGroups
		}
		return []*api.Route{api.Get(m.path, m.invitedGroups).Doc("List the groups invited to a " + m.noun).Needs(authz.ListGroups).Public().Rate(class)}
	})...)
	return api.Scoped(nil, append(routes, api.Get("/groups/:id/projects/shared", s.listSharedProjects).Doc("List the projects shared with a group").
		Needs(authz.ListProjects).Public())...)
}

// shareParams name a group and what its members get.
type shareParams struct {
	GroupID namespace.ID `param:"group_id,required" doc:"ID of the group to share with"`
	Level   int          `param:"group_access,required" values:"10,15,20,25,30,40,50" doc:"Access level granted to the group"`
	Expires api.Date     `param:"expires_at" doc:"Expiry date of the invitation, YYYY-MM-DD"`
}

func (p *shareParams) input() namespace.ShareInput {
	in := namespace.ShareInput{GroupID: p.GroupID, Level: authz.Level(p.Level)}
	if p.Expires != "" {
		in.ExpiresOn = (*string)(&p.Expires)
	}
	return in
}

// shareEntity is the answer for a project that was shared.
type shareEntity struct {
	ID        int64        `json:"id"`
	ProjectID project.ID   `json:"project_id"`
	GroupID   namespace.ID `json:"group_id"`
	Level     authz.Level  `json:"group_access"`
	ExpiresAt *string      `json:"expires_at"`
}

type shareProjectParams struct {
	projectPath
	shareParams
}

func (s *Server) shareProject(ctx context.Context, as authz.Actor, p shareProjectParams) (shareEntity, error) {
	found, err := s.Projects.Find(ctx, as, p.ID)
	if err != nil {
		return shareEntity{}, err
	}
	made, err := s.Namespaces.Share(ctx, as, found.Place(), p.input())
	if err != nil {
		return shareEntity{}, err
	}
	return shareEntity{made.ID, found.ID, made.GroupID, made.Level, made.ExpiresOn}, nil
}

type unshareParams struct {
	ID      string       `param:"id" doc:"ID or URL-encoded path"`
	GroupID namespace.ID `param:"group_id" doc:"ID of the group"`
}

func (m mount) unshare(ctx context.Context, as authz.Actor, p unshareParams) (api.None, error) {
	at, err := m.place(ctx, as, p.ID)
	if err != nil {
		return api.None{}, err
	}
	return api.None{}, m.s.Namespaces.Unshare(ctx, as, at, p.GroupID)
}

type shareGroupParams struct {
	groupPath
	shareParams
}

func (s *Server) shareGroup(ctx context.Context, as authz.Actor, p shareGroupParams) (*groupDetails, error) {
	g, err := s.Namespaces.Find(ctx, as, p.ID)
	if err != nil {
		return nil, err
	}
	if _, err := s.Namespaces.Share(ctx, as, g.Place(), p.input()); err != nil {
		return nil, err
	}
	return s.groupDetails(ctx, as, g, groupView{projects: true})
}

func (s *Server) listSharedGroups(ctx context.Context, as authz.Actor, p listSubgroupsParams) (api.List[groupEntity], error) {
	g, err := s.Namespaces.Find(ctx, as, p.ID)
	if err != nil {
		return api.List[groupEntity]{}, err
	}
	f := p.filter(p.Page)
	f.SharedWith = &g.ID
	return s.pageOfGroups(ctx, as, p.Page, &p.groupFilter, f)
}

type listInvitedParams struct {
	ID string `param:"id" doc:"ID or URL-encoded path"`
	api.Page
	groupFilter
	Relation api.Strings `param:"relation" values:"direct,inherited" doc:"Filter by relation: direct, inherited or both"`
}

// into completes the filter for the groups invited into a place.
func (p *listInvitedParams) into(place namespace.ID) namespace.GroupFilter {
	f := p.filter(p.Page)
	direct, inherited := slices.Contains(p.Relation, "direct"), slices.Contains(p.Relation, "inherited")
	f.InvitedTo, f.Inherited, f.NotDirect = &place, inherited || !direct, inherited && !direct
	return f
}

func (m mount) invitedGroups(ctx context.Context, as authz.Actor, p listInvitedParams) (api.List[groupEntity], error) {
	at, err := m.place(ctx, as, p.ID)
	if err != nil {
		return api.List[groupEntity]{}, err
	}
	return m.s.pageOfGroups(ctx, as, p.Page, &p.groupFilter, p.into(at.Namespace))
}

type listSharedProjectsParams struct {
	groupPath
	api.Page
	projectFilter
}

func (s *Server) listSharedProjects(ctx context.Context, as authz.Actor, p listSharedProjectsParams) (api.List[projectForm], error) {
	g, err := s.Namespaces.Find(ctx, as, p.ID)
	if err != nil {
		return api.List[projectForm]{}, err
	}
	f := p.filter()
	f.Parent, f.OnlyShared = &g.ID, true
	return s.pageOfProjects(ctx, as, p.Page, &p.projectFilter, f)
}

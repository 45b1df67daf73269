package rest

import (
	"context"

	"tenon/internal/base/page"
	"tenon/internal/core/authz"
	"tenon/internal/core/limit"
	"tenon/internal/core/namespace"
	"tenon/internal/core/project"
	"tenon/internal/transport/rest/api"
)

var _ = Resource("projects", (*Server).starRoutes)

func (s *Server) starRoutes() []*api.Route {
	return api.Scoped(nil,
		api.Post("/projects/:id/star", s.starProject).Doc("Star a project").Needs(authz.StarProject),
		api.Post("/projects/:id/unstar", s.unstarProject).Doc("Unstar a project").Needs(authz.StarProject),
		api.Get("/projects/:id/starrers", s.listStarrers).Doc("List the starrers of a project").Needs(authz.ReadProject).Public(),
		api.Get("/users/:user_id/starred_projects", s.listStarredProjects).Scope(authz.ScopeReadUser).Doc("List the projects starred by a user").
			Needs(authz.ListProjects).Public().Rate(limit.UserStarred),
		api.Get("/users/:user_id/contributed_projects", s.listContributedProjects).Scope(authz.ScopeReadUser).Doc("List the projects that a user contributed to").
			Needs(authz.ListProjects).Public().Rate(limit.UserContributed),
		api.Get("/projects/:id/users", s.listProjectUsers).Doc("List the users of a project").Needs(authz.ReadMembers).Public(),
		api.Get("/projects/:id/groups", s.listProjectGroups).Doc("List the ancestor groups of a project").Needs(authz.ListGroups).Public(),
	)
}

func (s *Server) starProject(ctx context.Context, as authz.Actor, p projectPath) (projectForm, error) {
	starred, err := s.Projects.Star(ctx, as, p.ID)
	if err != nil {
		return nil, err
	}
	return s.project(ctx, as, starred, project.ViewOptions{})
}

func (s *Server) unstarProject(ctx context.Context, as authz.Actor, p projectPath) (projectForm, error) {
	bare, err := s.Projects.Unstar(ctx, as, p.ID)
	if err != nil {
		return nil, err
	}
	return s.project(ctx, as, bare, project.ViewOptions{})
}

// starrerEntity is a user who starred a project.
type starrerEntity struct {
	Since api.Time  `json:"starred_since"`
	User  userBasic `json:"user"`
}

type listStarrersParams struct {
	projectPath
	api.Page
	Search string `param:"search" doc:"Search in names and usernames"`
}

func (s *Server) listStarrers(ctx context.Context, as authz.Actor, p listStarrersParams) (api.List[starrerEntity], error) {
	none := api.List[starrerEntity]{}
	list, err := s.Projects.Starrers(ctx, as, p.ID, p.Search, p.Range())
	if err != nil {
		return none, err
	}
	ids := make([]authz.UserID, len(list.Items))
	for i, one := range list.Items {
		ids[i] = one.UserID
	}
	users, err := s.Accounts.ByIDs(ctx, ids)
	if err != nil {
		return none, err
	}
	items := make([]starrerEntity, 0, len(list.Items))
	for _, one := range list.Items {
		if u := users[one.UserID]; u != nil {
			items = append(items, starrerEntity{api.Time(one.Since.Time), newUserBasic(u)})
		}
	}
	return api.Listed(list, items), nil
}

func (s *Server) listStarredProjects(ctx context.Context, as authz.Actor, p listUserProjectsParams) (api.List[projectForm], error) {
	user, err := s.Namespaces.User(ctx, as, p.UserID)
	if err != nil {
		return api.List[projectForm]{}, err
	}
	f := p.filter()
	f.StarredBy = user
	return s.pageOfProjects(ctx, as, p.Page, &p.projectFilter, f)
}

func (s *Server) listContributedProjects(ctx context.Context, as authz.Actor, p listUserProjectsParams) (api.List[projectForm], error) {
	user, err := s.Namespaces.User(ctx, as, p.UserID)
	if err != nil {
		return api.List[projectForm]{}, err
	}
	f := p.filter()
	f.ContributedBy = user
	return s.pageOfProjects(ctx, as, p.Page, &p.projectFilter, f)
}

type listProjectUsersParams struct {
	projectPath
	api.Page
	Search    string   `param:"search" doc:"Search in names and usernames"`
	SkipUsers api.Ints `param:"skip_users" doc:"IDs of users to exclude"`
}

func (s *Server) listProjectUsers(ctx context.Context, as authz.Actor, p listProjectUsersParams) (api.List[userBasic], error) {
	none := api.List[userBasic]{}
	found, err := s.Projects.Find(ctx, as, p.ID)
	if err != nil {
		return none, err
	}
	list, err := s.Namespaces.Members(ctx, as, found.Place(), namespace.MemberFilter{
		Inherited: true, Query: p.Search, Skip: memberIDs(p.SkipUsers), Range: p.Range(),
	})
	if err != nil {
		return none, err
	}
	members, err := s.members(ctx, list.Items, false)
	if err != nil {
		return none, err
	}
	items := make([]userBasic, len(members))
	for i, m := range members {
		items[i] = m.userBasic
	}
	return api.Listed(list, items), nil
}

// groupBrief is a group in lists of places.
type groupBrief struct {
	ID        namespace.ID `json:"id"`
	WebURL    string       `json:"web_url"`
	Name      string       `json:"name"`
	AvatarURL *string      `json:"avatar_url"`
	FullName  string       `json:"full_name"`
	FullPath  string       `json:"full_path"`
}

// briefs answers the lists of groups in their short form.
func (s *Server) briefs(list page.Page[namespace.Group], err error) (api.List[groupBrief], error) {
	if err != nil {
		return api.List[groupBrief]{}, err
	}
	return api.ListOf(list, func(g *namespace.Group) groupBrief {
		return groupBrief{g.ID, s.URLs.Group(g.FullPath), g.Name, s.upload("group", int64(g.ID), g.Avatar), g.FullName, g.FullPath}
	}), nil
}

type listProjectGroupsParams struct {
	projectPath
	api.Page
	Search      string   `param:"search" doc:"Search in names and paths"`
	SkipGroups  api.Ints `param:"skip_groups" doc:"IDs of groups to exclude"`
	WithShared  bool     `param:"with_shared" default:"false" doc:"Include groups shared with the project"`
	VisibleOnly bool     `param:"shared_visible_only" default:"false" doc:"Accepted and ignored: only visible shared groups are returned"`
	Least       *int     `param:"shared_min_access_level" values:"10,15,20,25,30,40,50" doc:"Minimum access level of shared projects"`
}

func (s *Server) listProjectGroups(ctx context.Context, as authz.Actor, p listProjectGroupsParams) (api.List[groupBrief], error) {
	found, err := s.Projects.Find(ctx, as, p.ID)
	if err != nil {
		return api.List[groupBrief]{}, err
	}
	f := namespace.GroupFilter{Above: &found.NamespaceID, AndShared: p.WithShared, Search: p.Search, Range: p.Range()}
	if p.Least != nil {
		f.SharedLevel = authz.Level(*p.Least)
	}
	for _, id := range p.SkipGroups {
		f.Skip = append(f.Skip, namespace.ID(id))
	}
	return s.briefs(s.Namespaces.List(ctx, as, f))
}

package rest

import (
	"context"
	"slices"

	"tenon/internal/core/authz"
	"tenon/internal/transport/rest/api"
)

// mount is where a resource has endpoints: below groups, or below projects.
type mount struct {
	s     *Server
	group bool
	path  string // of the resource, such as "/groups/:id/badges"
	noun  string // group or project
}

// onPlaces mounts a resource below groups and below projects. The function returns its endpoints on either.
func (s *Server) onPlaces(resource string, routes func(m mount) []*api.Route) []*api.Route {
	return slices.Concat(routes(s.below("group", resource)), routes(s.below("project", resource)))
}

// onPlanningPlaces is onPlaces for resources whose endpoints of projects come first in the documentation.
func (s *Server) onPlanningPlaces(resource string, routes func(m mount) []*api.Route) []*api.Route {
	return slices.Concat(routes(s.below("project", resource)), routes(s.below("group", resource)))
}

// below is the mount of a resource below the groups or the projects.
func (s *Server) below(noun, resource string) mount {
	return mount{s, noun == "group", "/" + noun + "s/:id/" + resource, noun}
}

// ability is that of projects or that of groups.
func (m mount) ability(project, group authz.Ability) authz.Ability {
	return authz.Place{Group: m.group}.Ability(project, group)
}

// placePath names the group or project that a resource is below. The documentation has the noun of the mount.
type placePath struct {
	ID string `param:"id" doc:"ID or URL-encoded path of the {place}"`
}

// place finds the group or project that a path names.
func (m mount) place(ctx context.Context, as authz.Actor, ref string) (authz.Place, error) {
	if m.group {
		g, err := m.s.Namespaces.Find(ctx, as, ref)
		if err != nil {
			return authz.Place{}, err
		}
		return g.Place(), nil
	}
	p, err := m.s.Projects.Find(ctx, as, ref)
	if err != nil {
		return authz.Place{}, err
	}
	return p.Place(), nil
}

// placeFinder is mount.place, for handlers that need nothing else of the mount.
type placeFinder func(ctx context.Context, as authz.Actor, ref string) (authz.Place, error)

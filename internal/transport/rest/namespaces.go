package rest

import (
	"context"

	"tenon/internal/core/authz"
	"tenon/internal/core/namespace"
	"tenon/internal/transport/rest/api"
)

var _ = Resource("namespaces", (*Server).namespaceRoutes)

func (s *Server) namespaceRoutes() []*api.Route {
	return api.Scoped(nil,
		api.Get("/namespaces", s.listNamespaces).Doc("List namespaces").Needs(authz.ReadNamespace),
		api.Get("/namespaces/:id", s.getNamespace).Doc("Get a namespace").Needs(authz.ReadNamespace),
		api.Get("/namespaces/:id/exists", s.namespaceExists).Doc("Check whether a namespace exists").Needs(authz.ReadNamespace),
	)
}

type listNamespacesParams struct {
	api.Page
	Search         string `param:"search" doc:"Search in names and paths"`
	OwnedOnly      bool   `param:"owned_only" doc:"Return only those owned by the current user"`
	TopLevelOnly   bool   `param:"top_level_only" default:"false" doc:"Return only top-level namespaces"`
	FullPathSearch bool   `param:"full_path_search" default:"false" doc:"Include the full path in the search"`
}

func (s *Server) listNamespaces(ctx context.Context, as authz.Actor, p listNamespacesParams) (api.List[namespaceEntity], error) {
	list, err := s.Namespaces.Namespaces(ctx, as, namespace.NamespaceFilter{
		Search: p.Search, FullPathSearch: p.FullPathSearch, OwnedOnly: p.OwnedOnly, TopLevelOnly: p.TopLevelOnly,
		Range: p.Range(),
	})
	if err != nil {
		return api.List[namespaceEntity]{}, err
	}
	items, err := s.namespaces(ctx, as, list.Items)
	if err != nil {
		return api.List[namespaceEntity]{}, err
	}
	return api.Listed(list, items), nil
}

type getNamespaceParams struct {
	ID string `param:"id" doc:"ID or URL-encoded path of the namespace"`
}

func (s *Server) getNamespace(ctx context.Context, as authz.Actor, p getNamespaceParams) (namespaceEntity, error) {
	n, err := s.Namespaces.FindNamespace(ctx, as, p.ID)
	if err != nil {
		return namespaceEntity{}, err
	}
	items, err := s.namespaces(ctx, as, []namespace.Namespace{*n})
	if err != nil {
		return namespaceEntity{}, err
	}
	return items[0], nil
}

type namespaceExistsParams struct {
	Path     string        `param:"id" doc:"Path to check"`
	ParentID *namespace.ID `param:"parent_id" doc:"ID of the parent namespace; unset for top-level namespaces"`
}

type existence struct {
	Exists   bool     `json:"exists"`
	Suggests []string `json:"suggests"`
}

func (s *Server) namespaceExists(ctx context.Context, as authz.Actor, p namespaceExistsParams) (existence, error) {
	taken, free, err := s.Namespaces.Exists(ctx, as, p.Path, p.ParentID)
	if err != nil || !taken {
		return existence{Exists: taken}, err
	}
	return existence{Exists: true, Suggests: []string{free}}, nil
}

// namespaceEntity is a user's or group's namespace.
type namespaceEntity struct {
	projectNamespace
	*namespaceOwned // for groups of one's own
}

type namespaceOwned struct {
	Members            int64 `json:"members_count_with_descendants"`
	RootRepositorySize int64 `json:"root_repository_size"`
	Projects           int64 `json:"projects_count"`
}

func (s *Server) namespaces(ctx context.Context, as authz.Actor, list []namespace.Namespace) ([]namespaceEntity, error) {
	var people []authz.UserID
	ids := make([]namespace.ID, len(list))
	for i, n := range list {
		ids[i] = n.ID
		if n.OwnerID != nil {
			people = append(people, *n.OwnerID)
		}
	}
	owners, err := s.Accounts.ByIDs(ctx, people)
	if err != nil {
		return nil, err
	}
	counts, err := s.Namespaces.OwnCounts(ctx, as, ids)
	if err != nil {
		return nil, err
	}
	out := make([]namespaceEntity, len(list))
	for i := range list {
		out[i].projectNamespace = s.projectNamespace(&list[i], ownerOf(&list[i], owners))
		if c, ok := counts[list[i].ID]; ok {
			out[i].namespaceOwned = &namespaceOwned{Members: c.Members, RootRepositorySize: c.Size, Projects: c.Projects}
		}
	}
	return out, nil
}

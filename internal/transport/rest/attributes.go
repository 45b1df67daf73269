package rest

import (
	"context"

	"tenon/internal/core/attribute"
	"tenon/internal/core/authz"
	"tenon/internal/transport/rest/api"
)

var _ = Resource("custom_attributes", (*Server).attributeRoutes)

func (s *Server) attributeRoutes() []*api.Route {
	var routes []*api.Route
	for _, place := range []struct {
		path, thing string
		look        authz.Ability
		scopes      []authz.Scope
		owner       func(ctx context.Context, as authz.Actor, ref string) (attribute.Owner, error)
	}{
		{"/users/:id/custom_attributes", "user", authz.ReadUser, []authz.Scope{authz.ScopeReadUser}, s.attributesOfUser},
		{"/groups/:id/custom_attributes", "group", authz.ReadGroup, nil, s.attributesOfGroup},
		{"/projects/:id/custom_attributes", "project", authz.ReadProject, nil, s.attributesOfProject},
	} {
		h := attributeHandlers{s, place.owner}
		routes = append(routes, api.Scoped(place.scopes,
			api.Get(place.path, h.list).Doc("List the custom attributes of a "+place.thing).Needs(authz.ReadAttributes, place.look),
			api.Get(place.path+"/:key", h.get).Doc("Get a custom attribute of a "+place.thing).Needs(authz.ReadAttributes, place.look),
			api.Put(place.path+"/:key", h.set).Timed().Doc("Set a custom attribute of a "+place.thing).Needs(authz.AdminAttributes, place.look),
			api.Delete(place.path+"/:key", h.delete).Timed().Doc("Delete a custom attribute of a "+place.thing).Needs(authz.AdminAttributes, place.look),
		)...)
	}
	return routes
}

func (s *Server) attributesOfUser(ctx context.Context, as authz.Actor, ref string) (attribute.Owner, error) {
	id, err := userNumber(ref)
	if err != nil {
		return attribute.Owner{}, err
	}
	u, err := s.Accounts.Find(ctx, as, id)
	if err != nil {
		return attribute.Owner{}, err
	}
	return attribute.Owner{Kind: attribute.User, ID: int64(u.ID)}, nil
}

func (s *Server) attributesOfGroup(ctx context.Context, as authz.Actor, ref string) (attribute.Owner, error) {
	g, err := s.Namespaces.Find(ctx, as, ref)
	if err != nil {
		return attribute.Owner{}, err
	}
	return attribute.Owner{Kind: attribute.Group, ID: int64(g.ID)}, nil
}

func (s *Server) attributesOfProject(ctx context.Context, as authz.Actor, ref string) (attribute.Owner, error) {
	p, err := s.Projects.Find(ctx, as, ref)
	if err != nil {
		return attribute.Owner{}, err
	}
	return attribute.Owner{Kind: attribute.Project, ID: int64(p.ID)}, nil
}

// attributeEntity is one remark.
type attributeEntity struct {
	Key   string `json:"key"`
	Value string `json:"value"`
}

func attributeEntities(list []attribute.Attribute) []attributeEntity {
	out := make([]attributeEntity, len(list))
	for i, a := range list {
		out[i] = attributeEntity{a.Key, a.Value}
	}
	return out
}

type attributeHandlers struct {
	server *Server
	owner  func(ctx context.Context, as authz.Actor, ref string) (attribute.Owner, error)
}

type attributeOwner struct {
	ID string `param:"id" doc:"ID of the user, or ID or URL-encoded path of the group or project"`
}

type attributePath struct {
	attributeOwner
	Key string `param:"key" doc:"Key of the custom attribute"`
}

func (h attributeHandlers) list(ctx context.Context, as authz.Actor, p attributeOwner) ([]attributeEntity, error) {
	o, err := h.owner(ctx, as, p.ID)
	if err != nil {
		return nil, err
	}
	list, err := h.server.Attributes.List(ctx, as, o)
	if err != nil {
		return nil, err
	}
	return attributeEntities(list), nil
}

func (h attributeHandlers) get(ctx context.Context, as authz.Actor, p attributePath) (attributeEntity, error) {
	o, err := h.owner(ctx, as, p.ID)
	if err != nil {
		return attributeEntity{}, err
	}
	a, err := h.server.Attributes.Find(ctx, as, o, p.Key)
	return attributeEntity{a.Key, a.Value}, err
}

type setAttributeParams struct {
	attributePath
	Value string `param:"value,required" doc:"Value of the custom attribute"`
}

func (h attributeHandlers) set(ctx context.Context, as authz.Actor, p setAttributeParams) (attributeEntity, error) {
	o, err := h.owner(ctx, as, p.ID)
	if err != nil {
		return attributeEntity{}, err
	}
	a, err := h.server.Attributes.Set(ctx, as, o, p.Key, p.Value)
	return attributeEntity{a.Key, a.Value}, err
}

func (h attributeHandlers) delete(ctx context.Context, as authz.Actor, p attributePath) (api.None, error) {
	o, err := h.owner(ctx, as, p.ID)
	if err != nil {
		return api.None{}, err
	}
	return api.None{}, h.server.Attributes.Delete(ctx, as, o, p.Key)
}

package rest

import (
	"context"

	"tenon/internal/core/attribute"
	"tenon/internal/core/authz"
	"tenon/internal/transport/rest/api"
)

var _ = Resource("custom_attributes", (*Server).attributeRoutes)

func (s *Server) attributeRoutes() []*api.Route {
	users := attributeHandlers{s, s.attributesOfUser}
	routes := api.Scoped([]authz.Scope{authz.ScopeReadUser}, users.routes("/users/:id/custom_attributes", "user", authz.ReadUser)...)
	return append(routes, api.Scoped(nil, s.onPlaces("custom_attributes", func(m mount) []*api.Route {
		return attributeHandlers{s, m.attributesOf}.routes(m.path, m.noun, m.ability(authz.ReadProject, authz.ReadGroup))
	})...)...)
}

func (h attributeHandlers) routes(path, noun string, look authz.Ability) []*api.Route {
	return []*api.Route{
		api.Get(path, h.list).Doc("List the custom attributes of a "+noun).Needs(authz.ReadAttributes, look),
		api.Get(path+"/:key", h.get).Doc("Get a custom attribute of a "+noun).Needs(authz.ReadAttributes, look),
		api.Put(path+"/:key", h.set).Timed().Doc("Set a custom attribute of a "+noun).Needs(authz.AdminAttributes, look),
		api.Delete(path+"/:key", h.delete).Timed().Doc("Delete a custom attribute of a "+noun).Needs(authz.AdminAttributes, look),
	}
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

func (m mount) attributesOf(ctx context.Context, as authz.Actor, ref string) (attribute.Owner, error) {
	at, err := m.place(ctx, as, ref)
	if err != nil {
		return attribute.Owner{}, err
	}
	kind := attribute.Project
	if m.group {
		kind = attribute.Group
	}
	return attribute.Owner{Kind: kind, ID: at.ID}, nil
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

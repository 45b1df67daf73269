package rest

import (
	"context"

	"tenon/internal/core/authz"
	"tenon/internal/core/namespace"
	"tenon/internal/transport/rest/api"
)

var _ = Resource("access_requests", (*Server).accessRequestRoutes)

func (s *Server) accessRequestRoutes() []*api.Route {
	return api.Scoped(nil, s.onPlaces("access_requests", func(m mount) []*api.Route {
		admin, asked := m.ability(authz.AdminMembers, authz.AdminGroupMembers), m.ability(authz.RequestAccess, authz.RequestGroupAccess)
		return []*api.Route{
			api.Get(m.path, m.listRequests).Doc("List the access requests of a " + m.noun).Needs(admin),
			api.Post(m.path, m.request).Doc("Request access to a " + m.noun).Needs(asked),
			api.Put(m.path+"/:user_id/approve", m.approve).Timed().Doc("Approve an access request to a " + m.noun).
				Needs(admin).Status(201),
			api.Delete(m.path+"/:user_id", m.deny).Timed().Doc("Deny an access request to a " + m.noun).
				Needs(admin),
		}
	})...)
}

// accessRequestEntity is a user who asks for membership.
type accessRequestEntity struct {
	userBasic
	RequestedAt api.Time `json:"requested_at"`
}

func (s *Server) accessRequests(ctx context.Context, list []namespace.AccessRequest) ([]accessRequestEntity, error) {
	ids := make([]authz.UserID, len(list))
	for i, r := range list {
		ids[i] = r.UserID
	}
	users, err := s.Accounts.ByIDs(ctx, ids)
	if err != nil {
		return nil, err
	}
	out := make([]accessRequestEntity, 0, len(list))
	for _, r := range list {
		if u := users[r.UserID]; u != nil {
			out = append(out, accessRequestEntity{newUserBasic(u), api.Time(r.At.Time)})
		}
	}
	return out, nil
}

type listAccessRequestsParams struct {
	ID string `param:"id" doc:"ID or URL-encoded path"`
	api.Page
}

func (m mount) listRequests(ctx context.Context, as authz.Actor, p listAccessRequestsParams) (api.List[accessRequestEntity], error) {
	none := api.List[accessRequestEntity]{}
	at, err := m.place(ctx, as, p.ID)
	if err != nil {
		return none, err
	}
	list, err := m.s.Namespaces.Requests(ctx, as, at, p.Range())
	if err != nil {
		return none, err
	}
	items, err := m.s.accessRequests(ctx, list.Items)
	if err != nil {
		return none, err
	}
	return api.Listed(list, items), nil
}

type requestParams struct {
	ID string `param:"id" doc:"ID or URL-encoded path"`
}

func (m mount) request(ctx context.Context, as authz.Actor, p requestParams) (accessRequestEntity, error) {
	at, err := m.place(ctx, as, p.ID)
	if err != nil {
		return accessRequestEntity{}, err
	}
	made, err := m.s.Namespaces.Request(ctx, as, at)
	if err != nil {
		return accessRequestEntity{}, err
	}
	items, err := m.s.accessRequests(ctx, []namespace.AccessRequest{*made})
	if err != nil || len(items) == 0 {
		return accessRequestEntity{}, err
	}
	return items[0], nil
}

type approveParams struct {
	memberPath
	Level int `param:"access_level" default:"30" doc:"Access level"`
}

func (m mount) approve(ctx context.Context, as authz.Actor, p approveParams) (memberEntity, error) {
	at, err := m.place(ctx, as, p.ID)
	if err != nil {
		return memberEntity{}, err
	}
	made, err := m.s.Namespaces.Approve(ctx, as, at, p.UserID, authz.Level(p.Level))
	if err != nil {
		return memberEntity{}, err
	}
	return m.s.member(ctx, made, false)
}

func (m mount) deny(ctx context.Context, as authz.Actor, p memberPath) (api.None, error) {
	at, err := m.place(ctx, as, p.ID)
	if err != nil {
		return api.None{}, err
	}
	return api.None{}, m.s.Namespaces.Deny(ctx, as, at, p.UserID)
}

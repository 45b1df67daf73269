package rest

import (
	"context"
	"time"

	"tenon/internal/core/authz"
	"tenon/internal/core/broadcast"
	"tenon/internal/transport/rest/api"
)

var _ = Resource("broadcast_messages", (*Server).broadcastRoutes)

func (s *Server) broadcastRoutes() []*api.Route {
	const list, one = "/broadcast_messages", "/broadcast_messages/:id"
	return api.Scoped(nil,
		api.Get(list, s.broadcasts).Doc("List broadcast messages").Needs(authz.ReadBroadcasts).Public(),
		api.Post(list, s.createBroadcast).Doc("Create a broadcast message").Needs(authz.AdminBroadcasts),
		api.Get(one, s.broadcast).Doc("Get a broadcast message").Needs(authz.ReadBroadcasts).Public(),
		api.Put(one, s.updateBroadcast).Timed().Doc("Update a broadcast message").Needs(authz.AdminBroadcasts),
		api.Delete(one, s.deleteBroadcast).Timed().Doc("Delete a broadcast message").Needs(authz.AdminBroadcasts),
	)
}

// broadcastEntity is a message of the administrators.
type broadcastEntity struct {
	ID          broadcast.ID  `json:"id"`
	Message     string        `json:"message"`
	StartsAt    api.Time      `json:"starts_at"`
	EndsAt      api.Time      `json:"ends_at"`
	Color       string        `json:"color"`
	Font        string        `json:"font"`
	Levels      []authz.Level `json:"target_access_levels"`
	Path        string        `json:"target_path"`
	Type        string        `json:"broadcast_type"`
	Theme       string        `json:"theme"`
	Dismissable bool          `json:"dismissable"`
	Active      bool          `json:"active"`
}

func newBroadcast(m *broadcast.Message) broadcastEntity {
	return broadcastEntity{
		ID: m.ID, Message: m.Message, StartsAt: api.Time(m.StartsAt.Time), EndsAt: api.Time(m.EndsAt.Time), Color: m.Color, Font: m.Font,
		Levels: m.Levels, Path: m.Path, Type: m.Type, Theme: m.Theme, Dismissable: m.Dismissable, Active: m.Active,
	}
}

func (s *Server) broadcasts(ctx context.Context, as authz.Actor, p api.Page) (api.List[broadcastEntity], error) {
	list, err := s.Broadcasts.List(ctx, as, p.Range())
	if err != nil {
		return api.List[broadcastEntity]{}, err
	}
	return api.ListOf(list, newBroadcast), nil
}

type broadcastPath struct {
	ID broadcast.ID `param:"id" doc:"ID of the broadcast message"`
}

func (s *Server) broadcast(ctx context.Context, as authz.Actor, p broadcastPath) (broadcastEntity, error) {
	m, err := s.Broadcasts.Find(ctx, as, p.ID)
	if err != nil {
		return broadcastEntity{}, err
	}
	return newBroadcast(m), nil
}

// broadcastParams are the attributes of a message but for its text.
type broadcastParams struct {
	StartsAt    *time.Time `param:"starts_at" doc:"Time from which the message is shown; now by default"`
	EndsAt      *time.Time `param:"ends_at" doc:"Time until which the message is shown; an hour after its start by default"`
	Color       *string    `param:"color" doc:"Color of the background, such as #E75E40; pages go by the theme"`
	Font        *string    `param:"font" doc:"Color of the text, such as #FFFFFF; pages go by the theme"`
	Levels      api.Ints   `param:"target_access_levels" doc:"Show the message only to users with one of these roles in the group or project of the page: 10, 20, 30, 40 or 50"`
	Path        *string    `param:"target_path" doc:"Path of the pages that show the message, in which * stands for anything"`
	Type        *string    `param:"broadcast_type" doc:"Type of the message: banner or notification"`
	Dismissable *bool      `param:"dismissable" doc:"Let users hide the message"`
	Theme       *string    `param:"theme" doc:"Theme of the message: indigo, light-indigo, blue, light-blue, green, light-green, red, light-red, dark or light"`
}

func (p *broadcastParams) changes(message *string) broadcast.Changes {
	out := broadcast.Changes{
		Message: message, Color: p.Color, Font: p.Font, Theme: p.Theme, Path: p.Path, Type: p.Type,
		StartsAt: p.StartsAt, EndsAt: p.EndsAt, Dismissable: p.Dismissable,
	}
	if p.Levels != nil {
		out.Levels = []authz.Level{}
	}
	for _, l := range p.Levels {
		out.Levels = append(out.Levels, authz.Level(l))
	}
	return out
}

type createBroadcastParams struct {
	broadcastParams
	Message string `param:"message,required" doc:"Text of the message"`
}

func (s *Server) createBroadcast(ctx context.Context, as authz.Actor, p createBroadcastParams) (broadcastEntity, error) {
	m, err := s.Broadcasts.Create(ctx, as, p.changes(&p.Message))
	if err != nil {
		return broadcastEntity{}, err
	}
	return newBroadcast(m), nil
}

type updateBroadcastParams struct {
	broadcastPath
	broadcastParams
	Message *string `param:"message" doc:"Text of the message"`
}

func (s *Server) updateBroadcast(ctx context.Context, as authz.Actor, p updateBroadcastParams) (broadcastEntity, error) {
	m, err := s.Broadcasts.Update(ctx, as, p.ID, p.changes(p.Message))
	if err != nil {
		return broadcastEntity{}, err
	}
	return newBroadcast(m), nil
}

func (s *Server) deleteBroadcast(ctx context.Context, as authz.Actor, p broadcastPath) (api.None, error) {
	return api.None{}, s.Broadcasts.Delete(ctx, as, p.ID)
}

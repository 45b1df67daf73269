package rest

import (
	"context"

	"tenon/internal/core"
	"tenon/internal/core/authz"
	"tenon/internal/core/badge"
	"tenon/internal/core/namespace"
	"tenon/internal/core/project"
	"tenon/internal/transport/rest/api"
)

var _ = Resource("badges", (*Server).badgeRoutes)

func (s *Server) badgeRoutes() []*api.Route {
	badges := core.Part[*badge.Service](s.Services)
	return api.Scoped(nil, s.onPlaces("badges", func(m mount) []*api.Route {
		h := badgeHandlers{badges, m.place}
		read, admin := m.ability(authz.ReadProject, authz.ReadGroup), m.ability(authz.AdminProject, authz.AdminGroup)
		return []*api.Route{
			api.Get(m.path, h.list).Doc("List the badges of a " + m.noun).Needs(read).Public(),
			api.Post(m.path, h.create).Doc("Create a badge of a " + m.noun).Needs(admin),
			api.Get(m.path+"/render", h.render).Doc("Preview a badge of a " + m.noun).Needs(admin),
			api.Get(m.path+"/:badge_id", h.get).Doc("Get a badge of a " + m.noun).Needs(read).Public(),
			api.Put(m.path+"/:badge_id", h.update).Timed().Doc("Update a badge of a " + m.noun).Needs(admin),
			api.Delete(m.path+"/:badge_id", h.delete).Timed().Doc("Delete a badge of a " + m.noun).Needs(admin),
		}
	})...)
}

// badgePreview is a badge that is not stored.
type badgePreview struct {
	Name             *string `json:"name"`
	LinkURL          string  `json:"link_url"`
	ImageURL         string  `json:"image_url"`
	RenderedLinkURL  string  `json:"rendered_link_url"`
	RenderedImageURL string  `json:"rendered_image_url"`
}

type badgeEntity struct {
	badgePreview
	ID   badge.ID       `json:"id"`
	Kind namespace.Kind `json:"kind"`
}

type badgeHandlers struct {
	badges *badge.Service
	at     placeFinder
}

func (h badgeHandlers) preview(ctx context.Context, as authz.Actor, at authz.Place, b *badge.Badge) (badgePreview, error) {
	rendered, err := h.badges.Render(ctx, as, project.Of(at), b.LinkURL, b.ImageURL)
	if err != nil {
		return badgePreview{}, err
	}
	return badgePreview{b.Name, b.LinkURL, b.ImageURL, rendered[0], rendered[1]}, nil
}

func (h badgeHandlers) entity(ctx context.Context, as authz.Actor, at authz.Place, b *badge.Badge) (badgeEntity, error) {
	shown, err := h.preview(ctx, as, at, b)
	return badgeEntity{badgePreview: shown, ID: b.ID, Kind: b.Kind}, err
}

type badgePlace struct {
	ID string `param:"id" doc:"ID or URL-encoded path of the group or project"`
}

type badgePath struct {
	badgePlace
	BadgeID badge.ID `param:"badge_id" doc:"ID of the badge"`
}

type listBadgesParams struct {
	badgePlace
	api.Page
	Name string `param:"name" doc:"Name of the badge"`
}

func (h badgeHandlers) list(ctx context.Context, as authz.Actor, p listBadgesParams) (api.List[badgeEntity], error) {
	none := api.List[badgeEntity]{}
	at, err := h.at(ctx, as, p.ID)
	if err != nil {
		return none, err
	}
	list, err := h.badges.List(ctx, as, at, badge.Filter{Name: p.Name, Range: p.Range()})
	if err != nil {
		return none, err
	}
	items := make([]badgeEntity, len(list.Items))
	for i := range list.Items {
		if items[i], err = h.entity(ctx, as, at, &list.Items[i]); err != nil {
			return none, err
		}
	}
	return api.Listed(list, items), nil
}

func (h badgeHandlers) get(ctx context.Context, as authz.Actor, p badgePath) (badgeEntity, error) {
	at, err := h.at(ctx, as, p.ID)
	if err != nil {
		return badgeEntity{}, err
	}
	b, err := h.badges.Find(ctx, as, at, p.BadgeID)
	if err != nil {
		return badgeEntity{}, err
	}
	return h.entity(ctx, as, at, b)
}

type newBadge struct {
	LinkURL  string  `param:"link_url,required" doc:"URL of the badge link"`
	ImageURL string  `param:"image_url,required" doc:"URL of the badge image"`
	Name     *string `param:"name" doc:"Name of the badge"`
}

func (p newBadge) changes() badge.Changes {
	return badge.Changes{Name: p.Name, LinkURL: &p.LinkURL, ImageURL: &p.ImageURL}
}

type createBadgeParams struct {
	badgePlace
	newBadge
}

func (h badgeHandlers) create(ctx context.Context, as authz.Actor, p createBadgeParams) (badgeEntity, error) {
	at, err := h.at(ctx, as, p.ID)
	if err != nil {
		return badgeEntity{}, err
	}
	b, err := h.badges.Create(ctx, as, at, p.changes())
	if err != nil {
		return badgeEntity{}, err
	}
	return h.entity(ctx, as, at, b)
}

func (h badgeHandlers) render(ctx context.Context, as authz.Actor, p createBadgeParams) (badgePreview, error) {
	at, err := h.at(ctx, as, p.ID)
	if err != nil {
		return badgePreview{}, err
	}
	b, err := h.badges.Preview(ctx, as, at, p.changes())
	if err != nil {
		return badgePreview{}, err
	}
	return h.preview(ctx, as, at, b)
}

type updateBadgeParams struct {
	badgePath
	LinkURL  *string `param:"link_url" doc:"URL of the badge link"`
	ImageURL *string `param:"image_url" doc:"URL of the badge image"`
	Name     *string `param:"name" doc:"Name of the badge"`
}

func (h badgeHandlers) update(ctx context.Context, as authz.Actor, p updateBadgeParams) (badgeEntity, error) {
	at, err := h.at(ctx, as, p.ID)
	if err != nil {
		return badgeEntity{}, err
	}
	b, err := h.badges.Update(ctx, as, at, p.BadgeID, badge.Changes{Name: p.Name, LinkURL: p.LinkURL, ImageURL: p.ImageURL})
	if err != nil {
		return badgeEntity{}, err
	}
	return h.entity(ctx, as, at, b)
}

func (h badgeHandlers) delete(ctx context.Context, as authz.Actor, p badgePath) (api.None, error) {
	at, err := h.at(ctx, as, p.ID)
	if err != nil {
		return api.None{}, err
	}
	return api.None{}, h.badges.Delete(ctx, as, at, p.BadgeID)
}

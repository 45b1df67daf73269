package rest

import (
	"context"
	"net/http"

	"tenon/internal/core/authz"
	"tenon/internal/core/epic"
	"tenon/internal/core/filter"
	"tenon/internal/transport/rest/api"
)

var _ = Resource("epics", (*Server).relatedEpicRoutes)

func (s *Server) relatedEpicRoutes() []*api.Route {
	const path = "/groups/:id/epics/:epic_iid/related_epics"
	return api.Scoped(nil,
		api.Get("/groups/:id/related_epic_links", s.relatedEpicLinks).Doc("List the related epic links of a group").Public().Needs(authz.ReadEpic),
		api.Get(path, s.relatedEpics).Doc("List the related epics of an epic").Public().Needs(authz.ReadEpic),
		api.Post(path, s.createRelatedEpic).Doc("Create a related epic link").Needs(authz.ReadEpic, authz.LinkEpic),
		api.Delete(path+"/:related_epic_link_id", s.deleteRelatedEpic).Timed().Doc("Delete a related epic link").
			Status(http.StatusOK).Needs(authz.ReadEpic, authz.LinkEpic),
	)
}

// relatedEpic is an epic that is linked with the one that was asked about.
type relatedEpic struct {
	epicEntity
	LinkID        epic.RelatedID `json:"related_epic_link_id"`
	LinkType      epic.LinkType  `json:"link_type"`
	LinkCreatedAt api.Time       `json:"link_created_at"`
	LinkUpdatedAt api.Time       `json:"link_updated_at"`
}

// relatedEpicLink is a link between two epics.
type relatedEpicLink struct {
	ID        epic.RelatedID `json:"id"`
	CreatedAt api.Time       `json:"created_at"`
	UpdatedAt api.Time       `json:"updated_at"`
	Type      epic.LinkType  `json:"link_type"`
	Source    epicEntity     `json:"source_epic"`
	Target    epicEntity     `json:"target_epic"`
}

type listRelatedEpicLinksParams struct {
	epicsPath
	filter.Times
	api.Page
}

func (s *Server) relatedEpicLinks(ctx context.Context, as authz.Actor, in listRelatedEpicLinksParams) (api.List[relatedEpicLink], error) {
	var none api.List[relatedEpicLink]
	g, err := s.Namespaces.Find(ctx, as, in.ID)
	if err != nil {
		return none, err
	}
	list, err := s.Epics.AllRelated(ctx, as, g, epic.RelatedFilter{Times: in.Times, Range: in.Range()})
	if err != nil {
		return none, err
	}
	out, err := s.relatedLinks(ctx, as, epicView{from: g.FullPath}, list.Items...)
	return api.Listed(list, out), err
}

// relatedLinks renders links between epics.
func (s *Server) relatedLinks(ctx context.Context, as authz.Actor, v epicView, links ...epic.Related) ([]relatedEpicLink, error) {
	ends := make([]epic.Epic, 0, 2*len(links))
	for _, l := range links {
		ends = append(ends, *l.Source, *l.Target)
	}
	epics, err := s.epicEntities(ctx, as, v, ends...)
	if err != nil {
		return nil, err
	}
	out := make([]relatedEpicLink, len(links))
	for i, l := range links {
		out[i] = relatedEpicLink{
			ID: l.ID, CreatedAt: api.Time(l.CreatedAt), UpdatedAt: api.Time(l.UpdatedAt), Type: l.Type, Source: epics[2*i], Target: epics[2*i+1],
		}
	}
	return out, nil
}

func (s *Server) relatedEpics(ctx context.Context, as authz.Actor, in epicPath) ([]relatedEpic, error) {
	g, err := s.Namespaces.Find(ctx, as, in.ID)
	if err != nil {
		return nil, err
	}
	links, err := s.Epics.Related(ctx, as, g, in.IID)
	if err != nil {
		return nil, err
	}
	others := make([]epic.Epic, len(links))
	for i, l := range links {
		others[i] = *l.Target
	}
	epics, err := s.epicEntities(ctx, as, epicView{from: g.FullPath}, others...)
	if err != nil {
		return nil, err
	}
	out := make([]relatedEpic, len(links))
	for i, l := range links {
		out[i] = relatedEpic{
			epicEntity: epics[i], LinkID: l.ID, LinkType: l.Type, LinkCreatedAt: api.Time(l.CreatedAt), LinkUpdatedAt: api.Time(l.UpdatedAt),
		}
	}
	return out, nil
}

// oneRelated renders a link that its caller has just written.
func (s *Server) oneRelated(ctx context.Context, as authz.Actor, from string, l *epic.Related, err error) (relatedEpicLink, error) {
	if err != nil {
		return relatedEpicLink{}, err
	}
	out, err := s.relatedLinks(ctx, as, epicView{from: from}, *l)
	if err != nil {
		return relatedEpicLink{}, err
	}
	return out[0], nil
}

type createRelatedEpicParams struct {
	epicPath
	TargetGroup string        `param:"target_group_id,required" doc:"ID or URL-encoded path of the group of the other epic"`
	TargetIID   epic.IID      `param:"target_epic_iid,required" doc:"Internal ID of the other epic"`
	Type        epic.LinkType `param:"link_type" values:"relates_to,blocks,is_blocked_by" default:"relates_to" doc:"relates_to, blocks or is_blocked_by"`
}

func (s *Server) createRelatedEpic(ctx context.Context, as authz.Actor, in createRelatedEpicParams) (relatedEpicLink, error) {
	g, err := s.Namespaces.Find(ctx, as, in.ID)
	if err != nil {
		return relatedEpicLink{}, err
	}
	l, err := s.Epics.Relate(ctx, as, g, in.IID, epic.Other{Group: in.TargetGroup, IID: in.TargetIID}, in.Type)
	return s.oneRelated(ctx, as, g.FullPath, l, err)
}

type relatedEpicPath struct {
	epicPath
	Link epic.RelatedID `param:"related_epic_link_id,required" doc:"ID of the related epic link"`
}

func (s *Server) deleteRelatedEpic(ctx context.Context, as authz.Actor, in relatedEpicPath) (relatedEpicLink, error) {
	g, err := s.Namespaces.Find(ctx, as, in.ID)
	if err != nil {
		return relatedEpicLink{}, err
	}
	l, err := s.Epics.Unrelate(ctx, as, g, in.IID, in.Link)
	return s.oneRelated(ctx, as, g.FullPath, l, err)
}

package rest

import (
	"context"
	"net/http"
	"time"

	"tenon/internal/core/audit"
	"tenon/internal/core/authz"
	"tenon/internal/transport/rest/api"
)

var _ = Resource("audit_events", (*Server).auditRoutes)

func (s *Server) auditRoutes() []*api.Route {
	routes := []*api.Route{
		api.Get("/audit_events", s.auditEvents).Doc("List the audit events of the instance").Needs(authz.ReadAuditEvents),
		api.Get("/audit_events/verify", s.verifyAudit).Doc("Verify the audit events of the instance").Needs(authz.ReadAuditEvents),
		api.Get("/audit_events/:id", s.auditEvent).Doc("Get an audit event of the instance").Needs(authz.ReadAuditEvents),
	}
	routes = append(routes, s.onPlaces("audit_events", func(m mount) []*api.Route {
		h := auditHandlers{s, m.place}
		list, read := m.ability(authz.ListProjectAuditEvents, authz.ListGroupAuditEvents), m.ability(authz.ReadProjectAuditEvents, authz.ReadGroupAuditEvents)
		return []*api.Route{
			api.Get(m.path, h.list).Doc("List the audit events of a " + m.noun).Needs(list),
			api.Get(m.path+"/:audit_event_id", h.get).Doc("Get an audit event of a " + m.noun).Needs(read),
		}
	})...)
	return api.Scoped(nil, routes...)
}

// auditEntity is an audit event.
type auditEntity struct {
	ID         audit.ID       `json:"id"`
	AuthorID   int64          `json:"author_id"`
	EntityID   int64          `json:"entity_id"`
	EntityType string         `json:"entity_type"`
	EventName  string         `json:"event_name"`
	Details    map[string]any `json:"details"`
	CreatedAt  api.Time       `json:"created_at"`
}

func newAuditEntity(e *audit.Event) (auditEntity, error) {
	v, err := e.View()
	return auditEntity{v.ID, v.AuthorID, v.EntityID, v.EntityType, v.EventName, v.Details, api.Time(v.CreatedAt)}, err
}

// auditReport says whether audit events are as they were written.
type auditReport struct {
	Valid       bool          `json:"valid"`
	SealedUpTo  *auditSeal    `json:"sealed_up_to"`
	FirstBroken *audit.Broken `json:"first_broken"`
}

type auditSeal struct {
	ID        audit.ID `json:"id"`
	CreatedAt api.Time `json:"created_at"`
	Seal      string   `json:"seal"`
}

func (s *Server) verifyAudit(ctx context.Context, as authz.Actor, _ struct{}) (auditReport, error) {
	r, err := s.Audit.Verify(ctx, as, "", nil)
	if err != nil {
		return auditReport{}, err
	}
	out := auditReport{Valid: r.Valid, FirstBroken: r.FirstBroken}
	if up := r.SealedUpTo; up != nil {
		out.SealedUpTo = &auditSeal{up.ID, api.Time(up.CreatedAt), up.Seal}
	}
	return out, nil
}

// auditTimes selects the audit events of a list.
type auditTimes struct {
	api.Page
	CreatedAfter  *time.Time `param:"created_after" doc:"Return audit events created at or after this time"`
	CreatedBefore *time.Time `param:"created_before" doc:"Return audit events created at or before this time"`
	OrderBy       string     `param:"order_by" default:"id" doc:"Column to order by, with pagination=keyset: id"`
	Sort          string     `param:"sort" default:"desc" doc:"Direction of the order, with pagination=keyset: desc"`
}

func (p *auditTimes) filter() (audit.Filter, error) {
	if p.Keyset() && (p.OrderBy != "id" || p.Sort != "desc") {
		return audit.Filter{}, api.NoKeyset()
	}
	return audit.Filter{CreatedAfter: p.CreatedAfter, CreatedBefore: p.CreatedBefore, Range: p.Range()}, nil
}

type listAuditParams struct {
	auditTimes
	EntityType string `param:"entity_type" values:"User,Group,Project" doc:"Return audit events of this type of entity: User, Group or Project"`
	EntityID   *int64 `param:"entity_id" doc:"Return audit events of this entity; requires entity_type"`
}

func (s *Server) auditEvents(ctx context.Context, as authz.Actor, p listAuditParams) (api.List[auditEntity], error) {
	f, err := p.filter()
	if err == nil && p.EntityID != nil && p.EntityType == "" {
		err = &api.Refusal{Status: http.StatusBadRequest, Text: "entity_type is missing"}
	}
	if err != nil {
		return api.List[auditEntity]{}, err
	}
	f.EntityType, f.EntityID = p.EntityType, p.EntityID
	return s.auditList(ctx, as, authz.Place{}, f)
}

func (s *Server) auditList(ctx context.Context, as authz.Actor, at authz.Place, f audit.Filter) (api.List[auditEntity], error) {
	none := api.List[auditEntity]{}
	found, err := s.Audit.List(ctx, as, at, f)
	if err != nil {
		return none, err
	}
	items := make([]auditEntity, len(found.Items))
	for i := range found.Items {
		if items[i], err = newAuditEntity(&found.Items[i]); err != nil {
			return none, err
		}
	}
	return api.Listed(found, items), nil
}

type auditPath struct {
	ID audit.ID `param:"id" doc:"ID of the audit event"`
}

func (s *Server) auditEvent(ctx context.Context, as authz.Actor, p auditPath) (auditEntity, error) {
	e, err := s.Audit.Find(ctx, as, authz.Place{}, p.ID)
	if err != nil {
		return auditEntity{}, err
	}
	return newAuditEntity(e)
}

// auditHandlers are the endpoints of groups or of projects.
type auditHandlers struct {
	server *Server
	at     placeFinder
}

type auditPlace struct {
	ID string `param:"id" doc:"ID or URL-encoded path of the group or project"`
}

type listPlaceAuditParams struct {
	auditPlace
	auditTimes
}

func (h auditHandlers) list(ctx context.Context, as authz.Actor, p listPlaceAuditParams) (api.List[auditEntity], error) {
	f, err := p.filter()
	if err != nil {
		return api.List[auditEntity]{}, err
	}
	at, err := h.at(ctx, as, p.ID)
	if err != nil {
		return api.List[auditEntity]{}, err
	}
	return h.server.auditList(ctx, as, at, f)
}

type placeAuditPath struct {
	auditPlace
	EventID audit.ID `param:"audit_event_id" doc:"ID of the audit event"`
}

func (h auditHandlers) get(ctx context.Context, as authz.Actor, p placeAuditPath) (auditEntity, error) {
	at, err := h.at(ctx, as, p.ID)
	if err != nil {
		return auditEntity{}, err
	}
	e, err := h.server.Audit.Find(ctx, as, at, p.EventID)
	if err != nil {
		return auditEntity{}, err
	}
	return newAuditEntity(e)
}

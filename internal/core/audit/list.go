package audit

import (
	"context"
	"errors"
	"fmt"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/base/page"
	"tenon/internal/core/authz"
)

// List returns audit events, the newest first: of the instance those of every user, group and project, of a group
// or project its own. Members who may not read all events of their place see what they did themselves. The newest is the one with the
// largest id, or, with a filter by time, the latest: events that are long past are then found without reading those since.
func (s *Service) List(ctx context.Context, as authz.Actor, at authz.Place, f Filter) (page.Page[Event], error) {
	none := page.None[Event](f.Range)
	if err := s.Policy.Require(ctx, as, listing.of(at), at.Subject.Reading()); err != nil {
		return none, err
	}
	w := s.where(as, at)
	if !at.IsInstance() {
		all, err := s.Policy.Can(ctx, as, reading.of(at), at.Subject.Reading())
		if err != nil {
			return none, err
		}
		if !all {
			w.And("e.author_id = ?", as.UserID)
		}
	}
	order, timed := page.Order{page.ID("e.id")}, f.CreatedAfter != nil || f.CreatedBefore != nil
	if timed {
		order = page.Order{page.Time("created_at", "e.created_at"), page.ID("e.id")}
	}
	var candidates []page.Candidates
	switch {
	case f.EntityID != nil:
		w.And("e.entity_type = ? AND e.entity_id = ?", f.EntityType, *f.EntityID)
	case f.EntityType != "" && timed:
		w.And("e.entity_type = ?", f.EntityType)
	case f.EntityType != "":
		// Events of a type are few, or near each other in the order of ids: sorting all of many is what takes long.
		w.And("e.entity_type || '' = ?", f.EntityType)
		candidates = []page.Candidates{{SQL: "SELECT a.id FROM audit_events a WHERE a.entity_type = ?", Args: []any{f.EntityType}}}
	}
	w.Since("e.created_at", f.CreatedAfter)
	w.Until("e.created_at", f.CreatedBefore)
	list, err := page.Select[Event](ctx, s.DB, page.Query{
		Columns: columns, From: "audit_events e", Where: w, Order: order.Desc(), Key: "e.id", Narrow: "audit_events e",
		Candidates: candidates,
	}, f.Range)
	if err != nil {
		return none, fmt.Errorf("list audit events: %w", err)
	}
	return list, nil
}

// Find returns one of the audit events that List has for who may read all of them.
func (s *Service) Find(ctx context.Context, as authz.Actor, at authz.Place, id ID) (*Event, error) {
	if err := s.Policy.Require(ctx, as, reading.of(at), at.Subject.Reading()); err != nil {
		return nil, err
	}
	w := s.where(as, at)
	w.And("e.id = ?", id)
	e, err := db.Get[Event](ctx, s.DB, "SELECT "+columns+" FROM audit_events e"+w.SQL(), w.Args()...)
	if errors.Is(err, db.ErrNotFound) {
		return nil, errs.Missing("")
	}
	if err != nil {
		return nil, fmt.Errorf("find audit event: %w", err)
	}
	return &e, nil
}

// abilities are those of the instance, a group and a project.
type abilities struct{ instance, group, project authz.Ability }

var (
	listing = abilities{authz.ReadAuditEvents, authz.ListGroupAuditEvents, authz.ListProjectAuditEvents}
	reading = abilities{authz.ReadAuditEvents, authz.ReadGroupAuditEvents, authz.ReadProjectAuditEvents}
)

func (a abilities) of(at authz.Place) authz.Ability {
	if at.IsInstance() {
		return a.instance
	}
	return at.Ability(a.project, a.group)
}

// where selects the events of a place; of the instance those whose group or project the actor's address reaches.
func (s *Service) where(as authz.Actor, at authz.Place) db.Where {
	var w db.Where
	if at.IsInstance() {
		s.Policy.Within(as, "CASE e.entity_type WHEN '"+Group+"' THEN e.entity_id WHEN '"+Project+
			"' THEN (SELECT p.namespace_id FROM projects p WHERE p.id = e.entity_id) END", &w)
	} else {
		w.And("e.entity_type = ? AND e.entity_id = ?", kindOf(at), at.ID)
	}
	return w
}

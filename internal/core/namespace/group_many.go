package namespace

import (
	"context"
	"fmt"

	"tenon/internal/base/db"
	"tenon/internal/core/authz"
)

// ByIDs returns those of the groups with these ids that the actor may read, with the actor's
// level in each, in one statement.
func (s *Service) ByIDs(ctx context.Context, as authz.Actor, ids []ID) (map[ID]*Group, error) {
	out := make(map[ID]*Group, len(ids))
	if len(ids) == 0 {
		return out, nil
	}
	level, args := s.Policy.LevelSQL(as, "n.id")
	var w db.Where
	w.In("n.id", ids)
	list, err := db.Select[Group](ctx, s.DB, "SELECT "+groupColumns+", "+level+" AS actor_level"+groupFrom+w.SQL(), append(args, w.Args()...)...)
	if err != nil {
		return nil, fmt.Errorf("groups by id: %w", err)
	}
	for i := range list {
		g := &list[i]
		g.LevelKnown = true
		may, err := s.Policy.Can(ctx, as, authz.ReadGroup, g.Subject())
		if err != nil {
			return nil, fmt.Errorf("groups by id: %w", err)
		}
		if may {
			out[g.ID] = g
		}
	}
	return out, nil
}

// PlacesByIDs returns those of the namespaces with these ids that the actor sees, in one
// statement: groups and projects that it may read, and all personal namespaces.
func (s *Service) PlacesByIDs(ctx context.Context, as authz.Actor, ids []ID) (map[ID]*Namespace, error) {
	out := make(map[ID]*Namespace, len(ids))
	if len(ids) == 0 {
		return out, nil
	}
	seen, args := s.Policy.VisiblePlacesSQL(as, "n")
	var w db.Where
	w.In("n.id", ids)
	w.And("(n.kind = 'user' OR "+seen+")", args...)
	rows, err := db.Select[Namespace](ctx, s.DB, "SELECT "+namespaceColumns+" FROM "+namespaceTables+w.SQL(), w.Args()...)
	if err != nil {
		return nil, fmt.Errorf("places by id: %w", err)
	}
	for i := range rows {
		out[rows[i].ID] = &rows[i]
	}
	return out, nil
}

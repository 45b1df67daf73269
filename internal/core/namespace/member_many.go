package namespace

import (
	"context"
	"fmt"

	"tenon/internal/base/db"
	"tenon/internal/core/authz"
)

// MembersByIDs returns those of the memberships with these ids that the actor may read, in
// one statement: those of projects and groups that it sees. Memberships that have ended are
// left out.
func (s *Service) MembersByIDs(ctx context.Context, as authz.Actor, ids []int64) (map[int64]*Member, error) {
	out := make(map[int64]*Member, len(ids))
	list, err := s.someMembers(ctx, as, "m.id", ids, 0)
	for i := range list {
		out[list[i].ID] = &list[i]
	}
	return out, err
}

// MembersOf returns the direct members of those of the places that the actor may see, by
// user id, in one statement; at most limit of each place, 0 for all.
func (s *Service) MembersOf(ctx context.Context, as authz.Actor, places []ID, limit int) (map[ID][]Member, error) {
	out := make(map[ID][]Member, len(places))
	list, err := s.someMembers(ctx, as, "m.namespace_id", places, limit)
	for _, m := range list {
		out[m.NamespaceID] = append(out[m.NamespaceID], m)
	}
	return out, err
}

// someMembers reads memberships of visible places by a column; of each place only the first
// by user id where limit is not 0.
func (s *Service) someMembers(ctx context.Context, as authz.Actor, column string, ids any, limit int) ([]Member, error) {
	for _, ability := range []authz.Ability{authz.ReadMembers, authz.ReadGroupMembers} {
		if may, err := s.policy.Can(ctx, as, ability, authz.Subject{}); err != nil || !may {
			return nil, err
		}
	}
	var w db.Where
	w.In(column, ids)
	w.And("(m.expires_on IS NULL OR m.expires_on > ?)", s.today())
	place, args := s.policy.VisiblePlacesSQL(as, "n")
	w.And(place, args...)
	query := `SELECT z.id, z.namespace_id, z.user_id, z.access_level, z.expires_on, z.created_by_id, z.created_at, z.updated_at,
			0 AS depth, z.bot FROM (
		SELECT m.id, m.namespace_id, m.user_id, m.access_level, m.expires_on, m.created_by_id, m.created_at, m.updated_at,
			u.user_type = 'bot' AS bot, ROW_NUMBER() OVER (PARTITION BY m.namespace_id ORDER BY m.user_id) AS rank
		FROM members m JOIN users u ON u.id = m.user_id JOIN namespaces n ON n.id = m.namespace_id` + w.SQL() + `) z`
	args = w.Args()
	if limit > 0 {
		query, args = query+" WHERE z.rank <= ?", append(args, limit)
	}
	list, err := db.Select[Member](ctx, s.db, query+" ORDER BY z.namespace_id, z.user_id", args...)
	if err != nil {
		return nil, fmt.Errorf("members of places: %w", err)
	}
	return list, nil
}

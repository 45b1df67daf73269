package namespace

import (
	"context"
	"fmt"

	"tenon/internal/base/db"
	"tenon/internal/base/page"
	"tenon/internal/core/authz"
)

// PersonalOf returns the personal namespaces of users, in one statement: the actor's own, and all
// for administrators.
func (s *Service) PersonalOf(ctx context.Context, as authz.Actor, users []authz.UserID) (map[authz.UserID]*Namespace, error) {
	out := map[authz.UserID]*Namespace{}
	users = own(as, users)
	if len(users) == 0 {
		return out, nil
	}
	var w db.Where
	w.Raw("n.kind = 'user'")
	w.In("u.id", users)
	rows, err := db.Select[Namespace](ctx, s.DB, "SELECT "+namespaceColumns+" FROM "+namespaceTables+w.SQL(), w.Args()...)
	if err != nil {
		return nil, fmt.Errorf("personal namespaces: %w", err)
	}
	for i := range rows {
		out[*rows[i].OwnerID] = &rows[i]
	}
	return out, nil
}

// GroupCounts says in how many groups users are direct members, in one statement: the actor, and
// all for administrators. Users in no group are there with 0.
func (s *Service) GroupCounts(ctx context.Context, as authz.Actor, users []authz.UserID) (map[authz.UserID]int64, error) {
	out := map[authz.UserID]int64{}
	users = own(as, users)
	if len(users) == 0 {
		return out, nil
	}
	for _, id := range users {
		out[id] = 0
	}
	type count struct {
		User   authz.UserID `db:"user_id"`
		Groups int64        `db:"number"`
	}
	var w db.Where
	w.In("m.user_id", users)
	w.And("(m.expires_on IS NULL OR m.expires_on > ?)", s.today())
	rows, err := db.Select[count](ctx, s.DB, `SELECT m.user_id, COUNT(*) AS number FROM members m
		JOIN namespaces n ON n.id = m.namespace_id AND n.kind = 'group'`+w.SQL()+" GROUP BY m.user_id", w.Args()...)
	if err != nil {
		return nil, fmt.Errorf("count groups of users: %w", err)
	}
	for _, c := range rows {
		out[c.User] = c.Groups
	}
	return out, nil
}

// own are the users whose private things the actor may see.
func own(as authz.Actor, users []authz.UserID) []authz.UserID {
	if as.Admin {
		return users
	}
	for _, id := range users {
		if as.Is(id) {
			return []authz.UserID{id}
		}
	}
	return nil
}

// MembersOfUser lists the direct memberships of a user in places of one kind that the actor sees,
// by the number of the place. Private profiles show them to their user and to administrators.
func (s *Service) MembersOfUser(ctx context.Context, as authz.Actor, user authz.UserID, kind Kind, r page.Range) (page.Page[Member], error) {
	ability := readAbility(authz.Place{Group: kind == GroupKind})
	if err := s.Policy.Require(ctx, as, ability, authz.Subject{}); err != nil {
		return page.Page[Member]{}, err
	}
	var w db.Where
	w.And("m.user_id = ?", user)
	w.And("n.kind = ?", kind)
	w.And("(m.expires_on IS NULL OR m.expires_on > ?)", s.today())
	if s.Settings.Current().MakeProfilePrivate && len(own(as, []authz.UserID{user})) == 0 {
		w.Raw("NOT u.private_profile")
	}
	seen, args := s.Policy.VisiblePlacesSQL(as, "n")
	w.And(seen, args...)
	list, err := page.Select[Member](ctx, s.DB, page.Query{
		Columns: memberColumns + ", 0 AS depth, u.user_type = 'bot' AS bot",
		From:    "members m JOIN users u ON u.id = m.user_id JOIN namespaces n ON n.id = m.namespace_id", Where: w,
		Order: page.Order{page.ID("m.namespace_id")},
	}, r)
	if err != nil {
		return list, fmt.Errorf("list memberships of user: %w", err)
	}
	return list, nil
}

// RootSizes measures those of the groups and personal namespaces with these ids that are in no
// group: all for administrators, and the actor's own personal namespace. Sums over groups count
// projects that their members do not see.
func (s *Service) RootSizes(ctx context.Context, as authz.Actor, ids []ID) (map[ID]Sizes, error) {
	found, err := s.Load(ctx, ids)
	if err != nil {
		return nil, err
	}
	var roots []ID
	for id, n := range found {
		mine := n.Kind == UserKind && as.Owns(n.OwnerID)
		if n.ParentID == nil && n.Kind != ProjectKind && (as.Admin || mine) {
			roots = append(roots, id)
		}
	}
	return s.Sizes(ctx, roots)
}

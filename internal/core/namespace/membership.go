package namespace

import (
	"context"
	"fmt"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/core/authz"
)

// Membership is a group or project that somebody is a direct member of.
type Membership struct {
	SourceID   int64       `db:"source_id"` // of the group or project
	SourceName string      `db:"source_name"`
	Group      bool        `db:"is_group"`
	Level      authz.Level `db:"access_level"`
}

// MembershipFilter selects memberships; the zero value selects all.
type MembershipFilter struct {
	Kind          Kind // GroupKind or ProjectKind; "" is both
	Limit, Offset int
}

// Memberships gives what a user is a direct member of, groups first; the owner of personal
// projects is a member of them. Only administrators may.
func (s *Service) Memberships(ctx context.Context, as authz.Actor, user authz.UserID, f MembershipFilter) (list []Membership, total int, err error) {
	if err := s.policy.Require(ctx, as, authz.ReadMemberships, authz.Subject{}); err != nil {
		return nil, 0, err
	}
	known, err := db.Get[bool](ctx, s.db, "SELECT EXISTS (SELECT 1 FROM users WHERE id = ?)", user)
	switch {
	case err != nil:
		return nil, 0, fmt.Errorf("look for user: %w", err)
	case !known:
		return nil, 0, errs.Missing("User")
	}
	var w db.Where
	if f.Kind != "" {
		w.And("x.is_group = ?", f.Kind == GroupKind)
	}
	day := s.today()
	from := ` FROM (
		SELECT n.id AS source_id, n.name AS source_name, true AS is_group, m.access_level
			FROM members m JOIN namespaces n ON n.id = m.namespace_id AND n.kind = 'group'
			WHERE m.user_id = ? AND (m.expires_on IS NULL OR m.expires_on > ?)
		UNION ALL
		SELECT p.id, p.name, false, m.access_level FROM members m JOIN projects p ON p.namespace_id = m.namespace_id AND NOT p.pending_delete
			WHERE m.user_id = ? AND (m.expires_on IS NULL OR m.expires_on > ?)
		UNION ALL
		SELECT p.id, p.name, false, ? FROM users u JOIN projects p ON p.parent_id = u.namespace_id AND NOT p.pending_delete WHERE u.id = ?
	) x` + w.SQL()
	args := append([]any{user, day, user, day, int64(authz.Owner), user}, w.Args()...)
	if total, err = db.Get[int](ctx, s.db, "SELECT COUNT(*)"+from, args...); err != nil {
		return nil, 0, fmt.Errorf("count memberships: %w", err)
	}
	list, err = db.Select[Membership](ctx, s.db, "SELECT x.source_id, x.source_name, x.is_group, x.access_level"+from+
		" ORDER BY x.is_group DESC, x.source_id LIMIT ? OFFSET ?", append(args, f.Limit, f.Offset)...)
	if err != nil {
		return nil, 0, fmt.Errorf("list memberships: %w", err)
	}
	return list, total, nil
}

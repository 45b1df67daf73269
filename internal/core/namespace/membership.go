package namespace

import (
	"context"
	"fmt"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/base/page"
	"tenon/internal/core/authz"
)

// Membership is a group or project that a user is a direct member of.
type Membership struct {
	SourceID   int64       `db:"source_id"` // of the group or project
	SourceName string      `db:"source_name"`
	Group      bool        `db:"is_group"`
	Level      authz.Level `db:"access_level"`
}

// MembershipFilter selects memberships; the zero value selects all.
type MembershipFilter struct {
	Kind Kind // GroupKind or ProjectKind; "" is both
	page.Range
}

// Memberships returns what a user is a direct member of, groups first; the owner of personal
// projects is a member of them. Only administrators may.
func (s *Service) Memberships(ctx context.Context, as authz.Actor, user authz.UserID, f MembershipFilter) (page.Page[Membership], error) {
	none := page.Page[Membership]{}
	if err := s.Policy.Require(ctx, as, authz.ReadMemberships, authz.Subject{}); err != nil {
		return none, err
	}
	known, err := db.Get[bool](ctx, s.DB, "SELECT EXISTS (SELECT 1 FROM users WHERE id = ?)", user)
	switch {
	case err != nil:
		return none, fmt.Errorf("look for user: %w", err)
	case !known:
		return none, errs.Missing("User")
	}
	var w db.Where
	if f.Kind != "" {
		w.And("x.is_group = ?", f.Kind == GroupKind)
	}
	day := s.today()
	from := `(
		SELECT n.id AS source_id, n.name AS source_name, true AS is_group, m.access_level
			FROM members m JOIN namespaces n ON n.id = m.namespace_id AND n.kind = 'group'
			WHERE m.user_id = ? AND (m.expires_on IS NULL OR m.expires_on > ?)
		UNION ALL
		SELECT p.id, p.name, false, m.access_level FROM members m JOIN projects p ON p.namespace_id = m.namespace_id AND NOT p.pending_delete
			WHERE m.user_id = ? AND (m.expires_on IS NULL OR m.expires_on > ?)
		UNION ALL
		SELECT p.id, p.name, false, ? FROM users u JOIN projects p ON p.parent_id = u.namespace_id AND NOT p.pending_delete WHERE u.id = ?
	) x`
	list, err := page.Select[Membership](ctx, s.DB, page.Query{
		Columns: "x.source_id, x.source_name, x.is_group, x.access_level", From: from,
		FromArgs: []any{user, day, user, day, int64(authz.Owner), user}, Where: w,
		Order: page.Order{page.Bool("is_group", "x.is_group").Desc(), page.ID("x.source_id")},
	}, f.Range)
	if err != nil {
		return none, fmt.Errorf("list memberships: %w", err)
	}
	return list, nil
}

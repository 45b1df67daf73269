package namespace

import (
	"context"
	"fmt"

	"tenon/internal/base/db"
	"tenon/internal/core/account"
	"tenon/internal/core/authz"
)

// SoleOwned returns the groups that a user owns directly and no other user does, there or in
// what they are in, outermost first. Bots do not count.
func (s *Service) SoleOwned(ctx context.Context, user authz.UserID) ([]ID, error) {
	ids, err := db.Select[ID](ctx, s.DB, `SELECT m.namespace_id FROM members m
		JOIN namespaces n ON n.id = m.namespace_id AND n.kind = 'group'
		WHERE m.user_id = ? AND m.access_level >= ? AND NOT EXISTS (SELECT 1 FROM namespace_ancestors a
			JOIN members o ON o.namespace_id = a.ancestor_id AND o.user_id <> m.user_id AND o.access_level >= ?
			JOIN users u ON u.id = o.user_id AND u.user_type = 'human'
			WHERE a.namespace_id = m.namespace_id AND (o.expires_on IS NULL OR o.expires_on > ?))
		ORDER BY (SELECT MAX(a.depth) FROM namespace_ancestors a WHERE a.namespace_id = m.namespace_id), m.namespace_id`,
		user, authz.Owner, authz.Owner, s.today())
	if err != nil {
		return nil, fmt.Errorf("groups of a sole owner: %w", err)
	}
	return ids, nil
}

// Indispensable reports whether a group would be without a lasting owner if the user went.
// It locks the groups that the user owns directly, in the transaction of ctx, so that two
// owners cannot go at once.
func (s *Service) Indispensable(ctx context.Context, user authz.UserID) (bool, error) {
	groups, err := db.Select[ID](ctx, s.DB, `SELECT n.id FROM namespaces n WHERE n.kind = 'group'
		AND n.id IN (SELECT m.namespace_id FROM members m WHERE m.user_id = ? AND m.access_level >= ?) ORDER BY n.id`+s.DB.Dialect().ForUpdate(),
		user, authz.Owner)
	if err != nil {
		return false, fmt.Errorf("lock groups of an owner: %w", err)
	}
	var w db.Where
	w.In("g.id", groups)
	w.And(`NOT EXISTS (SELECT 1 FROM namespace_ancestors a JOIN members m ON m.namespace_id = a.ancestor_id
		JOIN users u ON u.id = m.user_id WHERE a.namespace_id = g.id AND m.user_id <> ? AND `+lastingOwner+")", user, authz.Owner)
	bereft, err := db.Get[bool](ctx, s.DB, "SELECT EXISTS (SELECT 1 FROM namespaces g"+w.SQL()+")", w.Args()...)
	if err != nil {
		return false, fmt.Errorf("groups without another owner: %w", err)
	}
	return bereft, nil
}

// Depart is the account.Executor of groups: who made them is forgotten.
func (s *Service) Depart(ctx context.Context, e account.Estate) (bool, error) {
	n, err := s.DB.Exec(ctx, `UPDATE groups SET creator_id = NULL WHERE namespace_id IN
		(SELECT namespace_id FROM groups WHERE creator_id = ? ORDER BY namespace_id LIMIT ?)`, e.UserID, account.Batch)
	if err != nil {
		return false, fmt.Errorf("forget who made groups: %w", err)
	}
	return n == account.Batch, nil
}

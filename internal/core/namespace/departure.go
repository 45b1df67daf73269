package namespace

import (
	"context"
	"fmt"

	"tenon/internal/base/db"
	"tenon/internal/core/account"
	"tenon/internal/core/authz"
)

// SoleOwned gives the groups that a user owns directly and nobody else does, there or in
// what they stand in, outermost first. Bots do not count.
func (s *Service) SoleOwned(ctx context.Context, user authz.UserID) ([]ID, error) {
	ids, err := db.Select[ID](ctx, s.db, `SELECT m.namespace_id FROM members m
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

// Depart is the account.Executor of groups: who made them is forgotten.
func (s *Service) Depart(ctx context.Context, e account.Estate) (bool, error) {
	n, err := s.db.Exec(ctx, `UPDATE groups SET creator_id = NULL WHERE namespace_id IN
		(SELECT namespace_id FROM groups WHERE creator_id = ? ORDER BY namespace_id LIMIT ?)`, e.UserID, account.Batch)
	if err != nil {
		return false, fmt.Errorf("forget who made groups: %w", err)
	}
	return n == account.Batch, nil
}

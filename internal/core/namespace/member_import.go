package namespace

import (
	"context"
	"fmt"
	"slices"

	"tenon/internal/base/db"
	"tenon/internal/core/authz"
)

// importPiece is how many members one transaction imports. A call that was interrupted can be repeated:
// it skips users who are members already.
const importPiece = 50

// ImportMembers makes the direct members of one project members of another. No user
// gets a higher role than the actor has there; roles that the actor may not give, bots,
// those who are members already, and those that a group above does not allow, are left out.
func (s *Service) ImportMembers(ctx context.Context, as authz.Actor, into, from authz.Place) error {
	if err := s.Policy.Require(ctx, as, adminAbility(into), into.Subject); err != nil {
		return err
	}
	if err := s.Policy.Require(ctx, as, readAbility(from), from.Subject); err != nil {
		return err
	}
	if err := s.mayInvite(as); err != nil {
		return err
	}
	own, err := s.Policy.Level(ctx, as, into.Subject)
	if err != nil {
		return err
	}
	rules, err := s.admission(ctx, into)
	if err == nil {
		err = rules.open()
	}
	if err != nil {
		return err
	}
	list, err := db.Select[Member](ctx, s.DB, `SELECT m.namespace_id, m.user_id, m.access_level, m.expires_on, m.created_by_id, m.created_at,
		0 AS depth, false AS bot FROM members m JOIN users u ON u.id = m.user_id
		WHERE m.namespace_id = ? AND u.user_type = 'human' AND (m.expires_on IS NULL OR m.expires_on > ?)
			AND NOT EXISTS (SELECT 1 FROM members o WHERE o.namespace_id = ? AND o.user_id = m.user_id)
		ORDER BY m.id`, from.Namespace, s.today(), into.Namespace)
	if err != nil {
		return fmt.Errorf("members to import: %w", err)
	}
	for part := range slices.Chunk(list, importPiece) {
		err := s.DB.InTx(ctx, func(ctx context.Context) error {
			for _, m := range part {
				level := m.Level
				if !as.Admin && level != authz.Planner {
					level = min(level, own)
				}
				if !mayGive(as, own, level) || level < authz.Guest {
					continue
				}
				if takes, err := s.takes(ctx, &rules, m.UserID); err != nil {
					return err
				} else if !takes {
					continue
				}
				if _, err := s.join(ctx, as, into, joining{m.UserID, level, m.ExpiresOn}); err != nil {
					return fmt.Errorf("import member: %w", err)
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// AddBot makes the bot of an access token a member of a place, in the caller's
// transaction. It asks for no permission and validates nothing.
func (s *Service) AddBot(ctx context.Context, as authz.Actor, p authz.Place, bot authz.UserID, level authz.Level) error {
	if _, err := s.join(ctx, as, p, joining{user: bot, level: level}); err != nil {
		return fmt.Errorf("add bot: %w", err)
	}
	return nil
}

// RemoveBot ends all memberships of a bot, in the caller's transaction. It asks for no
// permission.
func (s *Service) RemoveBot(ctx context.Context, as authz.Actor, p authz.Place, bot authz.UserID) error {
	if _, err := s.DB.Exec(ctx, "DELETE FROM members WHERE user_id = ?", bot); err != nil {
		return fmt.Errorf("remove bot: %w", err)
	}
	return s.removed(ctx, as, p, Member{NamespaceID: p.Namespace, UserID: bot, Bot: true}, Removal{})
}

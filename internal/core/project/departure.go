package project

import (
	"context"
	"fmt"

	"tenon/internal/base/db"
	"tenon/internal/core/account"
	"tenon/internal/core/authz"
)

// Depart is the account.Executor of projects: the personal ones of a departing user go,
// with a hard deletion the groups that have no other owner too, and so do the stars. Who made
// the others is forgotten.
func (s *Service) Depart(ctx context.Context, e account.Estate) (bool, error) {
	rows, err := db.Select[row](ctx, s.DB, "SELECT "+columns+", 0 AS actor_level"+from+
		" JOIN users u ON u.namespace_id = p.parent_id WHERE u.id = ? ORDER BY p.id LIMIT ?", e.UserID, account.Batch)
	if err != nil {
		return false, fmt.Errorf("personal projects: %w", err)
	}
	for i := range rows {
		if err := s.removeNow(ctx, e.Actor(), rows[i].bare()); err != nil {
			return false, err
		}
	}
	if len(rows) > 0 {
		return true, nil
	}
	if e.Hard {
		groups, err := s.Namespaces.SoleOwned(ctx, e.UserID)
		if err != nil {
			return false, err
		}
		for _, g := range groups {
			if err := s.PurgeGroup(ctx, PurgeGroup{GroupID: g, By: e.By}); err != nil {
				return false, err
			}
		}
	}
	if stars, err := s.unstarAll(ctx, e); err != nil || stars {
		return stars, err
	}
	made, err := s.DB.Exec(ctx, "UPDATE projects SET creator_id = NULL WHERE id IN (SELECT id FROM projects WHERE creator_id = ? ORDER BY id LIMIT ?)",
		e.UserID, account.Batch)
	if err != nil {
		return false, fmt.Errorf("forget who made projects: %w", err)
	}
	return made == account.Batch, nil
}

// removeNow deletes a project with its repository and rows.
func (s *Service) removeNow(ctx context.Context, as authz.Actor, p *Project) error {
	if !p.PendingDelete {
		if err := s.remove(ctx, as, p); err != nil {
			return err
		}
	}
	return s.Purge(ctx, Purge{ProjectID: p.ID})
}

// unstarAll takes a batch of stars away.
func (s *Service) unstarAll(ctx context.Context, e account.Estate) (bool, error) {
	found := 0
	err := s.DB.InTx(ctx, func(ctx context.Context) error {
		ids, err := db.Select[ID](ctx, s.DB, "SELECT project_id FROM stars WHERE user_id = ? ORDER BY project_id LIMIT ?", e.UserID, account.Batch)
		if found = len(ids); err != nil || found == 0 {
			return err
		}
		marks, args := db.Marks(ids)
		if _, err := s.DB.Exec(ctx, "UPDATE projects SET star_count = star_count - 1 WHERE id IN ("+marks+")", args...); err != nil {
			return err
		}
		_, err = s.DB.Exec(ctx, "DELETE FROM stars WHERE project_id IN ("+marks+") AND user_id = ?", append(args, e.UserID)...)
		return err
	})
	if err != nil {
		return false, fmt.Errorf("stars of user: %w", err)
	}
	return found > 0, nil
}

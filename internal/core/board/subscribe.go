package board

import (
	"context"
	"fmt"
	"slices"

	"tenon/internal/base/db"
	"tenon/internal/base/event"
	"tenon/internal/core/label"
	"tenon/internal/core/milestone"
	"tenon/internal/core/project"
)

// Subscribe registers what happens with boards when something else happens.
func (s *Service) Subscribe(b *event.Bus) {
	const name = "boards"
	event.On(b, name, func(ctx context.Context, e label.Promoted) error {
		for _, table := range []string{"board_lists", "board_labels"} {
			if err := s.replace(ctx, table, "label_id", int64(e.Label.ID), ids(e.Replaces)); err != nil {
				return err
			}
		}
		return nil
	})
	event.On(b, name, func(ctx context.Context, e milestone.Promoted) error {
		if err := s.replace(ctx, "board_lists", "milestone_id", int64(e.Milestone.ID), ids(e.Replaces)); err != nil {
			return err
		}
		for chunk := range slices.Chunk(ids(e.Replaces), db.MaxArgs-1) {
			marks, args := db.Marks(chunk)
			if _, err := s.db.Exec(ctx, "UPDATE boards SET milestone_id = ? WHERE milestone_id IN ("+marks+")",
				append([]any{e.Milestone.ID}, args...)...); err != nil {
				return fmt.Errorf("promoted milestone of boards: %w", err)
			}
		}
		return nil
	})
	event.On(b, name, s.OnTransferred)
}

const ofPlace = "board_id IN (SELECT b.id FROM boards b WHERE b.namespace_id = ?)"

// OnTransferred replaces the labels and milestones of former groups on the boards of a
// project, and removes the lists of their iterations.
func (s *Service) OnTransferred(ctx context.Context, e project.Transferred) error {
	p := &e.Project
	labels, err := db.Select[label.ID](ctx, s.db, `SELECT label_id FROM board_lists WHERE label_id IS NOT NULL AND `+ofPlace+`
		UNION SELECT label_id FROM board_labels WHERE `+ofPlace+" ORDER BY 1", p.NamespaceID, p.NamespaceID)
	if err != nil {
		return fmt.Errorf("labels of the project's boards: %w", err)
	}
	for chunk := range slices.Chunk(labels, db.MaxArgs-1) {
		next, err := s.labels.Successors(ctx, e.By, p, chunk)
		if err != nil {
			return err
		}
		for _, l := range next {
			for _, table := range []string{"board_lists", "board_labels"} {
				if err := s.swap(ctx, p, table, "label_id", int64(l.From), int64(l.To)); err != nil {
					return err
				}
			}
		}
	}
	milestones, err := db.Select[milestone.ID](ctx, s.db, `SELECT milestone_id FROM board_lists WHERE milestone_id IS NOT NULL AND `+ofPlace+`
		UNION SELECT milestone_id FROM boards WHERE milestone_id IS NOT NULL AND namespace_id = ? ORDER BY 1`, p.NamespaceID, p.NamespaceID)
	if err != nil {
		return fmt.Errorf("milestones of the project's boards: %w", err)
	}
	for chunk := range slices.Chunk(milestones, db.MaxArgs-1) {
		next, err := s.milestones.Successors(ctx, e.By, p, chunk)
		if err != nil {
			return err
		}
		for _, m := range next {
			if err := s.swap(ctx, p, "board_lists", "milestone_id", int64(m.From), int64(m.To)); err != nil {
				return err
			}
			if _, err := s.db.Exec(ctx, "UPDATE boards SET milestone_id = ? WHERE namespace_id = ? AND milestone_id = ?", m.To, p.NamespaceID, m.From); err != nil {
				return fmt.Errorf("replace milestone of boards: %w", err)
			}
		}
	}
	if _, err := s.db.Exec(ctx, `DELETE FROM board_lists WHERE iteration_id IS NOT NULL AND `+ofPlace+`
		AND iteration_id NOT IN (SELECT i.id FROM iterations i JOIN namespace_ancestors a ON a.ancestor_id = i.namespace_id WHERE a.namespace_id = ?)`,
		p.NamespaceID, p.NamespaceID); err != nil {
		return fmt.Errorf("iterations of former groups on boards: %w", err)
	}
	return nil
}

// swap puts a label or milestone in the place of another one on the boards of a project, and
// removes the other one where a board has both.
func (s *Service) swap(ctx context.Context, p *project.Project, table, column string, from, to int64) error {
	if _, err := s.db.Exec(ctx, "UPDATE "+table+" AS t SET "+column+" = ? WHERE "+column+" = ? AND "+ofPlace+
		" AND NOT EXISTS (SELECT 1 FROM "+table+" o WHERE o.board_id = t.board_id AND o."+column+" = ?)", to, from, p.NamespaceID, to); err != nil {
		return fmt.Errorf("swap %s of %s: %w", column, table, err)
	}
	if _, err := s.db.Exec(ctx, "DELETE FROM "+table+" WHERE "+column+" = ? AND "+ofPlace, from, p.NamespaceID); err != nil {
		return fmt.Errorf("swap %s of %s: %w", column, table, err)
	}
	return nil
}

func ids[T ~int64](list []T) []int64 {
	out := make([]int64, len(list))
	for i, id := range list {
		out[i] = int64(id)
	}
	return out
}

// replace puts a label or milestone in the place of others that are about to be deleted, on
// boards that do not have it yet.
func (s *Service) replace(ctx context.Context, table, column string, by int64, replaced []int64) error {
	for chunk := range slices.Chunk(replaced, db.MaxArgs-2) {
		marks, args := db.Marks(chunk)
		if _, err := s.db.Exec(ctx, "UPDATE "+table+" AS t SET "+column+" = ? WHERE "+column+" IN ("+marks+
			") AND NOT EXISTS (SELECT 1 FROM "+table+" o WHERE o.board_id = t.board_id AND o."+column+" = ?)",
			append(append([]any{by}, args...), by)...); err != nil {
			return fmt.Errorf("replace %s of %s: %w", column, table, err)
		}
	}
	return nil
}

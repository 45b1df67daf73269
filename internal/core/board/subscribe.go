package board

import (
	"context"
	"fmt"
	"slices"

	"tenon/internal/base/db"
	"tenon/internal/base/event"
	"tenon/internal/core/authz"
	"tenon/internal/core/label"
	"tenon/internal/core/milestone"
	"tenon/internal/core/namespace"
	"tenon/internal/core/project"
)

// Subscribe registers what happens with boards when something else happens.
func (s *Service) Subscribe(b *event.Bus) {
	const name = "boards"
	event.On(b, name, func(ctx context.Context, e label.Promoted) error {
		for _, table := range []string{"board_lists", "board_labels"} {
			if err := s.replace(ctx, table, "label_id", int64(e.After.ID), ids(e.Replaces)); err != nil {
				return err
			}
		}
		return nil
	})
	event.On(b, name, func(ctx context.Context, e milestone.Promoted) error {
		if err := s.replace(ctx, "board_lists", "milestone_id", int64(e.After.ID), ids(e.Replaces)); err != nil {
			return err
		}
		for chunk := range slices.Chunk(ids(e.Replaces), db.MaxArgs-1) {
			marks, args := db.Marks(chunk)
			if _, err := s.DB.Exec(ctx, "UPDATE boards SET milestone_id = ? WHERE milestone_id IN ("+marks+")",
				append([]any{e.After.ID}, args...)...); err != nil {
				return fmt.Errorf("promoted milestone of boards: %w", err)
			}
		}
		return nil
	})
	event.On(b, name, s.OnTransferred)
	event.On(b, name, s.OnGroupTransferred)
}

// ofPlace holds for what belongs to the boards of a project, or of a group and all below it.
const ofPlace = "board_id IN (SELECT b.id FROM boards b WHERE b.namespace_id IN " + namespace.InsideSQL + ")"

// OnTransferred replaces the labels and milestones of former groups on the boards of a
// project, and removes the lists of their iterations.
func (s *Service) OnTransferred(ctx context.Context, e project.Transferred) error {
	return s.replaceFormer(ctx, e.By, e.Row().Place())
}

// OnGroupTransferred is OnTransferred for the boards of a group and of all below it.
func (s *Service) OnGroupTransferred(ctx context.Context, e namespace.GroupTransferred) error {
	return s.replaceFormer(ctx, e.By, e.Row().Place())
}

func (s *Service) replaceFormer(ctx context.Context, as authz.Actor, at authz.Place) error {
	ns := at.Namespace
	labels := func(ctx context.Context, ids []label.ID) ([]namespace.Successor[label.ID], error) {
		return s.Labels.Successors(ctx, as, at, ids)
	}
	err := namespace.Replace(ctx, s.DB, `SELECT label_id FROM board_lists WHERE label_id IS NOT NULL AND `+ofPlace+`
		UNION SELECT label_id FROM board_labels WHERE `+ofPlace+" ORDER BY 1", []any{ns, ns}, labels, func(ctx context.Context, all []namespace.Successor[label.ID]) error {
		if err := s.swap(ctx, ns, "board_lists", "label_id", namespace.Pairs(all)); err != nil {
			return err
		}
		return s.swap(ctx, ns, "board_labels", "label_id", namespace.Pairs(all))
	})
	if err != nil {
		return fmt.Errorf("labels of former groups on boards: %w", err)
	}
	milestones := func(ctx context.Context, ids []milestone.ID) ([]namespace.Successor[milestone.ID], error) {
		return s.Milestones.Successors(ctx, as, at, ids)
	}
	const inside = "milestone_id IS NOT NULL AND namespace_id IN " + namespace.InsideSQL
	err = namespace.Replace(ctx, s.DB, `SELECT milestone_id FROM board_lists WHERE milestone_id IS NOT NULL AND `+ofPlace+`
		UNION SELECT milestone_id FROM boards WHERE `+inside+" ORDER BY 1", []any{ns, ns}, milestones, func(ctx context.Context, all []namespace.Successor[milestone.ID]) error {
		with, pairs := db.Pairs(namespace.Pairs(all))
		if _, err := s.DB.Exec(ctx, with+"UPDATE boards SET milestone_id = pairs.b FROM pairs WHERE pairs.a = milestone_id AND "+inside, append(pairs, ns)...); err != nil {
			return err
		}
		return s.swap(ctx, ns, "board_lists", "milestone_id", namespace.Pairs(all))
	})
	if err != nil {
		return fmt.Errorf("milestones of former groups on boards: %w", err)
	}
	if _, err := s.DB.Exec(ctx, `DELETE FROM board_lists WHERE iteration_id IS NOT NULL AND `+ofPlace+` AND NOT EXISTS
		(SELECT 1 FROM boards o JOIN namespace_ancestors a ON a.namespace_id = o.namespace_id JOIN iterations i ON i.namespace_id = a.ancestor_id
			WHERE o.id = board_lists.board_id AND i.id = board_lists.iteration_id)`, ns); err != nil {
		return fmt.Errorf("iterations of former groups on boards: %w", err)
	}
	return nil
}

// swap puts labels or milestones in the places of others on the boards of a place and below it, and
// removes the others where a board has both, or has two that get the same successor.
func (s *Service) swap(ctx context.Context, ns authz.NamespaceID, table, column string, all []db.Pair) error {
	with, pairs := db.Pairs(all)
	args := append(pairs, ns)
	if _, err := s.DB.Exec(ctx, with+"UPDATE "+table+" AS t SET "+column+" = pairs.b FROM pairs WHERE pairs.a = t."+column+" AND "+ofPlace+
		" AND NOT EXISTS (SELECT 1 FROM "+table+" o WHERE o.board_id = t.board_id AND o."+column+" = pairs.b)"+
		" AND NOT EXISTS (SELECT 1 FROM "+table+" o JOIN pairs q ON q.a = o."+column+
		" WHERE o.board_id = t.board_id AND q.b = pairs.b AND q.a < pairs.a)", args...); err != nil {
		return fmt.Errorf("swap %s of %s: %w", column, table, err)
	}
	if _, err := s.DB.Exec(ctx, with+"DELETE FROM "+table+" WHERE "+column+" IN (SELECT a FROM pairs) AND "+ofPlace, args...); err != nil {
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
		if _, err := s.DB.Exec(ctx, "UPDATE "+table+" AS t SET "+column+" = ? WHERE "+column+" IN ("+marks+
			") AND NOT EXISTS (SELECT 1 FROM "+table+" o WHERE o.board_id = t.board_id AND o."+column+" = ?)",
			append(append([]any{by}, args...), by)...); err != nil {
			return fmt.Errorf("replace %s of %s: %w", column, table, err)
		}
	}
	return nil
}

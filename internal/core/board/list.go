package board

import (
	"context"
	"fmt"
	"slices"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/base/page"
	"tenon/internal/core/authz"
	"tenon/internal/core/namespace"
)

// CodeList is a list that cannot be made or moved; the message says why.
const CodeList errs.Code = "board_list"

func refuse(message string) error { return errs.Coded(errs.Invalid, CodeList, message) }

// Lists returns a page of the lists of a board by position.
func (s *Service) Lists(ctx context.Context, as authz.Actor, at authz.Place, id ID, f Filter) (page.Page[List], error) {
	b, err := s.Find(ctx, as, at, id)
	if err != nil {
		return page.Page[List]{}, err
	}
	return page.Slice(b.Lists, f.Range, page.Order{page.Int("position", ""), page.ID("")}, func(l *List) []any { return []any{l.Position, int64(l.ID)} })
}

// FindList returns a list of a board.
func (s *Service) FindList(ctx context.Context, as authz.Actor, at authz.Place, id ID, list ListID) (*List, error) {
	b, err := s.Find(ctx, as, at, id)
	if err != nil {
		return nil, err
	}
	return b.list(list)
}

// list picks one of the lists of b.
func (b *Board) list(id ListID) (*List, error) {
	i := slices.IndexFunc(b.Lists, func(l List) bool { return l.ID == id })
	if i < 0 {
		return nil, errs.Missing("")
	}
	return &b.Lists[i], nil
}

// CreateList adds a list behind the others of a board.
func (s *Service) CreateList(ctx context.Context, as authz.Actor, at authz.Place, id ID, in ListInput) (*List, error) {
	if err := s.Policy.Require(ctx, as, authz.AdminBoard, at.Subject); err != nil {
		return nil, err
	}
	if err := in.check(); err != nil {
		return nil, err
	}
	var l List
	err := s.DB.InTx(ctx, func(ctx context.Context) error {
		if _, err := s.locked(ctx, at, id); err != nil {
			return err
		}
		if err := s.checkList(ctx, at, in); err != nil {
			return err
		}
		b, err := s.find(ctx, at, id)
		if err != nil {
			return err
		}
		if what := b.has(in); what != "" {
			return refuse(what + " has already been taken")
		}
		if len(b.Lists) >= maxLists {
			return refuse(fmt.Sprintf("Lists are too many (maximum is %d)", maxLists))
		}
		now := db.At(s.Now())
		l = List{
			BoardID: id, LabelID: in.LabelID, MilestoneID: in.MilestoneID, AssigneeID: in.AssigneeID, IterationID: in.IterationID,
			Position: int64(len(b.Lists)), Limits: in.Limits, CreatedAt: now, UpdatedAt: now,
		}
		if err := db.Create(ctx, s.DB, "board_lists", &l); err != nil {
			return err
		}
		return s.arrange(ctx, append(b.Lists, l))
	})
	if err != nil {
		return nil, missing(err, "create list of board")
	}
	return &l, nil
}

// checkList judges what a list is to be of.
func (s *Service) checkList(ctx context.Context, at authz.Place, in ListInput) error {
	var ok bool
	var err error
	thing := ""
	switch {
	case in.LabelID != nil:
		thing = "Label"
		ok, err = namespace.Inherits(ctx, s.DB, at.Namespace, "labels", int64(*in.LabelID))
	case in.MilestoneID != nil:
		thing = "Milestone"
		ok, err = namespace.Inherits(ctx, s.DB, at.Namespace, "milestones", int64(*in.MilestoneID))
	case in.IterationID != nil:
		thing = "Iteration"
		ok, err = namespace.Inherits(ctx, s.DB, at.Namespace, "iterations", int64(*in.IterationID))
	case in.AssigneeID != nil:
		thing = "User"
		ok, err = s.reads(ctx, at, *in.AssigneeID)
	default:
		return refuse("Label not found!")
	}
	if err == nil && !ok {
		err = refuse(thing + " not found!")
	}
	return err
}

// has names what b has a list of already, "" for nothing.
func (b *Board) has(in ListInput) string {
	for _, l := range b.Lists {
		switch {
		case equal(in.LabelID, l.LabelID):
			return "Label"
		case equal(in.MilestoneID, l.MilestoneID):
			return "Milestone"
		case equal(in.AssigneeID, l.AssigneeID):
			return "User"
		case equal(in.IterationID, l.IterationID):
			return "Iteration"
		}
	}
	return ""
}

// equal compares what is asked for with what is there; nil equals nothing.
func equal[T comparable](a, b *T) bool { return a != nil && b != nil && *a == *b }

// ListChanges are those of UpdateList; nil leaves alone.
type ListChanges struct {
	Position       *int64
	MaxIssueCount  *int64
	MaxIssueWeight *int64
	LimitMetric    *string // "" clears
}

// limits reports whether limits are to change.
func (c ListChanges) limits() bool {
	return c.MaxIssueCount != nil || c.MaxIssueWeight != nil || c.LimitMetric != nil
}

// UpdateList moves a list of a board to a position among the others, or changes its limits.
func (s *Service) UpdateList(ctx context.Context, as authz.Actor, at authz.Place, id ID, list ListID, c ListChanges) (*List, error) {
	if err := s.Policy.Require(ctx, as, authz.AdminBoard, at.Subject); err != nil {
		return nil, err
	}
	err := s.DB.InTx(ctx, func(ctx context.Context) error {
		b, l, err := s.lockedList(ctx, at, id, list)
		if err != nil {
			return err
		}
		if err := s.limit(ctx, as, list, c); err != nil || c.Position == nil {
			return err
		}
		to := *c.Position
		if to == l.Position && c.limits() {
			return nil
		}
		if to == l.Position || to < 0 || to >= int64(len(b.Lists)) {
			return refuse("List could not be moved!")
		}
		moved := *l
		rest := slices.Delete(slices.Clone(b.Lists), int(l.Position), int(l.Position)+1)
		return s.arrange(ctx, slices.Insert(rest, int(to), moved))
	})
	if err != nil {
		return nil, missing(err, "update list of board")
	}
	return s.FindList(ctx, as, at, id, list)
}

// lockedList locks a board until the transaction ends, and reads it with one of its lists.
func (s *Service) lockedList(ctx context.Context, at authz.Place, id ID, list ListID) (*Board, *List, error) {
	if _, err := s.locked(ctx, at, id); err != nil {
		return nil, nil, err
	}
	b, err := s.find(ctx, at, id)
	if err != nil {
		return nil, nil, err
	}
	l, err := b.list(list)
	return b, l, err
}

// limit changes the limits of a list.
func (s *Service) limit(ctx context.Context, as authz.Actor, list ListID, c ListChanges) error {
	_, err := db.Update(ctx, s.DB, db.Row{Table: "board_lists", ID: list, Now: s.Now, If: as.UnmodifiedAt}, func(_ context.Context, l *List) error {
		if c.MaxIssueCount != nil {
			l.MaxIssueCount = *c.MaxIssueCount
		}
		if c.MaxIssueWeight != nil {
			l.MaxIssueWeight = *c.MaxIssueWeight
		}
		if c.LimitMetric != nil {
			if l.LimitMetric = c.LimitMetric; *c.LimitMetric == "" {
				l.LimitMetric = nil
			}
		}
		return l.Limits.check()
	})
	return err
}

// arrange writes the positions of lists in their order, where they differ.
func (s *Service) arrange(ctx context.Context, lists []List) error {
	if len(lists) == 0 {
		return nil
	}
	pairs := make([]db.Pair, len(lists))
	for i, l := range lists {
		pairs[i] = db.Pair{A: int64(l.ID), B: int64(i)}
	}
	with, args := db.Pairs(pairs)
	if _, err := s.DB.Exec(ctx, with+"UPDATE board_lists SET position = pairs.b FROM pairs WHERE pairs.a = board_lists.id AND position <> pairs.b", args...); err != nil {
		return fmt.Errorf("arrange lists: %w", err)
	}
	return nil
}

// DeleteList removes a list of a board; the others close up.
func (s *Service) DeleteList(ctx context.Context, as authz.Actor, at authz.Place, id ID, list ListID) error {
	if err := s.Policy.Require(ctx, as, authz.AdminBoard, at.Subject); err != nil {
		return err
	}
	err := s.DB.InTx(ctx, func(ctx context.Context) error {
		b, l, err := s.lockedList(ctx, at, id, list)
		if err != nil {
			return err
		}
		if _, err := db.Delete[List](ctx, s.DB, db.Row{Table: "board_lists", ID: list, If: as.UnmodifiedAt}, nil); err != nil {
			return err
		}
		return s.arrange(ctx, slices.Delete(b.Lists, int(l.Position), int(l.Position)+1))
	})
	return missing(err, "delete list of board")
}

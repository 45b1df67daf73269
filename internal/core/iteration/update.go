package iteration

import (
	"context"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/core/authz"
	"tenon/internal/core/change"
)

// row names the row of an iteration for db.Update and db.ForUpdate.
func (s *Service) row(id ID) db.Row {
	return db.Row{Table: "iterations", ID: id, Alias: "i", From: tables, Columns: columns, Now: s.Now, Missing: errs.Missing("Iteration")}
}

// Update changes an iteration of the group. The dates of automatic cadences follow from the cadence
// and cannot be changed here.
func (s *Service) Update(ctx context.Context, as authz.Actor, at authz.Place, id ID, c Changes) (*Iteration, error) {
	if err := s.Policy.Require(ctx, as, authz.AdminIteration, at.Subject); err != nil {
		return nil, err
	}
	var out db.Change[Iteration]
	err := s.DB.InTx(ctx, func(ctx context.Context) error {
		var err error
		out, err = db.Update(ctx, s.DB, s.row(id), func(ctx context.Context, i *Iteration) error {
			if i.NamespaceID != at.Namespace {
				return db.ErrNotFound
			}
			return s.change(ctx, i, c)
		})
		if err != nil || !out.Any() {
			return err
		}
		if out.Before.DueDate != out.After.DueDate {
			if err := s.renumber(ctx, out.After.CadenceID); err != nil {
				return err
			}
			if out.After.Sequence, err = db.Get[int64](ctx, s.DB, "SELECT sequence FROM iterations WHERE id = ?", id); err != nil {
				return err
			}
		}
		return s.Bus.Publish(ctx, Updated{change.Updated(as, s.Now(), out.After.place(), &out)})
	})
	if err != nil {
		return nil, errs.Wrap(err, "update iteration")
	}
	return &out.After, nil
}

// change alters an iteration, which the cadence's row keeps from overlapping others.
func (s *Service) change(ctx context.Context, i *Iteration, c Changes) error {
	start, due := i.StartDate, i.DueDate
	for _, change := range []struct{ to, of *string }{{&start, c.StartDate}, {&due, c.DueDate}} {
		if change.of != nil {
			*change.to = *change.of
		}
	}
	if c.Title != nil {
		i.Title = c.Title
	}
	if c.Description != nil {
		i.Description = c.Description
	}
	moved := start != i.StartDate || due != i.DueDate
	i.StartDate, i.DueDate = start, due
	bad := i.check()
	if !moved || len(bad) > 0 {
		return bad.Err()
	}
	cadence, err := db.ForUpdate[Cadence](ctx, s.DB, db.Row{Table: "iteration_cadences", ID: i.CadenceID})
	if err != nil {
		return err
	}
	bad.Check(!cadence.Automatic, "base", "Dates of iterations of automatic cadences cannot be changed")
	overlapping, err := db.Get[int64](ctx, s.DB, "SELECT COUNT(*) FROM iterations WHERE cadence_id = ? AND id <> ? AND start_date <= ? AND due_date >= ?",
		i.CadenceID, i.ID, due, start)
	if err != nil {
		return err
	}
	bad.Check(overlapping == 0, "base", "Dates cannot overlap with other existing Iterations within this iterations cadence")
	return bad.Err()
}

// renumber makes the sequence numbers of a cadence follow its dates.
func (s *Service) renumber(ctx context.Context, id CadenceID) error {
	_, err := s.DB.Exec(ctx, `UPDATE iterations SET sequence = (SELECT COUNT(*) FROM iterations o WHERE o.cadence_id = ? AND o.due_date <= iterations.due_date)
		WHERE cadence_id = ?`, id, id)
	return err
}

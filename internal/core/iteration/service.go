package iteration

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/base/event"
	"tenon/internal/base/page"
	"tenon/internal/core/authz"
	"tenon/internal/core/change"
	"tenon/internal/core/namespace"
)

// Deps is what a Service is made of.
type Deps struct {
	DB     *db.DB
	Policy *authz.Policy
	Bus    *event.Bus
	Now    func() time.Time
}

// Service reads and changes iterations and cadences.
type Service struct {
	Deps
}

// New builds the service.
func New(d Deps) *Service {
	return &Service{Deps: d}
}

// List returns a page of the iterations of a place by due date.
func (s *Service) List(ctx context.Context, as authz.Actor, at authz.Place, f Filter) (page.Page[Iteration], error) {
	if err := s.Policy.Require(ctx, as, authz.ReadIteration, at.Subject); err != nil {
		return page.Page[Iteration]{}, err
	}
	list, err := s.list(ctx, at, f)
	if err != nil {
		return list, fmt.Errorf("list iterations: %w", err)
	}
	return list, nil
}

// FindByIID returns an iteration of the group itself by its number.
func (s *Service) FindByIID(ctx context.Context, as authz.Actor, at authz.Place, iid IID) (*Iteration, error) {
	if err := s.Policy.Require(ctx, as, authz.ReadIteration, at.Subject); err != nil {
		return nil, err
	}
	i, err := db.Get[Iteration](ctx, s.DB, "SELECT "+columns+" FROM "+tables+" WHERE i.namespace_id = ? AND i.iid = ?", at.Namespace, iid)
	if errors.Is(err, db.ErrNotFound) {
		return nil, errs.Missing("")
	}
	return &i, errs.Wrap(err, "find iteration")
}

// CreateCadence makes a cadence of a group. An automatic one gets its iterations: as many as
// it makes in advance, each of so many weeks, one after the other from the start date on.
func (s *Service) CreateCadence(ctx context.Context, as authz.Actor, at authz.Place, in CadenceInput) (*Cadence, error) {
	if err := s.Policy.Require(ctx, as, authz.AdminIteration, at.Subject); err != nil {
		return nil, err
	}
	now := db.At(s.Now())
	c := &Cadence{
		NamespaceID: at.Namespace, Title: strings.TrimSpace(in.Title), Description: in.Description, Active: !in.Inactive, Automatic: in.Automatic,
		StartDate: in.StartDate, Weeks: in.Weeks, Advance: in.Advance, CreatedAt: now, UpdatedAt: now,
	}
	bad := c.check()
	bad.Check(!at.IsProject(), "group", "can't be blank")
	if err := bad.Err(); err != nil {
		return nil, err
	}
	err := s.DB.InTx(ctx, func(ctx context.Context) error {
		if err := db.Create(ctx, s.DB, "iteration_cadences", c); err != nil {
			return err
		}
		if !c.Automatic {
			return nil
		}
		return s.fill(ctx, as, c, *c.StartDate, c.Advance)
	})
	if err != nil {
		return nil, errs.Wrap(err, "create cadence")
	}
	return c, nil
}

// fill makes so many iterations of an automatic cadence, one after the other from a day on.
func (s *Service) fill(ctx context.Context, as authz.Actor, c *Cadence, from string, count int64) error {
	start, err := time.Parse(time.DateOnly, from)
	if err != nil {
		return fmt.Errorf("start date of cadence: %w", err)
	}
	for range max(count, 0) {
		next := start.AddDate(0, 0, 7*int(c.Weeks))
		i := &Iteration{
			CadenceID: c.ID, NamespaceID: c.NamespaceID, CreatedAt: c.UpdatedAt, UpdatedAt: c.UpdatedAt,
			StartDate: start.Format(time.DateOnly), DueDate: next.AddDate(0, 0, -1).Format(time.DateOnly),
		}
		if err := s.insert(ctx, as, i); err != nil {
			return err
		}
		start = next
	}
	return nil
}

// insert numbers an iteration and writes it, in the caller's transaction. The sequence
// numbers of the cadence follow its dates.
func (s *Service) insert(ctx context.Context, as authz.Actor, i *Iteration) error {
	iid, err := namespace.NextIID(ctx, s.DB, i.NamespaceID, namespace.KindIteration)
	if err != nil {
		return err
	}
	i.ID, i.IID = 0, IID(iid)
	if i.Sequence, err = db.Get[int64](ctx, s.DB, "SELECT COUNT(*) + 1 FROM iterations WHERE cadence_id = ? AND due_date < ?", i.CadenceID, i.StartDate); err != nil {
		return err
	}
	if _, err := s.DB.Exec(ctx, "UPDATE iterations SET sequence = sequence + 1 WHERE cadence_id = ? AND start_date > ?", i.CadenceID, i.DueDate); err != nil {
		return err
	}
	if err := db.Create(ctx, s.DB, "iterations", i); err != nil {
		return err
	}
	return s.Bus.Publish(ctx, Created{change.Created(as, s.Now(), i.place(), i)})
}

// Create makes an iteration in a cadence of the group that is not automatic. Iterations of
// one cadence do not overlap.
func (s *Service) Create(ctx context.Context, as authz.Actor, at authz.Place, in Input) (*Iteration, error) {
	if err := s.Policy.Require(ctx, as, authz.AdminIteration, at.Subject); err != nil {
		return nil, err
	}
	now := db.At(s.Now())
	i := &Iteration{
		CadenceID: in.Cadence, NamespaceID: at.Namespace, Title: in.Title, Description: in.Description,
		StartDate: in.StartDate, DueDate: in.DueDate, CreatedAt: now, UpdatedAt: now,
	}
	bad := i.check()
	bad.Check(in.Cadence != 0, "iterations_cadence", "can't be blank")
	if err := bad.Err(); err != nil {
		return nil, err
	}
	err := s.DB.InTx(ctx, func(ctx context.Context) error {
		c, err := db.ForUpdate[Cadence](ctx, s.DB, db.Row{Table: "iteration_cadences", ID: in.Cadence, Missing: errs.Missing("Iteration Cadence")})
		if err == nil && c.NamespaceID != at.Namespace {
			err = db.ErrNotFound
		}
		if err != nil {
			return err
		}
		overlapping, err := db.Get[int64](ctx, s.DB, "SELECT COUNT(*) FROM iterations WHERE cadence_id = ? AND start_date <= ? AND due_date >= ?",
			c.ID, i.DueDate, i.StartDate)
		if err != nil {
			return err
		}
		bad.Check(overlapping == 0, "base", "Dates cannot overlap with other existing Iterations within this iterations cadence")
		bad.Check(!c.Automatic, "iterations_cadence", "Iterations cannot be manually added to cadences that use automatic scheduling")
		if err := bad.Err(); err != nil {
			return err
		}
		return s.insert(ctx, as, i)
	})
	if err != nil {
		return nil, errs.Wrap(err, "create iteration")
	}
	return i, nil
}

// Delete removes an iteration of the group; its issues have none afterwards.
func (s *Service) Delete(ctx context.Context, as authz.Actor, at authz.Place, id ID) error {
	if err := s.Policy.Require(ctx, as, authz.AdminIteration, at.Subject); err != nil {
		return err
	}
	err := s.DB.InTx(ctx, func(ctx context.Context) error {
		row := s.row(id).Provided(as.UnmodifiedAt)
		row.And.And("i.namespace_id = ?", at.Namespace)
		i, err := db.Delete[Iteration](ctx, s.DB, row, nil)
		if err != nil {
			return err
		}
		if _, err := s.DB.Exec(ctx, "UPDATE iterations SET sequence = sequence - 1 WHERE cadence_id = ? AND sequence > ?", i.CadenceID, i.Sequence); err != nil {
			return err
		}
		return s.Bus.Publish(ctx, Deleted{change.Deleted(as, s.Now(), i.place(), &i)})
	})
	return errs.Wrap(err, "delete iteration")
}

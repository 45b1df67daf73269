package deploy

import (
	"context"
	"errors"
	"fmt"

	"tenon/internal/base/crontab"
	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/base/page"
	"tenon/internal/base/timezone"
	"tenon/internal/core/authz"
	"tenon/internal/core/change"
	"tenon/internal/core/project"
)

// FreezeID identifies a freeze period.
type FreezeID int64

// FreezePeriod is one row: the jobs of pipelines that are made from a tick of its start to the next tick of its end know that nothing is to be
// deployed.
type FreezePeriod struct {
	ID        FreezeID   `db:"id"`
	ProjectID project.ID `db:"project_id"`
	Start     string     `db:"freeze_start"`
	End       string     `db:"freeze_end"`
	Timezone  string     `db:"cron_timezone"`
	CreatedAt db.Time    `db:"created_at"`
	UpdatedAt db.Time    `db:"updated_at"`
}

// About names it for events.
func (f FreezePeriod) About() change.Subject {
	return change.Subject{Type: "Ci::FreezePeriod", ID: int64(f.ID)}
}

// FreezeChanges are the attributes of a freeze period that a call sets; nil leaves one alone.
type FreezeChanges struct {
	Start    *string
	End      *string
	Timezone *string
}

// FreezePeriodCreated is published when a freeze period was made.
type FreezePeriodCreated struct{ change.Of[FreezePeriod] }

// Audit is what the audit trail records of it.
func (e FreezePeriodCreated) Audit() []change.Entry {
	return change.Record("freeze_period_created", "Created freeze period from {start} to {end}", "start", e.After.Start, "end", e.After.End)
}

// FreezePeriodUpdated is published when a freeze period was changed.
type FreezePeriodUpdated struct{ change.Of[FreezePeriod] }

// Audit is what the audit trail records of it.
func (e FreezePeriodUpdated) Audit() []change.Entry {
	return change.Record("freeze_period_updated", "Updated freeze period from {start} to {end}", "start", e.After.Start, "end", e.After.End)
}

// FreezePeriodDeleted is published when a freeze period was deleted.
type FreezePeriodDeleted struct{ change.Of[FreezePeriod] }

// Audit is what the audit trail records of it.
func (e FreezePeriodDeleted) Audit() []change.Entry {
	return change.Record("freeze_period_deleted", "Deleted freeze period from {start} to {end}", "start", e.Before.Start, "end", e.Before.End)
}

const maxFreezePeriods = 100 // of a project

var (
	freezeColumns  = db.Columns[FreezePeriod]("f")
	errNoFreeze    = errs.Missing("Freeze Period")
	freezeOrder    = page.Order{page.Time("created_at", "f.created_at"), page.ID("f.id")}
	invalidSyntax  = " is invalid syntax"
	tooManyFreezes = errs.Sentences(errs.Invalid, fmt.Sprintf("Freeze periods are too many (maximum is %d)", maxFreezePeriods))
)

func (c *FreezeChanges) apply(f *FreezePeriod) {
	for to, from := range map[*string]*string{&f.Start: c.Start, &f.End: c.End, &f.Timezone: c.Timezone} {
		if from != nil {
			*to = *from
		}
	}
}

func (f *FreezePeriod) check() error {
	var e errs.Fields
	e.Check(len(f.Start) <= maxText && crontab.Valid(f.Start), "freeze_start", invalidSyntax)
	e.Check(len(f.End) <= maxText && crontab.Valid(f.End), "freeze_end", invalidSyntax)
	e.Check(len(f.Timezone) <= maxText && timezone.Load(f.Timezone) != nil, "cron_timezone", invalidSyntax)
	return e.Err()
}

// FreezePeriods returns a page of the freeze periods of a project, the oldest first.
func (s *Service) FreezePeriods(ctx context.Context, as authz.Actor, p *project.Project, r page.Range) (page.Page[FreezePeriod], error) {
	if err := s.Policy.Require(ctx, as, authz.ReadFreezePeriod, subject(p)); err != nil {
		return page.Page[FreezePeriod]{}, err
	}
	var w db.Where
	w.And("f.project_id = ?", p.ID)
	list, err := page.Select[FreezePeriod](ctx, s.DB, page.Query{Columns: freezeColumns, From: "freeze_periods f", Where: w, Order: freezeOrder}, r)
	return list, errs.Wrap(err, "list freeze periods")
}

// FreezePeriod returns a freeze period of a project.
func (s *Service) FreezePeriod(ctx context.Context, as authz.Actor, p *project.Project, id FreezeID) (*FreezePeriod, error) {
	if err := s.Policy.Require(ctx, as, authz.ReadFreezePeriod, subject(p)); err != nil {
		return nil, err
	}
	f, err := db.Get[FreezePeriod](ctx, s.DB, "SELECT "+freezeColumns+" FROM freeze_periods f WHERE f.project_id = ? AND f.id = ?", p.ID, id)
	if errors.Is(err, db.ErrNotFound) {
		return nil, errNoFreeze
	}
	if err != nil {
		return nil, fmt.Errorf("find freeze period: %w", err)
	}
	return &f, nil
}

// CreateFreezePeriod makes a freeze period.
func (s *Service) CreateFreezePeriod(ctx context.Context, as authz.Actor, p *project.Project, c FreezeChanges) (*FreezePeriod, error) {
	if err := s.Policy.Require(ctx, as, authz.AdminFreezePeriod, subject(p)); err != nil {
		return nil, err
	}
	now := db.At(s.Now())
	f := &FreezePeriod{ProjectID: p.ID, Timezone: "UTC", CreatedAt: now, UpdatedAt: now}
	c.apply(f)
	if err := f.check(); err != nil {
		return nil, err
	}
	bound := db.Bound{Table: "freeze_periods", Most: maxFreezePeriods, Full: tooManyFreezes}
	bound.Of.And("project_id = ?", p.ID)
	err := s.DB.InTx(ctx, func(ctx context.Context) error {
		if err := db.Create(ctx, s.DB, "freeze_periods", f, bound); err != nil {
			return err
		}
		return s.Bus.Publish(ctx, FreezePeriodCreated{change.Created(as, s.Now(), p.Place(), f)})
	})
	if err != nil {
		return nil, errs.Wrap(err, "create freeze period")
	}
	return f, nil
}

// UpdateFreezePeriod changes a freeze period.
func (s *Service) UpdateFreezePeriod(ctx context.Context, as authz.Actor, p *project.Project, id FreezeID, c FreezeChanges) (*FreezePeriod, error) {
	if err := s.Policy.Require(ctx, as, authz.AdminFreezePeriod, subject(p)); err != nil {
		return nil, err
	}
	var out db.Change[FreezePeriod]
	err := s.DB.InTx(ctx, func(ctx context.Context) error {
		var err error
		out, err = db.Update(ctx, s.DB, s.freezeRow(as, p, id), func(_ context.Context, f *FreezePeriod) error {
			c.apply(f)
			return f.check()
		})
		if err != nil || !out.Any() {
			return err
		}
		return s.Bus.Publish(ctx, FreezePeriodUpdated{change.Updated(as, s.Now(), p.Place(), &out)})
	})
	if err != nil {
		return nil, errs.Wrap(err, "update freeze period")
	}
	return &out.After, nil
}

// DeleteFreezePeriod deletes a freeze period.
func (s *Service) DeleteFreezePeriod(ctx context.Context, as authz.Actor, p *project.Project, id FreezeID) error {
	if err := s.Policy.Require(ctx, as, authz.AdminFreezePeriod, subject(p)); err != nil {
		return err
	}
	err := s.DB.InTx(ctx, func(ctx context.Context) error {
		was, err := db.Delete[FreezePeriod](ctx, s.DB, s.freezeRow(as, p, id), nil)
		if err != nil {
			return err
		}
		return s.Bus.Publish(ctx, FreezePeriodDeleted{change.Deleted(as, s.Now(), p.Place(), &was)})
	})
	return errs.Wrap(err, "delete freeze period")
}

func (s *Service) freezeRow(as authz.Actor, p *project.Project, id FreezeID) db.Row {
	r := db.Row{Table: "freeze_periods", ID: id, Now: s.Now, If: as.UnmodifiedAt, Missing: errNoFreeze}
	r.And.And("project_id = ?", p.ID)
	return r
}

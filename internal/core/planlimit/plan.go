// Package planlimit keeps the limits of plans. Those of the default plan hold for all groups and projects.
package planlimit

import (
	"context"
	"errors"
	"fmt"
	"time"

	"tenon/internal/base/cached"
	"tenon/internal/base/db"
	"tenon/internal/base/event"
	"tenon/internal/core/authz"
	"tenon/internal/core/change"
)

// ID identifies the row of a plan.
type ID int64

// Default is the plan of all groups and projects.
const Default = "default"

// Names are the names of all plans.
var Names = []string{Default, "free", "bronze", "silver", "premium", "gold", "ultimate", "ultimate_trial", "premium_trial", "opensource"}

// Plan is a plan with its limits.
type Plan struct {
	ID        ID      `db:"id"`
	Name      string  `db:"name"`
	Limits    Limits  `db:"limits"`
	CreatedAt db.Time `db:"created_at"`
	UpdatedAt db.Time `db:"updated_at"`
}

// About is the plan as the subject of an event.
func (p Plan) About() change.Subject {
	return change.Subject{Type: "PlanLimits", ID: int64(p.ID), Title: p.Name}
}

// Deps is what a Service is made of.
type Deps struct {
	DB     *db.DB
	Policy *authz.Policy
	Bus    *event.Bus
	Now    func() time.Time
}

// Service keeps the limits. Those in force are in memory. A zero one limits nothing.
type Service struct {
	Deps
	*cached.Value[Limits]
}

// New builds the service.
func New(d Deps) *Service {
	s := &Service{Deps: d}
	s.Value = cached.New(func(ctx context.Context) (*Limits, error) {
		p, err := s.read(ctx, Default)
		if err != nil {
			return nil, err
		}
		return &p.Limits, nil
	})
	return s
}

// InForce returns the limits of the default plan. The result is shared: do not change it.
func (s *Service) InForce() *Limits {
	if s.Value == nil {
		return &Limits{}
	}
	return s.Current()
}

var columns = db.Columns[Plan]("l")

// read returns a plan, with the id 0 where it has no row.
func (s *Service) read(ctx context.Context, name string) (*Plan, error) {
	p, err := db.Get[Plan](ctx, s.DB, "SELECT "+columns+" FROM plan_limits l WHERE l.name = ?", name)
	if errors.Is(err, db.ErrNotFound) {
		return &Plan{Name: name, Limits: defaults()}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read plan limits: %w", err)
	}
	return &p, nil
}

// Find returns a plan by its name, one of Names.
func (s *Service) Find(ctx context.Context, as authz.Actor, name string) (*Plan, error) {
	if err := s.Policy.Require(ctx, as, authz.ReadPlanLimits, authz.Subject{}); err != nil {
		return nil, err
	}
	return s.read(ctx, name)
}

// Updated says that limits of a plan changed.
type Updated struct{ change.Of[Plan] }

// Audit is what the audit trail records of it.
func (Updated) Audit() []change.Entry {
	return change.Record("plan_limits_updated", "Updated the limits of plan {title}")
}

// Update sets limits of a plan, one of Names, by their names. What there is already stays where a limit falls below it.
func (s *Service) Update(ctx context.Context, as authz.Actor, name string, values map[string]int64) (*Plan, error) {
	if err := s.Policy.Require(ctx, as, authz.AdminPlanLimits, authz.Subject{}); err != nil {
		return nil, err
	}
	var out db.Change[Plan]
	err := s.Change(ctx, s.DB, func(ctx context.Context) error {
		row, err := db.Ensure(ctx, s.DB, db.Row{Table: "plan_limits", Now: s.Now, If: as.UnmodifiedAt}, func(ctx context.Context) (*Plan, error) {
			return s.read(ctx, name)
		})
		if err != nil {
			return err
		}
		out, err = db.Update(ctx, s.DB, row, func(_ context.Context, p *Plan) error { return p.Limits.apply(values) })
		if err != nil || !out.Any() {
			return err
		}
		return s.Bus.Publish(ctx, Updated{change.Updated(as, s.Now(), authz.Place{}, &out)})
	})
	if err != nil {
		return nil, fmt.Errorf("update plan limits: %w", err)
	}
	return &out.After, nil
}

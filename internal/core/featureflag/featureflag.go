// Package featureflag keeps the feature flags of projects: switches that applications ask for by their name, each with strategies
// that say for which of their users and in which environments it is on. Clients of Unleash read them.
package featureflag

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/base/event"
	"tenon/internal/base/lru"
	"tenon/internal/base/page"
	"tenon/internal/core/authz"
	"tenon/internal/core/change"
	"tenon/internal/core/project"
)

// ID identifies a feature flag.
type ID int64

// Flag is one row.
type Flag struct {
	ID          ID         `db:"id"`
	ProjectID   project.ID `db:"project_id"`
	Name        string     `db:"name"`
	Description *string    `db:"description"`
	Active      bool       `db:"active"`
	CreatedAt   db.Time    `db:"created_at"`
	UpdatedAt   db.Time    `db:"updated_at"`

	Strategies []Strategy `db:"-" change:"strategies"` // by id
}

// About names it for events.
func (f Flag) About() change.Subject {
	return change.Subject{Type: "Operations::FeatureFlag", ID: int64(f.ID), Title: f.Name}
}

// StrategyID identifies a strategy.
type StrategyID int64

// Strategy says for which users and in which environments a flag is on.
type Strategy struct {
	ID         StrategyID `db:"id"`
	FlagID     ID         `db:"flag_id"`
	Name       string     `db:"name"`
	Parameters string     `db:"parameters"` // JSON object of texts
	UserListID *ListID    `db:"user_list_id"`

	Scopes   []Scope   `db:"-"` // by id, never none
	UserList *UserList `db:"-"` // nil for none
}

// Values are the parameters by their names.
func (t *Strategy) Values() map[string]string {
	out := map[string]string{}
	_ = json.Unmarshal([]byte(t.Parameters), &out) // it was checked before it was written
	return out
}

// ScopeID identifies a scope.
type ScopeID int64

// Scope is where a strategy applies: the name of an environment, with * for any text.
type Scope struct {
	ID          ScopeID    `db:"id"`
	StrategyID  StrategyID `db:"strategy_id"`
	Environment string     `db:"environment_scope"`
}

// The bounds of a project.
const (
	MaxFlags      = 200 // of a project
	maxStrategies = 50  // of a flag
	maxScopes     = 50  // of a strategy
)

// Created is published when a project has a new flag.
type Created struct{ change.Of[Flag] }

// Updated is published when a flag or its strategies changed.
type Updated struct{ change.Of[Flag] }

// Deleted is published when a flag is deleted.
type Deleted struct{ change.Of[Flag] }

// Deps is what a Service is made of.
type Deps struct {
	DB     *db.DB
	Policy *authz.Policy
	Bus    *event.Bus
	Now    func() time.Time
}

// Service keeps feature flags. It is safe for concurrent use.
type Service struct {
	Deps
	answers answers
}

// New builds the service.
func New(d Deps) *Service { return &Service{Deps: d, answers: answers{lru.New(maxAnswers)}} }

// require asks for an ability on the feature flags of a project.
func (s *Service) require(ctx context.Context, as authz.Actor, a authz.Ability, p *project.Project) error {
	return s.Policy.Require(ctx, as, a, p.SubjectIn("feature_flags"))
}

var columns = db.Columns[Flag]("f")

// Scopes of a list of flags.
const (
	Enabled  = "enabled"
	Disabled = "disabled"
)

// Filter selects from a list of flags.
type Filter struct {
	Scope string // Enabled, Disabled, or "" for all
	page.Range
}

// List returns a page of the flags of a project by name.
func (s *Service) List(ctx context.Context, as authz.Actor, p *project.Project, f Filter) (page.Page[Flag], error) {
	none := page.Page[Flag]{}
	if err := s.require(ctx, as, authz.ReadFeatureFlag, p); err != nil {
		return none, err
	}
	var w db.Where
	w.And("f.project_id = ?", p.ID)
	if f.Scope != "" {
		w.And("f.active = ?", f.Scope == Enabled)
	}
	list, err := page.Select[Flag](ctx, s.DB, page.Query{
		Columns: columns, From: "feature_flags f", Where: w, Order: page.Order{page.Text("name", "f.name"), page.ID("f.id")},
	}, f.Range)
	if err != nil {
		return none, fmt.Errorf("list feature flags: %w", err)
	}
	return list, s.fill(ctx, list.Items)
}

// Find returns a flag of a project.
func (s *Service) Find(ctx context.Context, as authz.Actor, p *project.Project, name string) (*Flag, error) {
	if err := s.require(ctx, as, authz.ReadFeatureFlag, p); err != nil {
		return nil, err
	}
	return s.find(ctx, p, name)
}

func (s *Service) find(ctx context.Context, p *project.Project, name string) (*Flag, error) {
	f, err := db.Get[Flag](ctx, s.DB, "SELECT "+columns+" FROM feature_flags f WHERE f.project_id = ? AND f.name = ?", p.ID, name)
	if errors.Is(err, db.ErrNotFound) {
		return nil, errs.Missing("")
	}
	if err != nil {
		return nil, fmt.Errorf("find feature flag: %w", err)
	}
	list := []Flag{f}
	return &list[0], s.fill(ctx, list)
}

// fill reads the strategies of flags, with their scopes and lists.
func (s *Service) fill(ctx context.Context, flags []Flag) error {
	if len(flags) == 0 {
		return nil
	}
	ids, at := make([]ID, len(flags)), map[ID]int{}
	for i := range flags {
		ids[i], at[flags[i].ID] = flags[i].ID, i
	}
	var w db.Where
	w.In("t.flag_id", ids)
	strategies, err := db.Select[Strategy](ctx, s.DB, "SELECT "+db.Columns[Strategy]("t")+" FROM feature_flag_strategies t"+w.SQL()+" ORDER BY t.flag_id, t.id", w.Args()...)
	if err != nil || len(strategies) == 0 {
		return errs.Wrap(err, "strategies of feature flags")
	}
	var of db.Where
	of.Raw("c.strategy_id IN (SELECT t.id FROM feature_flag_strategies t" + w.SQL() + ")")
	scopes, err := db.Select[Scope](ctx, s.DB, "SELECT "+db.Columns[Scope]("c")+" FROM feature_flag_scopes c"+of.SQL()+" ORDER BY c.id", w.Args()...)
	if err != nil {
		return fmt.Errorf("scopes of feature flags: %w", err)
	}
	if err := s.readLists(ctx, strategies); err != nil {
		return err
	}
	within := map[StrategyID][]Scope{}
	for _, c := range scopes {
		within[c.StrategyID] = append(within[c.StrategyID], c)
	}
	for _, t := range strategies {
		t.Scopes = within[t.ID]
		f := &flags[at[t.FlagID]]
		f.Strategies = append(f.Strategies, t)
	}
	return nil
}

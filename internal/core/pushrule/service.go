package pushrule

import (
	"context"
	"errors"
	"fmt"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/base/event"
	"tenon/internal/core/authz"
	"tenon/internal/core/change"
	"tenon/internal/core/project"
)

// Deps is what a Service is made of.
type Deps struct {
	DB     *db.DB
	Policy *authz.Policy
	Bus    *event.Bus
	Now    func() time.Time
}

// Service reads and changes rules.
type Service struct {
	Deps
}

// New builds the service.
func New(d Deps) *Service {
	return &Service{Deps: d}
}

// Created is published when a rule is made.
type Created struct{ change.Of[Rule] }

// Audit is what the audit trail records of it.
func (e Created) Audit() []change.Entry { return terms(e.Of, "push_rule_created", "Added push rule") }

// Updated is published when a rule changes.
type Updated struct{ change.Of[Rule] }

// Audit is what the audit trail records of it.
func (e Updated) Audit() []change.Entry { return terms(e.Of, "push_rule_updated", "Changed push rule") }

// Deleted is published when a rule is taken away.
type Deleted struct{ change.Of[Rule] }

// Audit is what the audit trail records of it.
func (e Deleted) Audit() []change.Entry { return terms(e.Of, "push_rule_removed", "Removed push rule") }

// terms is an entry with what a rule asks for.
func terms(e change.Of[Rule], event, message string) []change.Entry {
	var details []any
	for name, value := range change.Attributes(&e.Row().Terms) {
		details = append(details, name, value)
	}
	return change.RecordTarget(e.Place.Name, event, message, details...)
}

func (s *Service) mayRead(ctx context.Context, as authz.Actor, at authz.Place) error {
	return s.Policy.Require(ctx, as, at.Ability(authz.ReadPushRule, authz.ReadGroupPushRule), at.Subject)
}

func (s *Service) mayChange(ctx context.Context, as authz.Actor, at authz.Place) error {
	return s.Policy.Require(ctx, as, at.Ability(authz.AdminPushRule, authz.AdminGroupPushRule), at.Subject)
}

// Find returns the rule of a place; NotFound where there is none.
func (s *Service) Find(ctx context.Context, as authz.Actor, at authz.Place) (*Rule, error) {
	if err := s.mayRead(ctx, as, at); err != nil {
		return nil, err
	}
	return s.find(ctx, at)
}

var errMissing = errs.Missing("Push rule")

var selectRule = "SELECT " + db.Columns[Rule]("") + " FROM push_rules WHERE "

// row names the rule of a place.
func (s *Service) row(at authz.Place) db.Row {
	if at.Group {
		return db.Row{Table: "push_rules", Key: "group_id", ID: at.ID, Now: s.Now, Missing: errMissing}
	}
	return db.Row{Table: "push_rules", Key: "project_id", ID: at.ID, Now: s.Now, Missing: errMissing}
}

func (s *Service) find(ctx context.Context, at authz.Place) (*Rule, error) {
	row := s.row(at)
	r, err := db.Get[Rule](ctx, s.DB, selectRule+row.Key+" = ?", row.ID)
	if errors.Is(err, db.ErrNotFound) {
		return nil, errMissing
	}
	if err != nil {
		return nil, fmt.Errorf("read push rule: %w", err)
	}
	return &r, nil
}

// Create makes the rule of a place. A second one is Unprocessable.
func (s *Service) Create(ctx context.Context, as authz.Actor, at authz.Place, c Changes) (*Rule, error) {
	if err := s.mayChange(ctx, as, at); err != nil {
		return nil, err
	}
	now := db.At(s.Now())
	r := &Rule{CreatedAt: now, UpdatedAt: now}
	taken := errs.New(errs.Unprocessable, "Project push rule exists")
	if at.Group {
		r.GroupID = &at.Namespace
		taken = errs.New(errs.Unprocessable, "Group push rule exists, try updating")
	} else {
		r.ProjectID = project.IDOf(at)
	}
	r.apply(c)
	if err := r.validate(); err != nil {
		return nil, err
	}
	err := s.DB.InTx(ctx, func(ctx context.Context) error {
		if err := db.Create(ctx, s.DB, "push_rules", r); err != nil {
			return err
		}
		return s.Bus.Publish(ctx, Created{change.Created(as, s.Now(), at, r)})
	})
	if db.Duplicate(err, "push_rules") {
		return nil, taken
	}
	if err != nil {
		return nil, fmt.Errorf("make push rule: %w", err)
	}
	return r, nil
}

// Update changes the rule of a place; NotFound where there is none.
func (s *Service) Update(ctx context.Context, as authz.Actor, at authz.Place, c Changes) (*Rule, error) {
	if err := s.mayChange(ctx, as, at); err != nil {
		return nil, err
	}
	var out db.Change[Rule]
	err := s.DB.InTx(ctx, func(ctx context.Context) error {
		var err error
		out, err = db.Update(ctx, s.DB, s.row(at).Provided(as.UnmodifiedAt), func(_ context.Context, r *Rule) error {
			r.apply(c)
			return r.validate()
		})
		if err != nil || !out.Any() {
			return err
		}
		return s.Bus.Publish(ctx, Updated{change.Updated(as, s.Now(), at, &out)})
	})
	if err != nil {
		return nil, errs.Wrap(err, "change push rule")
	}
	return &out.After, nil
}

// Delete takes the rule of a place away; NotFound where there is none.
func (s *Service) Delete(ctx context.Context, as authz.Actor, at authz.Place) error {
	if err := s.mayChange(ctx, as, at); err != nil {
		return err
	}
	err := s.DB.InTx(ctx, func(ctx context.Context) error {
		r, err := db.Delete[Rule](ctx, s.DB, s.row(at).Provided(as.UnmodifiedAt), nil)
		if err != nil {
			return err
		}
		return s.Bus.Publish(ctx, Deleted{change.Deleted(as, s.Now(), at, &r)})
	})
	if err != nil {
		return errs.Wrap(err, "delete push rule")
	}
	return nil
}

// OnProjectCreated gives a new project a copy of the rule of the nearest group that has one.
func (s *Service) OnProjectCreated(ctx context.Context, e project.Created) error {
	list, err := db.Select[Rule](ctx, s.DB, selectRule+`group_id = (SELECT r.group_id FROM push_rules r
		JOIN namespace_ancestors a ON a.ancestor_id = r.group_id WHERE a.namespace_id = ? ORDER BY a.depth LIMIT 1)`, e.Row().ParentID)
	if err != nil {
		return fmt.Errorf("read push rule of group: %w", err)
	}
	for _, r := range list {
		now := db.At(s.Now())
		r.ID, r.GroupID, r.ProjectID, r.CreatedAt, r.UpdatedAt = 0, nil, &e.Row().ID, now, now
		if err := db.Create(ctx, s.DB, "push_rules", &r); err != nil {
			return fmt.Errorf("copy push rule of group: %w", err)
		}
	}
	return nil
}

// Checks returns the rule of a project ready to look at a push, nil where there is none.
func (s *Service) Checks(ctx context.Context, id project.ID) (*Checks, error) {
	list, err := db.Select[Rule](ctx, s.DB, selectRule+"project_id = ?", id)
	if err != nil {
		return nil, fmt.Errorf("read push rule: %w", err)
	}
	if len(list) == 0 {
		return nil, nil
	}
	return list[0].ready()
}

// About names it for events.
func (r Rule) About() change.Subject {
	return change.Subject{Type: "PushRule", ID: int64(r.ID)}
}

package milestone

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
	"tenon/internal/core/project"
	"tenon/internal/core/weburl"
)

// Deps is what a Service is made of.
type Deps struct {
	DB         *db.DB
	Policy     *authz.Policy
	Bus        *event.Bus
	Namespaces *namespace.Service
	Now        func() time.Time
	URLs       *weburl.Site
}

// Service reads and changes milestones.
type Service struct {
	Deps
}

// New builds the service.
func New(d Deps) *Service {
	return &Service{Deps: d}
}

// List returns a page of the milestones of a place by due date.
func (s *Service) List(ctx context.Context, as authz.Actor, at authz.Place, f Filter) (page.Page[Milestone], error) {
	if err := s.Policy.Require(ctx, as, authz.ReadMilestone, at.Subject); err != nil {
		return page.Page[Milestone]{}, err
	}
	list, err := s.list(ctx, as, at, f)
	if err != nil {
		return list, fmt.Errorf("list milestones: %w", err)
	}
	return list, nil
}

// Find returns a milestone of the place itself; those of groups above are not found.
func (s *Service) Find(ctx context.Context, as authz.Actor, at authz.Place, id ID) (*Milestone, error) {
	if err := s.Policy.Require(ctx, as, authz.ReadMilestone, at.Subject); err != nil {
		return nil, err
	}
	m, err := db.Get[Milestone](ctx, s.DB, "SELECT "+columns+" FROM "+tables+" WHERE m.namespace_id = ? AND m.id = ?", at.Namespace, id)
	return &m, missing(err, "find milestone")
}

// FindByIID returns a milestone of the place itself by its number.
func (s *Service) FindByIID(ctx context.Context, as authz.Actor, at authz.Place, iid IID) (*Milestone, error) {
	if err := s.Policy.Require(ctx, as, authz.ReadMilestone, at.Subject); err != nil {
		return nil, err
	}
	m, err := db.Get[Milestone](ctx, s.DB, "SELECT "+columns+" FROM "+tables+" WHERE m.namespace_id = ? AND m.iid = ?", at.Namespace, iid)
	return &m, missing(err, "find milestone")
}

// missing turns the absence of a milestone into the error for clients.
func missing(err error, doing string) error {
	if errors.Is(err, db.ErrNotFound) {
		return errs.Missing("")
	}
	return errs.Wrap(err, doing)
}

// Create makes a milestone and gives it the next number of its place.
func (s *Service) Create(ctx context.Context, as authz.Actor, at authz.Place, in Input) (*Milestone, error) {
	if err := s.Policy.Require(ctx, as, authz.AdminMilestone, at.Subject); err != nil {
		return nil, err
	}
	now := db.At(s.Now())
	m := &Milestone{
		NamespaceID: at.Namespace, Title: strings.TrimSpace(in.Title), Description: in.Description, State: Active,
		StartDate: day(in.StartDate), DueDate: day(in.DueDate), CreatedAt: now, UpdatedAt: now, ProjectID: project.IDOf(at), Path: at.Path,
	}
	bad := m.check()
	if err := failed(CodeNotCreated, bad); err != nil {
		return nil, err
	}
	err := s.DB.InTx(ctx, func(ctx context.Context) error {
		m.ID = 0 // of a run before, which made no row
		why, err := s.taken(ctx, m)
		if err != nil {
			return err
		}
		bad.Check(why == "", "title", why)
		if err := failed(CodeNotCreated, bad); err != nil {
			return err
		}
		if err := s.insert(ctx, m); err != nil {
			return err
		}
		return s.Bus.Publish(ctx, Created{change.Created(as, s.Now(), at, m)})
	})
	if db.Duplicate(err, "milestones", "namespace_id", "title") {
		return nil, failed(CodeNotCreated, titleTaken())
	}
	if err != nil {
		return nil, errs.Wrap(err, "create milestone")
	}
	return m, nil
}

func titleTaken() (bad errs.Fields) {
	bad.Add("title", taken)
	return bad
}

// insert numbers a milestone and writes it, in the caller's transaction.
func (s *Service) insert(ctx context.Context, m *Milestone) error {
	iid, err := namespace.NextIID(ctx, s.DB, m.NamespaceID, namespace.KindMilestone)
	if err != nil {
		return err
	}
	m.IID = IID(iid)
	return db.Create(ctx, s.DB, "milestones", m)
}

// Update changes a milestone of the place itself.
func (s *Service) Update(ctx context.Context, as authz.Actor, at authz.Place, id ID, c Changes) (*Milestone, error) {
	if err := s.Policy.Require(ctx, as, authz.AdminMilestone, at.Subject); err != nil {
		return nil, err
	}
	var out db.Change[Milestone]
	err := s.DB.InTx(ctx, func(ctx context.Context) error {
		var err error
		out, err = db.Update(ctx, s.DB, s.row(at, id).Provided(as.UnmodifiedAt), func(ctx context.Context, m *Milestone) error {
			before := m.Title
			c.apply(m)
			bad := m.check()
			if m.Title != before {
				why, err := s.taken(ctx, m)
				if err != nil {
					return err
				}
				bad.Check(why == "", "title", why)
			}
			return failed(CodeNotUpdated, bad)
		})
		if err != nil || !out.Any() {
			return err
		}
		return s.Bus.Publish(ctx, Updated{change.Updated(as, s.Now(), at, &out)})
	})
	if db.Duplicate(err, "milestones", "namespace_id", "title") {
		return nil, failed(CodeNotUpdated, titleTaken())
	}
	if err != nil {
		return nil, missing(err, "update milestone")
	}
	return &out.After, nil
}

// Delete removes a milestone of the place itself; its issues and merge requests have none
// afterwards.
func (s *Service) Delete(ctx context.Context, as authz.Actor, at authz.Place, id ID) error {
	if err := s.Policy.Require(ctx, as, authz.AdminMilestone, at.Subject); err != nil {
		return err
	}
	err := s.DB.InTx(ctx, func(ctx context.Context) error {
		m, err := db.Delete[Milestone](ctx, s.DB, s.row(at, id).Provided(as.UnmodifiedAt), nil)
		if err != nil {
			return err
		}
		return s.Bus.Publish(ctx, Deleted{change.Deleted(as, s.Now(), at, &m)})
	})
	return missing(err, "delete milestone")
}

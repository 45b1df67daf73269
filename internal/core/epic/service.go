package epic

import (
	"context"
	"errors"
	"fmt"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/base/event"
	"tenon/internal/base/page"
	"tenon/internal/core/authz"
	"tenon/internal/core/change"
	"tenon/internal/core/issue"
	"tenon/internal/core/label"
	"tenon/internal/core/limit"
	"tenon/internal/core/namespace"
	"tenon/internal/core/noteable"
	"tenon/internal/core/project"
	"tenon/internal/core/weburl"
)

// Deps is what a Service is made of.
type Deps struct {
	DB         *db.DB
	Policy     *authz.Policy
	Bus        *event.Bus
	Labels     *label.Service
	Issues     *issue.Service
	Projects   *project.Service
	Namespaces *namespace.Service
	Limits     *limit.Service
	Now        func() time.Time
	URLs       *weburl.Site
}

// Service reads and changes epics.
type Service struct {
	Deps

	above Above
}

// Above is what is above epics.
type Above struct {
	Commands noteable.Commands
}

// Connect gives the service what is above it.
func (s *Service) Connect(a Above) { s.above = a }

// New builds the service.
func New(d Deps) *Service {
	return &Service{Deps: d}
}

// List returns a page of the epics of a group that the actor may read.
func (s *Service) List(ctx context.Context, as authz.Actor, g *namespace.Group, f Filter) (page.Page[Epic], error) {
	if err := s.Policy.Require(ctx, as, authz.ReadEpic, g.Subject()); err != nil {
		return page.Page[Epic]{}, err
	}
	if err := s.Limits.CheckSearch(as, f.Search); err != nil {
		return page.Page[Epic]{}, err
	}
	list, err := s.list(ctx, as, g, f)
	if err != nil {
		return list, fmt.Errorf("list epics: %w", err)
	}
	return list, nil
}

// Find returns the epic with a number in a group itself.
func (s *Service) Find(ctx context.Context, as authz.Actor, g *namespace.Group, iid IID) (*Epic, error) {
	e, err := s.bare(ctx, as, g, iid)
	if err != nil {
		return nil, err
	}
	one := []Epic{*e}
	if err := s.fill(ctx, as, one); err != nil {
		return nil, fmt.Errorf("find epic: %w", err)
	}
	return &one[0], nil
}

// bare is Find without what is in other tables.
func (s *Service) bare(ctx context.Context, as authz.Actor, g *namespace.Group, iid IID) (*Epic, error) {
	if err := s.Policy.Require(ctx, as, authz.ReadEpic, g.Subject()); err != nil {
		return nil, err
	}
	e, err := db.Get[Epic](ctx, s.DB, "SELECT "+columns+" FROM "+tables+" WHERE e.group_id = ? AND e.iid = ?", g.ID, iid)
	if errors.Is(err, db.ErrNotFound) {
		return nil, errs.Missing("")
	}
	if err != nil {
		return nil, fmt.Errorf("find epic: %w", err)
	}
	if err := s.Policy.Require(ctx, as, authz.ReadEpic, e.subject(as, g)); err != nil {
		return nil, err
	}
	return &e, nil
}

// Create makes an epic, gives it the group's next number and runs the quick actions of its description.
func (s *Service) Create(ctx context.Context, as authz.Actor, g *namespace.Group, in Input) (*Epic, error) {
	run := noteable.Cut(s.above.Commands, noteable.Epic, &in.Description)
	e, err := s.create(ctx, as, g, in, nil)
	if err != nil || run == nil {
		return e, err
	}
	return s.command(ctx, as, g, e.IID, run)
}

func (s *Service) create(ctx context.Context, as authz.Actor, g *namespace.Group, in Input, of *Source) (*Epic, error) {
	if err := s.Policy.Require(ctx, as, authz.CreateEpic, g.Subject()); err != nil {
		return nil, err
	}
	owner, err := s.Policy.Can(ctx, as, authz.SetEpicTimes, g.Subject())
	if err != nil {
		return nil, err
	}
	now := s.Now()
	e := Epic{
		GroupID: g.ID, AuthorID: as.UserID, Title: in.Title, Description: in.Description, State: StateOpened, Confidential: in.Confidential,
		Color: in.Color, StartIsFixed: in.StartIsFixed, StartFixed: day(in.StartFixed), DueIsFixed: in.DueIsFixed, DueFixed: day(in.DueFixed),
		CreatedAt: db.At(now), UpdatedAt: db.At(now), Path: g.FullPath,
	}
	if e.Color == "" {
		e.Color = defaultColor
	}
	if owner && in.CreatedAt != nil {
		e.CreatedAt = db.At(*in.CreatedAt)
	}
	if err := e.validate(); err != nil {
		return nil, err
	}
	err = s.DB.InTx(ctx, func(ctx context.Context) error {
		iid, err := namespace.NextIID(ctx, s.DB, g.ID, namespace.KindEpic)
		if err != nil {
			return err
		}
		e.IID = IID(iid)
		if err := db.Create(ctx, s.DB, "epics", &e); err != nil {
			return err
		}
		labels, err := s.Labels.EnsureByNames(ctx, as, g.Place(), in.Labels)
		if err != nil {
			return err
		}
		if err := s.Labels.Attach(ctx, e.Ref(), labels); err != nil {
			return err
		}
		e.Labels = label.With(nil, labels, nil)
		if err := s.Bus.Publish(ctx, Created{Fact{change.Created(as, now, g.Place(), &e), g}, of}); err != nil {
			return err
		}
		return s.adopt(ctx, as, in.ParentID, &e, g)
	})
	if err != nil {
		return nil, errs.Wrap(err, "create epic")
	}
	return s.Find(ctx, as, g, e.IID)
}

// Delete removes an epic with everything that hangs on it. Its issues are in no epic then, and
// its children have no parent.
func (s *Service) Delete(ctx context.Context, as authz.Actor, g *namespace.Group, iid IID) error {
	e, err := s.Find(ctx, as, g, iid)
	if err != nil {
		return err
	}
	if err := s.Policy.Require(ctx, as, authz.DeleteEpic, e.subject(as, g)); err != nil {
		return err
	}
	return s.remove(ctx, as, e, g)
}

// remove deletes an epic.
func (s *Service) remove(ctx context.Context, as authz.Actor, e *Epic, g *namespace.Group) error {
	err := s.DB.InTx(ctx, func(ctx context.Context) error {
		_, err := db.Delete(ctx, s.DB, s.row(e.ID).Provided(as.UnmodifiedAt), func(ctx context.Context, now *Epic) error {
			now.Labels = e.Labels // as handlers find them while the row is there
			if err := s.Bus.Publish(ctx, Deleted{Fact{change.Deleted(as, s.Now(), g.Place(), now), g}}); err != nil {
				return err
			}
			return s.Labels.Detach(ctx, e.Ref())
		})
		return err
	})
	return errs.Wrap(err, "delete epic")
}

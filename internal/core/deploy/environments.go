package deploy

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/base/page"
	"tenon/internal/core/authz"
	"tenon/internal/core/change"
	"tenon/internal/core/project"
)

var environmentColumns = db.Columns[Environment]("e")

// Environments returns a page of the environments of a project by id.
func (s *Service) Environments(ctx context.Context, as authz.Actor, p *project.Project, f EnvironmentFilter) (page.Page[Environment], error) {
	if err := s.readable(ctx, as, p); err != nil {
		return page.Page[Environment]{}, err
	}
	var w db.Where
	w.And("e.project_id = ?", p.ID)
	if f.Name != "" {
		w.And("e.name = ?", f.Name)
	}
	if search := strings.TrimSpace(f.Search); search != "" {
		if utf8.RuneCountInString(search) < leastSearch {
			return page.Page[Environment]{}, errs.Bad(fmt.Sprintf("Search query is less than %d characters", leastSearch))
		}
		w.And(`e.name_fold LIKE ? ESCAPE '\'`, "%"+db.LikePattern(db.Fold(search))+"%")
	}
	if len(f.States) > 0 {
		w.In("e.state", f.States)
	}
	q := page.Query{Columns: environmentColumns, From: "environments e", Where: w, Order: page.Order{page.ID("e.id")}}
	list, err := page.Select[Environment](ctx, s.DB, q, f.Range)
	if err != nil {
		return list, fmt.Errorf("list environments: %w", err)
	}
	return list, nil
}

// FindEnvironment returns an environment of a project.
func (s *Service) FindEnvironment(ctx context.Context, as authz.Actor, p *project.Project, id EnvironmentID) (*Environment, error) {
	if err := s.readable(ctx, as, p); err != nil {
		return nil, err
	}
	return s.findEnvironment(ctx, p, id)
}

var errNoEnvironment = errs.Missing("Environment")

func (s *Service) findEnvironment(ctx context.Context, p *project.Project, id EnvironmentID) (*Environment, error) {
	e, err := db.Get[Environment](ctx, s.DB, "SELECT "+environmentColumns+" FROM environments e WHERE e.project_id = ? AND e.id = ?", p.ID, id)
	if errors.Is(err, db.ErrNotFound) {
		return nil, errNoEnvironment
	}
	if err != nil {
		return nil, fmt.Errorf("find environment: %w", err)
	}
	return &e, nil
}

// Last returns the newest successful deployment to an environment that was read for the caller, nil where there is none.
func (s *Service) Last(ctx context.Context, as authz.Actor, p *project.Project, id EnvironmentID) (*Deployment, error) {
	if err := s.readable(ctx, as, p); err != nil {
		return nil, err
	}
	return s.last(ctx, id)
}

func (s *Service) last(ctx context.Context, id EnvironmentID) (*Deployment, error) {
	list, err := db.Select[Deployment](ctx, s.DB, "SELECT "+columns+" FROM deployments d WHERE d.environment_id = ? AND d.status = ? ORDER BY d.id DESC LIMIT 1", id, Success)
	if err != nil {
		return nil, fmt.Errorf("last deployment: %w", err)
	}
	if len(list) == 0 {
		return nil, nil
	}
	return &list[0], nil
}

// CreateEnvironment makes an environment.
func (s *Service) CreateEnvironment(ctx context.Context, as authz.Actor, p *project.Project, c EnvironmentChanges) (*Environment, error) {
	if err := s.Policy.Require(ctx, as, authz.CreateEnvironment, subject(p)); err != nil {
		return nil, err
	}
	name := ""
	if c.Name != nil {
		name = *c.Name
	}
	e := newEnvironment(p, name, db.At(s.Now()))
	c.apply(e)
	if err := e.check(); err != nil {
		return nil, err
	}
	err := s.DB.InTx(ctx, func(ctx context.Context) error {
		switch found, err := s.named(ctx, p, e.Name); {
		case err != nil:
			return err
		case found != nil:
			return errTaken
		}
		if err := db.Create(ctx, s.DB, "environments", e); err != nil {
			return err
		}
		return s.Bus.Publish(ctx, EnvironmentCreated{change.Created(as, s.Now(), p.Place(), e), p})
	})
	if err != nil {
		return nil, doubled(err, "create environment")
	}
	return e, nil
}

var errTaken = errs.Sentences(errs.Invalid, "Name "+taken)

// doubled words the refusal of a name or slug that another environment of the project has.
func doubled(err error, doing string) error {
	switch {
	case db.Duplicate(err, "environments", "project_id", "name"):
		return errTaken
	case db.Duplicate(err, "environments", "project_id", "slug"):
		return errs.Sentences(errs.Invalid, "Slug "+taken)
	}
	return errs.Wrap(err, doing)
}

// environmentRow names an environment of a project.
func (s *Service) environmentRow(p *project.Project, id EnvironmentID) db.Row {
	r := db.Row{Table: "environments", ID: id, Now: s.Now, Missing: errNoEnvironment}
	r.And.And("project_id = ?", p.ID)
	return r
}

// UpdateEnvironment changes an environment. Its slug stays.
func (s *Service) UpdateEnvironment(ctx context.Context, as authz.Actor, p *project.Project, id EnvironmentID, c EnvironmentChanges) (*Environment, error) {
	if err := s.Policy.Require(ctx, as, authz.UpdateEnvironment, subject(p)); err != nil {
		return nil, err
	}
	if err := s.mayDeployTo(ctx, as, p, id); err != nil {
		return nil, err
	}
	out, err := s.changeEnvironment(ctx, as, p, s.environmentRow(p, id).Provided(as.UnmodifiedAt), func(ctx context.Context, e *Environment) error {
		was := e.Tier
		c.apply(e)
		if err := e.check(); err != nil {
			return err
		}
		if e.Tier != was {
			if err := s.mayMove(ctx, as, p, e.Tier); err != nil {
				return err
			}
		}
		return s.mayDeploy(ctx, as, p, e.Name)
	})
	if err != nil {
		return nil, doubled(err, "update environment")
	}
	return out, nil
}

// changeEnvironment writes a change of an environment and publishes it.
func (s *Service) changeEnvironment(ctx context.Context, as authz.Actor, p *project.Project, r db.Row, fn func(ctx context.Context, e *Environment) error) (*Environment, error) {
	var out db.Change[Environment]
	err := s.DB.InTx(ctx, func(ctx context.Context) error {
		var err error
		if out, err = db.Update(ctx, s.DB, r, fn); err != nil || !out.Any() {
			return err
		}
		return s.Bus.Publish(ctx, updatedEnvironment(as, s.Now(), p, &out.Before, &out.After))
	})
	return &out.After, err
}

func updatedEnvironment(as authz.Actor, now time.Time, p *project.Project, before, after *Environment) EnvironmentUpdated {
	return EnvironmentUpdated{change.Between(as, now, p.Place(), before, after), p}
}

// DeleteEnvironment deletes an environment that is stopped, with its deployments.
func (s *Service) DeleteEnvironment(ctx context.Context, as authz.Actor, p *project.Project, id EnvironmentID) error {
	if err := s.Policy.Require(ctx, as, authz.DestroyEnvironment, subject(p)); err != nil {
		return err
	}
	if err := s.mayDeployTo(ctx, as, p, id); err != nil {
		return err
	}
	return errs.Wrap(s.removeEnvironment(ctx, as, p, s.environmentRow(p, id).Provided(as.UnmodifiedAt)), "delete environment")
}

func (s *Service) removeEnvironment(ctx context.Context, as authz.Actor, p *project.Project, r db.Row) error {
	return s.DB.InTx(ctx, func(ctx context.Context) error {
		was, err := db.Delete(ctx, s.DB, r, func(_ context.Context, e *Environment) error {
			if e.State != Stopped {
				return errs.Denied("")
			}
			return nil
		})
		if err != nil {
			return err
		}
		if err := s.Jobs.Enqueue(ctx, dropCommit{ProjectID: p.ID, Prefix: refs + was.Slug + "/"}); err != nil {
			return fmt.Errorf("enqueue end of environment: %w", err)
		}
		return s.Bus.Publish(ctx, EnvironmentDeleted{change.Deleted(as, s.Now(), p.Place(), &was), p})
	})
}

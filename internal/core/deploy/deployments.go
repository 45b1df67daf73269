package deploy

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/base/gitstore"
	"tenon/internal/base/page"
	"tenon/internal/core/authz"
	"tenon/internal/core/change"
	"tenon/internal/core/namespace"
	"tenon/internal/core/project"
)

// Filter selects from the deployments of a project; the zero value selects all, the oldest first.
type Filter struct {
	Environment                   string // name
	EnvironmentID                 EnvironmentID
	States                        []State // any of them; none is any
	UpdatedAfter, UpdatedBefore   *time.Time
	FinishedAfter, FinishedBefore *time.Time // with OrderBy finished_at, unless EnvironmentID is set, and the state success only
	OrderBy                       string     // id, iid, created_at, updated_at, finished_at or ref; "" is id
	Desc                          bool
	page.Range
}

// The errors of conditions that do not go together.
const (
	CodeUnpaired   errs.Code = "deployment_list_unpaired"   // one of order and bound by finished_at without the other
	CodeUnfinished errs.Code = "deployment_list_unfinished" // finished_at without the state success
	CodeTwoTimes   errs.Code = "deployment_list_two_times"  // finished_at with updated_at
)

const byFinished = "finished_at"

// newest keeps deployments of the same rank in the order of their age, the newest first.
var newest = page.ID("d.id").Desc().Fixed()

var orders = page.Orders{
	"":           {page.ID("d.id")},
	"updated_at": {page.Time("updated_at", "d.updated_at"), newest},
	byFinished:   {page.Time(byFinished, "d.finished_at").Null(), newest},
	"ref":        {page.Text("ref", "d.ref"), newest},
}

// check refuses conditions that do not go together.
func (f *Filter) check() error {
	finished, updated := f.FinishedAfter != nil || f.FinishedBefore != nil, f.UpdatedAfter != nil || f.UpdatedBefore != nil
	switch {
	case finished && updated:
		return errs.Coded(errs.BadRequest, CodeTwoTimes, "a list is narrowed by one time")
	case finished != (f.OrderBy == byFinished) && f.EnvironmentID == 0:
		return errs.Coded(errs.BadRequest, CodeUnpaired, "a list narrowed by the end of deployments is sorted by it too")
	case finished && !slices.Equal(f.States, []State{Success}):
		return errs.Coded(errs.BadRequest, CodeUnfinished, "a list narrowed by the end of deployments has successful ones alone")
	}
	return nil
}

// List returns a page of the deployments of a project.
func (s *Service) List(ctx context.Context, as authz.Actor, p *project.Project, f Filter) (page.Page[Deployment], error) {
	if err := s.readable(ctx, as, p); err != nil {
		return page.Page[Deployment]{}, err
	}
	if err := f.check(); err != nil {
		return page.Page[Deployment]{}, err
	}
	var w db.Where
	switch { // an environment has few of a project's deployments
	case f.EnvironmentID != 0:
		w.And("d.environment_id = (SELECT e.id FROM environments e WHERE e.project_id = ? AND e.id = ?)", p.ID, f.EnvironmentID)
	case f.Environment != "":
		w.And("d.environment_id = (SELECT e.id FROM environments e WHERE e.project_id = ? AND e.name = ?)", p.ID, f.Environment)
	default:
		w.And("d.project_id = ?", p.ID)
	}
	if len(f.States) > 0 {
		w.In("d.status", f.States)
	}
	w.Since("d.updated_at", f.UpdatedAfter)
	w.Until("d.updated_at", f.UpdatedBefore)
	w.Since("d.finished_at", f.FinishedAfter)
	w.Until("d.finished_at", f.FinishedBefore)
	order := orders.By(f.OrderBy)
	if f.Desc {
		order = order.Desc()
	}
	list, err := page.Select[listRow](ctx, s.DB, page.Query{
		Columns: columns + listColumns, From: listTables, Key: "d.id", Narrow: "deployments d", Where: w, Order: order,
	}, f.Range)
	if err != nil {
		return page.Page[Deployment]{}, fmt.Errorf("list deployments: %w", err)
	}
	return page.Map(list, (*listRow).deployment), nil
}

// Find returns a deployment of a project.
func (s *Service) Find(ctx context.Context, as authz.Actor, p *project.Project, id ID) (*Deployment, error) {
	if err := s.readable(ctx, as, p); err != nil {
		return nil, err
	}
	return s.find(ctx, p, id)
}

var errNoDeployment = errs.Missing("Deployment")

func (s *Service) find(ctx context.Context, p *project.Project, id ID) (*Deployment, error) {
	d, err := db.Get[Deployment](ctx, s.DB, "SELECT "+columns+" FROM deployments d WHERE d.project_id = ? AND d.id = ?", p.ID, id)
	if errors.Is(err, db.ErrNotFound) {
		return nil, errNoDeployment
	}
	if err != nil {
		return nil, fmt.Errorf("find deployment: %w", err)
	}
	return &d, nil
}

// Input is what another system says of a deployment.
type Input struct {
	Environment string // name; it is made where it is new
	SHA         string
	Ref         string // short name of a branch or a tag
	Tag         bool
	State       State // running, success, failed or canceled
}

// reported are the states that other systems report.
var reported = []State{Running, Success, Failed, Canceled}

// Create records a deployment by another system. It requires CreateDeployment.
func (s *Service) Create(ctx context.Context, as authz.Actor, p *project.Project, in Input) (*Deployment, error) {
	if err := s.Policy.Require(ctx, as, authz.CreateDeployment, subject(p)); err != nil {
		return nil, err
	}
	if err := s.mayDeploy(ctx, as, p, in.Environment); err != nil {
		return nil, err
	}
	if err := s.checkCommit(ctx, p, in); err != nil {
		return nil, err
	}
	if !slices.Contains(reported, in.State) {
		return nil, errs.Broken("", "status", "is invalid")
	}
	var d *Deployment
	err := s.DB.InTx(ctx, func(ctx context.Context) error {
		e, err := s.ensure(ctx, as, p, newEnvironment(p, in.Environment, db.At(s.Now())))
		if err != nil {
			return err
		}
		user := as.UserID
		d = &Deployment{UserID: &user, Ref: in.Ref, Tag: in.Tag, SHA: in.SHA}
		d.enter(in.State, s.Now())
		return s.insert(ctx, as, p, e, d)
	})
	if err != nil {
		return nil, errs.Wrap(err, "create deployment")
	}
	return d, nil
}

// checkCommit refuses a commit, branch or tag that is not there.
func (s *Service) checkCommit(ctx context.Context, p *project.Project, in Input) error {
	g, err := s.Repos.Open(ctx, p)
	if err != nil {
		return err
	}
	var f errs.Fields
	id, err := gitstore.ParseObjectID(in.SHA)
	if err == nil {
		var info gitstore.Info
		if info, err = g.Info(ctx, id); err == nil && info.Kind != gitstore.KindCommit {
			err = gitstore.ErrNotFound
		}
		if err != nil && !errors.Is(err, gitstore.ErrNotFound) {
			return fmt.Errorf("find commit: %w", err)
		}
	}
	f.Check(err == nil, "sha", "The commit does not exist")
	name := "refs/heads/" + in.Ref
	if in.Tag {
		name = "refs/tags/" + in.Ref
	}
	_, err = g.Ref(ctx, gitstore.RefName(name))
	if err != nil && !errors.Is(err, gitstore.ErrNotFound) && gitstore.RefName(name).Valid() {
		return fmt.Errorf("find reference: %w", err)
	}
	f.Check(err == nil, "ref", "The branch or tag does not exist")
	return f.Err()
}

// ensure returns the environment of a name, which is made where it is new, in the caller's transaction.
func (s *Service) ensure(ctx context.Context, as authz.Actor, p *project.Project, e *Environment) (*Environment, error) {
	if err := e.check(); err != nil {
		return nil, err
	}
	found, err := s.named(ctx, p, e.Name)
	if err != nil || found != nil {
		return found, err
	}
	made, err := db.InsertRow(ctx, s.DB, "environments", e, "ON CONFLICT DO NOTHING")
	if err != nil {
		return nil, fmt.Errorf("create environment: %w", err)
	}
	if found, err = s.named(ctx, p, e.Name); err != nil {
		return nil, err
	}
	if found == nil {
		return nil, errs.Sentences(errs.Invalid, "Slug "+taken)
	}
	if made == 0 {
		return found, nil // another transaction was first
	}
	return found, s.Bus.Publish(ctx, EnvironmentCreated{change.Created(as, s.Now(), p.Place(), found), p})
}

// named returns the environment of a name, nil where there is none.
func (s *Service) named(ctx context.Context, p *project.Project, name string) (*Environment, error) {
	list, err := db.Select[Environment](ctx, s.DB, "SELECT "+environmentColumns+" FROM environments e WHERE e.project_id = ? AND e.name = ? ORDER BY e.id", p.ID, name)
	if err != nil {
		return nil, fmt.Errorf("find environment: %w", err)
	}
	if len(list) == 0 {
		return nil, nil
	}
	return &list[0], nil
}

// enter gives a deployment a state at a time.
func (d *Deployment) enter(to State, now time.Time) {
	d.State, d.FinishedAt = to, nil
	if to.Complete() {
		at := db.At(now)
		d.FinishedAt = &at
	}
}

// insert numbers a deployment to an environment and writes it, in the caller's transaction.
func (s *Service) insert(ctx context.Context, as authz.Actor, p *project.Project, e *Environment, d *Deployment) error {
	iid, err := namespace.NextIID(ctx, s.DB, p.NamespaceID, namespace.KindDeployment)
	if err != nil {
		return err
	}
	now := db.At(s.Now())
	d.IID, d.ProjectID, d.EnvironmentID, d.CreatedAt, d.UpdatedAt = iid, p.ID, e.ID, now, now
	if err := db.Create(ctx, s.DB, "deployments", d); err != nil {
		return fmt.Errorf("create deployment: %w", err)
	}
	if err := s.Jobs.Enqueue(ctx, keepCommit{ID: d.ID}); err != nil {
		return fmt.Errorf("enqueue reference of deployment: %w", err)
	}
	if err := s.deployed(ctx, as, p, d); err != nil {
		return err
	}
	return s.Bus.Publish(ctx, DeploymentCreated{change.Created(as, s.Now(), p.Place(), d), *e, p})
}

// deployed does what follows from a deployment's success: its environment is there, and is not deleted by itself; a job links what it shipped.
func (s *Service) deployed(ctx context.Context, as authz.Actor, p *project.Project, d *Deployment) error {
	if d.State != Success {
		return nil
	}
	if err := s.Jobs.Enqueue(ctx, ship{ID: d.ID}); err != nil {
		return fmt.Errorf("enqueue links of deployment: %w", err)
	}
	_, err := s.changeEnvironment(ctx, as, p, s.environmentRow(p, d.EnvironmentID), func(_ context.Context, e *Environment) error {
		e.State, e.AutoStopAt, e.AutoDeleteAt = Available, nil, nil
		return nil
	})
	return err
}

// Update reports the state of a deployment by another system. It requires UpdateDeployment; those of jobs follow the job.
func (s *Service) Update(ctx context.Context, as authz.Actor, p *project.Project, id ID, to State) (*Deployment, error) {
	if err := s.Policy.Require(ctx, as, authz.UpdateDeployment, subject(p)); err != nil {
		return nil, err
	}
	if !slices.Contains(reported, to) {
		return nil, errs.Broken("", "status", "is invalid")
	}
	known, err := s.find(ctx, p, id)
	if err != nil {
		return nil, err
	}
	if err := s.mayDeployTo(ctx, as, p, known.EnvironmentID); err != nil {
		return nil, err
	}
	r := s.row(p, id).Provided(as.UnmodifiedAt)
	out, err := s.change(ctx, as, p, r, func(d *Deployment) error {
		switch {
		case d.ByJob:
			return errs.Denied("Deployments created using GitLab CI can not be updated using the API")
		case d.State == to:
			return nil
		case to == Running && d.State.Complete():
			return errs.Broken("", "status", `cannot transition via "run"`)
		}
		d.enter(to, s.Now())
		return nil
	})
	if err != nil {
		return nil, errs.Wrap(err, "update deployment")
	}
	return out, nil
}

// row names a deployment of a project.
func (s *Service) row(p *project.Project, id ID) db.Row {
	r := db.Row{Table: "deployments", ID: id, Now: s.Now, Missing: errNoDeployment}
	r.And.And("project_id = ?", p.ID)
	return r
}

// change writes a change of a deployment, publishes it and does what follows from it.
func (s *Service) change(ctx context.Context, as authz.Actor, p *project.Project, r db.Row, fn func(d *Deployment) error) (*Deployment, error) {
	var out db.Change[Deployment]
	err := s.DB.InTx(ctx, func(ctx context.Context) error {
		var err error
		out, err = db.Update(ctx, s.DB, r, func(_ context.Context, d *Deployment) error { return fn(d) })
		if err != nil || !out.Any() {
			return err
		}
		if err := s.deployed(ctx, as, p, &out.After); err != nil {
			return err
		}
		e, err := s.findEnvironment(ctx, p, out.After.EnvironmentID)
		if err != nil {
			return err
		}
		return s.Bus.Publish(ctx, DeploymentUpdated{change.Updated(as, s.Now(), p.Place(), &out), *e, p})
	})
	return &out.After, err
}

// Delete deletes a deployment that neither runs nor is the last one of its environment. It requires DestroyDeployment.
func (s *Service) Delete(ctx context.Context, as authz.Actor, p *project.Project, id ID) error {
	if err := s.Policy.Require(ctx, as, authz.DestroyDeployment, subject(p)); err != nil {
		return err
	}
	err := s.DB.InTx(ctx, func(ctx context.Context) error {
		was, err := db.Delete(ctx, s.DB, s.row(p, id).Provided(as.UnmodifiedAt), func(ctx context.Context, d *Deployment) error {
			if d.State == Running {
				return errs.Plain("Cannot destroy running deployment")
			}
			last, err := s.last(ctx, d.EnvironmentID)
			if err == nil && last != nil && last.ID == d.ID {
				err = errs.Plain("Deployment currently deployed to environment")
			}
			return err
		})
		if err != nil {
			return err
		}
		e, err := s.findEnvironment(ctx, p, was.EnvironmentID)
		if err != nil {
			return err
		}
		if err := s.Jobs.Enqueue(ctx, dropCommit{ProjectID: p.ID, Ref: reference(e, &was)}); err != nil {
			return fmt.Errorf("enqueue end of deployment: %w", err)
		}
		return s.Bus.Publish(ctx, DeploymentDeleted{change.Deleted(as, s.Now(), p.Place(), &was), *e, p})
	})
	return errs.Wrap(err, "delete deployment")
}

package runner

import (
	"context"
	"fmt"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/core/authz"
	"tenon/internal/core/change"
	"tenon/internal/core/project"
)

// Owned finds a runner that the actor may change: an administrator any, an owner of its group,
// a maintainer of a project that it is assigned to. Any other is Forbidden.
func (s *Service) Owned(ctx context.Context, as authz.Actor, id ID) (*Runner, error) {
	if err := s.Policy.Require(ctx, as, authz.UpdateRunner, authz.Subject{}); err != nil {
		return nil, err
	}
	all, err := s.Load(ctx, []ID{id})
	if err != nil {
		return nil, err
	}
	r := all[id]
	if r == nil {
		return nil, errs.Missing("Runner")
	}
	may, err := s.mayUpdate(ctx, as, id)
	if err != nil {
		return nil, err
	}
	if !may {
		return nil, denied()
	}
	return r, nil
}

// mayUpdate reports whether the actor may change a runner.
func (s *Service) mayUpdate(ctx context.Context, as authz.Actor, id ID) (bool, error) {
	if as.Admin {
		return true, nil
	}
	return s.holds(ctx, id, func() (string, []any) { return s.ownedSQL(as, authz.Owner) })
}

// update is db.Update for a runner, which keeps the rows of its tags in step.
func (s *Service) update(ctx context.Context, as authz.Actor, id ID, change func(r *Runner) error) (db.Change[Runner], error) {
	return db.Update(ctx, s.DB, s.row(as, id), func(ctx context.Context, r *Runner) error {
		was := r.TagsJSON
		if err := change(r); err != nil {
			return err
		}
		if r.TagsJSON == was {
			return nil
		}
		return s.writeTags(ctx, r)
	})
}

func (s *Service) row(as authz.Actor, id ID) db.Row {
	return db.Row{Table: "runners", ID: id, Now: s.Now, If: as.UnmodifiedAt, Missing: errs.Missing("Runner")}
}

func (s *Service) writeTags(ctx context.Context, r *Runner) error {
	if _, err := s.DB.Exec(ctx, "DELETE FROM runner_tags WHERE runner_id = ?", r.ID); err != nil {
		return err
	}
	for _, tag := range r.Tags() {
		if _, err := db.InsertRow(ctx, s.DB, "runner_tags", db.Values{"runner_id": r.ID, "name": tag}, ""); err != nil {
			return err
		}
	}
	return nil
}

// Update changes a runner.
func (s *Service) Update(ctx context.Context, as authz.Actor, id ID, c Changes) (*Runner, error) {
	if _, err := s.Owned(ctx, as, id); err != nil {
		return nil, err
	}
	var out db.Change[Runner]
	err := s.DB.InTx(ctx, func(ctx context.Context) error {
		var err error
		out, err = s.update(ctx, as, id, c.apply)
		if err != nil || !out.Any() {
			return err
		}
		return s.Bus.Publish(ctx, Updated{change.Updated(as, s.Now(), out.After.place(), &out)})
	})
	if err != nil {
		return nil, errs.Wrap(err, "update runner")
	}
	s.refresh(&out.After)
	return &out.After, nil
}

// Delete removes a runner. One that serves several projects is removed by administrators only.
func (s *Service) Delete(ctx context.Context, as authz.Actor, id ID) error {
	if _, err := s.Owned(ctx, as, id); err != nil {
		return err
	}
	err := s.DB.InTx(ctx, func(ctx context.Context) error {
		return s.remove(ctx, as, id, func(ctx context.Context, _ *Runner) error {
			n, err := db.Get[int](ctx, s.DB, "SELECT COUNT(*) FROM runner_projects WHERE runner_id = ?", id)
			if err == nil && n > 1 && !as.Admin {
				err = errs.Denied("Runner associated with more than one project")
			}
			return err
		})
	})
	return errs.Wrap(err, "delete runner")
}

// remove deletes a runner in the transaction of ctx.
func (s *Service) remove(ctx context.Context, as authz.Actor, id ID, allow func(ctx context.Context, r *Runner) error) error {
	first, err := db.Select[project.ID](ctx, s.DB, "SELECT project_id FROM runner_projects WHERE runner_id = ? ORDER BY id LIMIT 1", id)
	if err != nil {
		return err
	}
	r, err := db.Delete(ctx, s.DB, s.row(as, id), allow)
	if err != nil {
		return err
	}
	e := Deleted{Of: change.Deleted(as, s.Now(), r.place(), &r)}
	if len(first) > 0 {
		e.ProjectID = &first[0]
	}
	return s.Bus.Publish(ctx, e)
}

// Assign lets a project runner serve a further project. The actor needs both: to maintain the
// project and a project of the runner.
func (s *Service) Assign(ctx context.Context, as authz.Actor, p *project.Project, id ID) (*Runner, error) {
	if err := s.Policy.Require(ctx, as, authz.AdminProjectRunners, p.Subject()); err != nil {
		return nil, err
	}
	all, err := s.Load(ctx, []ID{id})
	if err != nil {
		return nil, err
	}
	r := all[id]
	switch {
	case r == nil:
		return nil, errs.Missing("Runner")
	case r.Type == GroupType:
		return nil, errs.Denied("Runner is a group runner")
	}
	if err := s.requireAssignable(ctx, as, r); err != nil {
		return nil, err
	}
	if r.Type == InstanceType {
		return nil, errs.Denied("Runner is an instance runner")
	}
	err = s.DB.InTx(ctx, func(ctx context.Context) error {
		locked, err := db.ForUpdate[Runner](ctx, s.DB, db.Row{Table: "runners", ID: id, Missing: errs.Missing("Runner")})
		if err != nil {
			return err
		}
		if locked.Locked && !as.Admin {
			return errs.Denied("Runner is locked")
		}
		if err := s.assign(ctx, id, p.ID); err != nil {
			return err
		}
		return s.Bus.Publish(ctx, Assigned{change.About(as, s.Now(), p.Place(), &locked)})
	})
	if db.Duplicate(err, "runner_projects") {
		var f errs.Fields
		f.Add("runner_id", "has already been taken")
		return nil, f.Err()
	}
	if err != nil {
		return nil, errs.Wrap(err, "assign runner")
	}
	return r, nil
}

// requireAssignable refuses to assign or unassign a runner that is locked, or that the actor
// has nothing to do with. Administrators may all the same.
func (s *Service) requireAssignable(ctx context.Context, as authz.Actor, r *Runner) error {
	if as.Admin {
		return nil
	}
	if r.Locked {
		return errs.Denied("Runner is locked")
	}
	may, err := s.mayUpdate(ctx, as, r.ID)
	if err == nil && !may {
		return denied()
	}
	return err
}

// assign lets a project runner serve a project, which may have as many as its plan allows.
func (s *Service) assign(ctx context.Context, id ID, p project.ID) error {
	if most := s.Plans.InForce().CIRegisteredProjectRunners; most > 0 {
		b := db.Bound{Table: "runner_projects", Most: int(most), Full: full("project", most)}
		b.Of.And("project_id = ?", p)
		if err := s.DB.Room(ctx, b, 1); err != nil {
			return err
		}
	}
	_, err := db.InsertRow(ctx, s.DB, "runner_projects", db.Values{"runner_id": id, "project_id": p, "created_at": db.At(s.Now())}, "")
	return err
}

// Unassign ends that a project runner serves a project. The last one keeps it.
func (s *Service) Unassign(ctx context.Context, as authz.Actor, p *project.Project, id ID) error {
	if err := s.Policy.Require(ctx, as, authz.AdminProjectRunners, p.Subject()); err != nil {
		return err
	}
	err := s.DB.InTx(ctx, func(ctx context.Context) error {
		r, err := db.ForUpdate[Runner](ctx, s.DB, db.Row{Table: "runners", ID: id, Missing: errs.Missing("Runner")})
		if err != nil {
			return err
		}
		n, err := s.DB.Exec(ctx, "DELETE FROM runner_projects WHERE runner_id = ? AND project_id = ?", id, p.ID)
		switch {
		case err != nil:
			return err
		case n == 0:
			return errs.Missing("Runner")
		case r.Locked && !as.Admin:
			return errs.Denied("Runner is locked")
		}
		if n, err := db.Get[int](ctx, s.DB, "SELECT COUNT(*) FROM runner_projects WHERE runner_id = ?", id); err != nil || n == 0 {
			if err == nil {
				err = errs.Denied("Only one project associated with the runner. Please remove the runner instead")
			}
			return err
		}
		return s.Bus.Publish(ctx, Unassigned{change.About(as, s.Now(), p.Place(), &r)})
	})
	if err != nil {
		return errs.Wrap(err, fmt.Sprintf("unassign runner %d", id))
	}
	return nil
}

package epic

import (
	"context"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/core/authz"
	"tenon/internal/core/change"
	"tenon/internal/core/label"
	"tenon/internal/core/namespace"
	"tenon/internal/core/noteable"
)

// Update changes an epic of the group itself and runs the quick actions of its new description.
func (s *Service) Update(ctx context.Context, as authz.Actor, g *namespace.Group, iid IID, c Changes) (*Epic, error) {
	run := s.Cut(&c)
	e, err := s.Change(ctx, as, g, iid, c)
	if err != nil || run == nil {
		return e, err
	}
	return s.command(ctx, as, g, iid, run)
}

// Cut takes the quick actions out of the new description, for a caller of Change that runs them after its transaction.
func (s *Service) Cut(c *Changes) noteable.Run {
	return noteable.Cut(s.above.Commands, noteable.Epic, &c.Description)
}

// command runs the quick actions of a description on the epic that has it, and returns it as it is then.
func (s *Service) command(ctx context.Context, as authz.Actor, g *namespace.Group, iid IID, run noteable.Run) (*Epic, error) {
	if err := run.On(ctx, as, s, g.Place(), noteable.Key{IID: int64(iid)}); err != nil {
		return nil, err
	}
	return s.Find(ctx, as, g, iid)
}

// Change is Update for a description without quick actions: it runs no git, so that a transaction may be around it.
func (s *Service) Change(ctx context.Context, as authz.Actor, g *namespace.Group, iid IID, c Changes) (*Epic, error) {
	e, err := s.bare(ctx, as, g, iid)
	if err != nil {
		return nil, err
	}
	if err := s.Policy.Require(ctx, as, authz.UpdateEpic, e.subject(as, g)); err != nil {
		return nil, err
	}
	owner, err := s.Policy.Can(ctx, as, authz.SetEpicTimes, e.subject(as, g))
	if err != nil {
		return nil, err
	}
	if !owner {
		c.UpdatedAt = nil
	}
	err = s.DB.InTx(ctx, func(ctx context.Context) error { return s.change(ctx, as, g, e.ID, c) })
	if err != nil {
		return nil, errs.Wrap(err, "update epic")
	}
	return s.Find(ctx, as, g, iid)
}

// change applies permitted changes to the row as it is now, in the caller's transaction.
func (s *Service) change(ctx context.Context, as authz.Actor, g *namespace.Group, id ID, c Changes) error {
	var before Epic // with labels
	out, err := db.Update(ctx, s.DB, s.row(id).Provided(as.UnmodifiedAt), func(ctx context.Context, e *Epic) error {
		one := []Epic{*e}
		if err := s.labelled(ctx, one); err != nil {
			return err
		}
		before, *e = one[0], one[0]
		now := s.Now()
		c.apply(e, as, now)
		if err := e.validate(); err != nil {
			return err
		}
		added, removed, err := s.Labels.Apply(ctx, as, g.Place(), e.Ref(), e.Labels, c.Labels)
		if err != nil {
			return err
		}
		e.Labels = label.With(e.Labels, added, removed)
		switch {
		case c.UpdatedAt != nil:
			e.UpdatedAt = db.At(*c.UpdatedAt)
		case len(added)+len(removed) > 0:
			e.UpdatedAt = db.At(now)
		}
		return nil
	})
	if err != nil {
		return err
	}
	f := Fact{change.Between(as, s.Now(), g.Place(), &before, &out.After), g}
	if change.HasOther(f.Before, f.Row(), "state", "closed_at", "closed_by_id", "updated_at") {
		if err := s.Bus.Publish(ctx, Updated{f}); err != nil {
			return err
		}
	}
	if err := s.publishState(ctx, f); err != nil || c.ParentID == nil {
		return err
	}
	return s.move(ctx, as.Unconditional(), &out.After, g, *c.ParentID)
}

// publishState says that an epic was closed or opened again.
func (s *Service) publishState(ctx context.Context, f Fact) error {
	switch {
	case f.Row().State == f.Before.State:
		return nil
	case f.Row().State == StateClosed:
		return s.Bus.Publish(ctx, Closed{f})
	default:
		return s.Bus.Publish(ctx, Reopened{f})
	}
}

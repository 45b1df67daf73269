package epic

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/core/authz"
	"tenon/internal/core/change"
	"tenon/internal/core/label"
	"tenon/internal/core/namespace"
)

// Update changes an epic of the group itself.
func (s *Service) Update(ctx context.Context, as authz.Actor, g *namespace.Group, iid IID, c Changes) (*Epic, error) {
	e, err := s.bare(ctx, as, g, iid)
	if err != nil {
		return nil, err
	}
	if err := s.policy.Require(ctx, as, authz.UpdateEpic, e.subject(as, g)); err != nil {
		return nil, err
	}
	owner, err := s.policy.Can(ctx, as, authz.SetEpicTimes, e.subject(as, g))
	if err != nil {
		return nil, err
	}
	if !owner {
		c.UpdatedAt = nil
	}
	err = s.db.InTx(ctx, func(ctx context.Context) error { return s.change(ctx, as, g, e.ID, c) })
	if err != nil {
		return nil, errs.Wrap(err, "update epic")
	}
	return s.Find(ctx, as, g, iid)
}

// change applies permitted changes to the row as it is now, in the caller's transaction.
func (s *Service) change(ctx context.Context, as authz.Actor, g *namespace.Group, id ID, c Changes) error {
	var before Epic // with labels
	out, err := db.Update(ctx, s.db, s.row(id).Provided(as.UnmodifiedAt), func(ctx context.Context, e *Epic) error {
		one := []Epic{*e}
		if err := s.labelled(ctx, one); err != nil {
			return err
		}
		before, *e = one[0], one[0]
		now := s.now()
		c.apply(e, as, now)
		if err := e.validate(); err != nil {
			return err
		}
		added, removed, err := s.labels.Apply(ctx, as, g.Place(), e.noteable(), e.Labels, c.Labels)
		if err != nil {
			return err
		}
		e.Labels = slices.DeleteFunc(slices.Clone(e.Labels), func(l label.Label) bool {
			return slices.ContainsFunc(removed, func(r label.Label) bool { return r.ID == l.ID })
		})
		e.Labels = sorted(append(e.Labels, added...))
		switch {
		case c.UpdatedAt != nil:
			e.UpdatedAt = db.At(*c.UpdatedAt)
		case len(added)+len(removed) > 0:
			e.UpdatedAt = db.At(now)
		}
		return nil
	})
	if errors.Is(err, db.ErrNotFound) {
		return errs.Missing("")
	}
	if err != nil {
		return err
	}
	f := Fact{Epic: out.After, Before: &before, Group: g, Stamp: as.Stamp(s.now())}
	if change.HasOther(f.Before, &f.Epic, "state", "closed_at", "closed_by_id", "updated_at") {
		if err := s.bus.Publish(ctx, Updated{f}); err != nil {
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
	case f.Epic.State == f.Before.State:
		return nil
	case f.Epic.State == StateClosed:
		return s.bus.Publish(ctx, Closed{f})
	default:
		return s.bus.Publish(ctx, Reopened{f})
	}
}

// sorted puts labels in the order of their titles.
func sorted(labels []label.Label) []label.Label {
	slices.SortFunc(labels, func(a, b label.Label) int { return cmp.Or(cmp.Compare(a.Title, b.Title), cmp.Compare(a.ID, b.ID)) })
	return labels
}

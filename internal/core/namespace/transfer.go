package namespace

import (
	"context"
	"errors"
	"fmt"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/base/page"
	"tenon/internal/core/authz"
	"tenon/internal/core/change"
)

var errInside = errors.New("place would stand in itself")

// Move puts a place, with everything below it, into another one, nil for the top level.
// The old paths redirect until something else takes them, and nothing stays more visible
// than what it is in. It belongs into the transaction that moves what stands there;
// ErrTaken or ErrNameTaken where the path or name is held already.
func (s *Service) Move(ctx context.Context, id ID, into *ID) error {
	err := s.DB.InTx(ctx, func(ctx context.Context) error {
		if err := s.hold(ctx, id, into); err != nil {
			return err
		}
		old, err := db.Get[place](ctx, s.DB, "SELECT path, name, NULL AS above, NULL AS above_name FROM routes WHERE namespace_id = ?", id)
		if err != nil {
			return err
		}
		own, err := db.Get[place](ctx, s.DB, "SELECT path, name, NULL AS above, NULL AS above_name FROM namespaces WHERE id = ?", id)
		if err != nil {
			return err
		}
		if _, err := s.DB.Exec(ctx, `DELETE FROM namespace_ancestors
			WHERE namespace_id IN (SELECT namespace_id FROM namespace_ancestors WHERE ancestor_id = ?)
			AND ancestor_id IN (SELECT ancestor_id FROM namespace_ancestors WHERE namespace_id = ? AND depth > 0)`, id, id); err != nil {
			return err
		}
		if _, err := s.DB.Exec(ctx, "UPDATE namespaces SET parent_id = ?, updated_at = ? WHERE id = ?", into, db.At(s.Now()), id); err != nil {
			return taken(err, ErrNameTaken)
		}
		if into != nil {
			if own, err = s.enter(ctx, id, *into, own); err != nil {
				return err
			}
		}
		return s.reroute(ctx, id, old, own.Path, own.Name)
	})
	if err != nil {
		return fmt.Errorf("move namespace: %w", err)
	}
	return nil
}

// hold locks a place with all that is in it, and what another one is in, until the
// transaction of ctx ends: nothing moves or is shown to others there.
func (s *Service) hold(ctx context.Context, id ID, in *ID) error {
	where, args := "id IN (SELECT namespace_id FROM namespace_ancestors WHERE ancestor_id = ?)", []any{id}
	if in != nil {
		where, args = where+" OR id IN "+AboveSQL, append(args, *in)
	}
	if _, err := db.Select[ID](ctx, s.DB, "SELECT id FROM namespaces WHERE "+where+" ORDER BY id"+s.DB.Dialect().ForUpdate(), args...); err != nil {
		return fmt.Errorf("lock places: %w", err)
	}
	return nil
}

// enter links a place that stands nowhere with its new parent, and returns its full path
// and name.
func (s *Service) enter(ctx context.Context, id, into ID, own place) (place, error) {
	above, err := db.Get[place](ctx, s.DB, "SELECT path, name, NULL AS above, NULL AS above_name FROM routes WHERE namespace_id = ?", into)
	if err != nil {
		return own, err
	}
	inside, err := db.Get[bool](ctx, s.DB, "SELECT EXISTS (SELECT 1 FROM namespace_ancestors WHERE namespace_id = ? AND ancestor_id = ?)", into, id)
	if err != nil {
		return own, err
	}
	if inside {
		return own, errInside
	}
	_, err = s.DB.Exec(ctx, `INSERT INTO namespace_ancestors (namespace_id, ancestor_id, depth)
		SELECT d.namespace_id, a.ancestor_id, d.depth + a.depth + 1 FROM namespace_ancestors d, namespace_ancestors a
		WHERE d.ancestor_id = ? AND a.namespace_id = ?`, id, into)
	if err != nil {
		return own, err
	}
	_, err = s.DB.Exec(ctx, `UPDATE namespaces SET visibility = (SELECT p.visibility FROM namespaces p WHERE p.id = ?)
		WHERE id IN (SELECT namespace_id FROM namespace_ancestors WHERE ancestor_id = ?)
		AND visibility > (SELECT p.visibility FROM namespaces p WHERE p.id = ?)`, into, id, into)
	own.Path, own.Name = above.Path+"/"+own.Path, above.Name+" / "+own.Name
	return own, err
}

func notTransferred(why string) error { return errs.Plain("Transfer failed: " + why) }

const (
	messageNoPermission = "You don't have enough permissions."
	messageSamePath     = "The parent group already has a subgroup or a project with the same path."
)

// Transfer puts a group into another one, or, where into is nil, at the top level.
func (s *Service) Transfer(ctx context.Context, as authz.Actor, ref string, into *ID) (*Group, error) {
	g, err := s.Find(ctx, as, ref)
	if err != nil {
		return nil, err
	}
	if err := s.Policy.Require(ctx, as, authz.TransferGroup, g.Subject()); err != nil {
		return nil, err
	}
	if err := s.checkTransfer(ctx, as, g, into); err != nil {
		return nil, err
	}
	err = s.DB.InTx(ctx, func(ctx context.Context) error {
		if err := s.Move(ctx, g.ID, into); err != nil {
			return err
		}
		now, err := db.Get[Group](ctx, s.DB, "SELECT "+groupColumns+groupFrom+" WHERE n.id = ?", g.ID)
		if err != nil {
			return fmt.Errorf("group after its transfer: %w", err)
		}
		if err := s.ensureOwner(ctx, as, g, into); err != nil {
			return err
		}
		return s.Bus.Publish(ctx, GroupTransferred{change.Between(as, s.Now(), now.Place(), g, &now)})
	})
	switch {
	case errors.Is(err, ErrTaken), errors.Is(err, ErrNameTaken):
		return nil, notTransferred(messageSamePath)
	case errors.Is(err, errInside):
		return nil, notTransferred("Cannot transfer group to one of its subgroup.")
	case err != nil:
		return nil, fmt.Errorf("transfer group: %w", err)
	}
	return s.FindByID(ctx, as, g.ID)
}

// ensureOwner makes the actor an owner of a group that came to the top level, where the
// group had none but those of the groups above it.
func (s *Service) ensureOwner(ctx context.Context, as authz.Actor, g *Group, into *ID) error {
	if into != nil || !as.SignedIn() {
		return nil
	}
	p := authz.Place{Namespace: g.ID, Group: true, ID: int64(g.ID), Name: g.Name, Path: g.Path, Subject: g.Subject()}
	if bereft, err := s.lastOwner(ctx, p, 0); err != nil || !bereft {
		return err
	}
	if _, err := s.DB.Exec(ctx, "DELETE FROM members WHERE namespace_id = ? AND user_id = ?", g.ID, as.UserID); err != nil {
		return fmt.Errorf("lesser membership: %w", err)
	}
	_, err := s.join(ctx, as, p, joining{user: as.UserID, level: authz.Owner})
	return err
}

func (s *Service) checkTransfer(ctx context.Context, as authz.Actor, g *Group, into *ID) error {
	if into == nil {
		if g.ParentID == nil {
			return notTransferred("Group is already a root group.")
		}
		_, err := s.requireCreate(ctx, as, nil)
		if errs.Is(err, errs.Forbidden) {
			return notTransferred(messageNoPermission)
		}
		return err
	}
	if g.ParentID != nil && *g.ParentID == *into {
		return notTransferred("Group is already associated to the parent group.")
	}
	target, err := s.FindByID(ctx, as, *into)
	if err != nil {
		return err
	}
	if err := s.Policy.Require(ctx, as, authz.TransferGroup, target.Subject()); errs.Is(err, errs.Forbidden) {
		return notTransferred(messageNoPermission)
	} else if err != nil {
		return err
	}
	type shape struct {
		Inside bool  `db:"inside"`
		Depth  int64 `db:"depth"`
		Height int64 `db:"height"`
	}
	at, err := db.Get[shape](ctx, s.DB, `SELECT
		EXISTS (SELECT 1 FROM namespace_ancestors WHERE namespace_id = ? AND ancestor_id = ?) AS inside,
		(SELECT MAX(depth) FROM namespace_ancestors WHERE namespace_id = ?) AS depth,
		(SELECT MAX(a.depth) FROM namespace_ancestors a JOIN groups i ON i.namespace_id = a.namespace_id WHERE a.ancestor_id = ?) AS height`,
		target.ID, g.ID, target.ID, g.ID)
	switch {
	case err != nil:
		return fmt.Errorf("shape of groups: %w", err)
	case at.Inside:
		return notTransferred("Cannot transfer group to one of its subgroup.")
	case at.Depth+1+at.Height > MaxDepth:
		return notTransferred("Parent has too deep level of nesting")
	}
	return nil
}

// Locations lists the groups that a group may be transferred to.
func (s *Service) Locations(ctx context.Context, as authz.Actor, ref string, f GroupFilter) (page.Page[Group], error) {
	g, err := s.Find(ctx, as, ref)
	if err != nil {
		return page.Page[Group]{}, err
	}
	if err := s.Policy.Require(ctx, as, authz.TransferGroup, g.Subject().Reading()); err != nil {
		return page.Page[Group]{}, err
	}
	f.Receiver, f.But, f.ButBelow = authz.Owner, g.ParentID, &g.ID
	return s.List(ctx, as, f)
}

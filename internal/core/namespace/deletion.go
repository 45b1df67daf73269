package namespace

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/core/authz"
	"tenon/internal/core/change"
)

// Suffix is what name and path of something marked for deletion end in; id is that of
// the group or project.
func Suffix(id int64) string { return "-deletion_scheduled-" + strconv.FormatInt(id, 10) }

// Grace is how groups and projects wait for their deletion: Today is when one is
// marked, and those marked on Over or before are due.
type Grace struct {
	Today string // YYYY-MM-DD
	Over  string
	None  bool // nothing waits: what is marked is deleted
}

// Grace returns what is in force for groups.
func (s *Service) Grace() Grace {
	set, now := s.Settings.Current(), s.Now().UTC()
	days := set.DeletionAdjournedPeriod
	return Grace{
		Today: now.Format(time.DateOnly), Over: now.AddDate(0, 0, -days).Format(time.DateOnly),
		None: days <= 0 || !set.DelayedGroupDeletion,
	}
}

// ProjectGrace returns what is in force for projects, which wait only where groups do.
func (s *Service) ProjectGrace() Grace {
	g := s.Grace()
	g.None = g.None || !s.Settings.Current().DelayedProjectDeletion
	return g
}

// Original returns the path and the name that something marked for deletion gets back:
// those before the suffix, or, where something else holds one of them by now, with the
// number of what is restored behind them.
func (s *Service) Original(ctx context.Context, n *Namespace, id int64) (path, name string, err error) {
	path, name = strings.TrimSuffix(n.Path, Suffix(id)), strings.TrimSuffix(n.Name, Suffix(id))
	above := strings.TrimSuffix(n.FullPath, n.Path)
	held, err := db.Get[bool](ctx, s.DB, `SELECT EXISTS (SELECT 1 FROM routes WHERE path_fold = ? AND namespace_id <> ?)
		OR EXISTS (SELECT 1 FROM namespaces WHERE parent_id = ? AND kind = ? AND name = ? AND id <> ?)`,
		db.Fold(above+path), n.ID, n.ParentID, n.Kind, name, n.ID)
	if err != nil {
		return "", "", fmt.Errorf("look for the old path: %w", err)
	}
	if held {
		tail := "-" + strconv.FormatInt(id, 10)
		path, name = path+tail, name+tail
	}
	return path, name, nil
}

// Mark schedules a group for deletion: it is read-only with everything in it, under a
// path with a suffix, until the instance's grace period is over, and its old path is free.
func (s *Service) Mark(ctx context.Context, as authz.Actor, ref string) (*Group, error) {
	g, err := s.Find(ctx, as, ref)
	if err != nil {
		return nil, err
	}
	if err := s.Policy.Require(ctx, as, authz.DeleteGroup, g.Subject()); err != nil {
		return nil, err
	}
	today := s.Grace().Today
	err = s.DB.InTx(ctx, func(ctx context.Context) error {
		out, err := s.updateGroup(ctx, as, g.ID, func(ctx context.Context, g *Group) error {
			if g.MarkedForDeletionOn != nil {
				return errs.Plain("Group has already been marked for deletion")
			}
			g.MarkedForDeletionOn = &today
			g.Path, g.Name = g.Path+Suffix(int64(g.ID)), g.Name+Suffix(int64(g.ID))
			return nil
		})
		if err != nil {
			return err
		}
		return s.Bus.Publish(ctx, GroupMarked{GroupFact: s.groupFact(as, &out)})
	})
	if err != nil {
		return nil, errs.Wrap(err, "mark group")
	}
	return s.FindByID(ctx, as, g.ID)
}

// Restore takes a group's mark away and gives it its name and path back; see Original.
func (s *Service) Restore(ctx context.Context, as authz.Actor, ref string) (*Group, error) {
	g, err := s.Find(ctx, as, ref)
	if err != nil {
		return nil, err
	}
	if err := s.Policy.Require(ctx, as, authz.DeleteGroup, g.Subject()); err != nil {
		return nil, err
	}
	err = s.DB.InTx(ctx, func(ctx context.Context) error {
		out, err := s.updateGroup(ctx, as, g.ID, func(ctx context.Context, g *Group) error {
			if g.MarkedForDeletionOn == nil {
				return errs.Plain("Group has not been marked for deletion")
			}
			var err error
			g.MarkedForDeletionOn = nil
			g.Path, g.Name, err = s.Original(ctx, &Namespace{
				ID: g.ID, Kind: GroupKind, ParentID: g.ParentID, Path: g.Path, Name: g.Name, FullPath: g.FullPath,
			}, int64(g.ID))
			return err
		})
		if err != nil {
			return err
		}
		return s.Bus.Publish(ctx, GroupMarked{s.groupFact(as, &out), true})
	})
	if f := takenFields(err); f != nil {
		return nil, f.Err()
	}
	if err != nil {
		return nil, errs.Wrap(err, "restore group")
	}
	return s.FindByID(ctx, as, g.ID)
}

// The codes of a group that is not deleted before its time.
const (
	CodeTopLevel  errs.Code = "group_top_level"  // only subgroups are
	CodeWrongPath errs.Code = "group_wrong_path" // the full path is not the one of the group
)

// MayPurgeNow refuses to delete what is marked before its time, where the settings leave that to
// administrators. Who may delete it at all is asked before.
func (s *Service) MayPurgeNow(as authz.Actor) error {
	if !as.Admin && !s.Settings.Current().AllowImmediateNamespacesDeletion {
		return errs.Denied("Only administrators delete groups and projects before their time")
	}
	return nil
}

// MayPurge checks a call that deletes a marked subgroup before its time; fullPath must
// be the path that the group has now.
func (s *Service) MayPurge(ctx context.Context, as authz.Actor, ref, fullPath string) (*Group, error) {
	g, err := s.Find(ctx, as, ref)
	if err != nil {
		return nil, err
	}
	if err := s.Policy.Require(ctx, as, authz.DeleteGroup, g.Subject()); err != nil {
		return nil, err
	}
	if err := s.MayPurgeNow(as); err != nil {
		return nil, err
	}
	switch {
	case g.MarkedForDeletionOn == nil:
		return nil, errs.Plain("Group must be marked for deletion first.")
	case g.ParentID == nil:
		return nil, errs.Coded(errs.Invalid, CodeTopLevel, "only subgroups are deleted before their time")
	case fullPath != g.FullPath:
		return nil, errs.Coded(errs.Invalid, CodeWrongPath, "the full path is not the one of the group")
	}
	return g, nil
}

// HoldMark reports whether there is this group and it is marked for deletion, and keeps
// others from restoring it until the transaction of ctx ends. It asks for no permission.
func (s *Service) HoldMark(ctx context.Context, id ID) (bool, error) {
	g, err := db.ForUpdate[Group](ctx, s.DB, groupRow(id))
	if errors.Is(err, db.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("look for mark of group: %w", err)
	}
	return g.MarkedForDeletionOn != nil, nil
}

// Due lists the groups whose grace period is over, outermost ones only.
func (s *Service) Due(ctx context.Context) ([]ID, error) {
	day := s.Grace().Over
	due, err := db.Select[ID](ctx, s.DB, `SELECT g.namespace_id FROM groups g WHERE g.marked_for_deletion_on <= ?
		AND NOT EXISTS (SELECT 1 FROM namespace_ancestors a JOIN groups o ON o.namespace_id = a.ancestor_id
			WHERE a.namespace_id = g.namespace_id AND a.depth > 0 AND o.marked_for_deletion_on <= ?)
		ORDER BY g.namespace_id`, day, day)
	if err != nil {
		return nil, fmt.Errorf("groups to delete: %w", err)
	}
	return due, nil
}

// Tree returns a group and its subgroups, the deepest first. It asks for no permission.
func (s *Service) Tree(ctx context.Context, id ID) ([]ID, error) {
	ids, err := db.Select[ID](ctx, s.DB, `SELECT a.namespace_id FROM namespace_ancestors a JOIN namespaces n ON n.id = a.namespace_id
		WHERE a.ancestor_id = ? AND n.kind = ? ORDER BY a.depth DESC, n.id`, id, GroupKind)
	if err != nil {
		return nil, fmt.Errorf("groups below group: %w", err)
	}
	return ids, nil
}

// Remove deletes a group. Every subgroup and project inside must be gone already; db.ErrReference
// otherwise. A group that is gone is no error. It asks for no permission.
func (s *Service) Remove(ctx context.Context, as authz.Actor, id ID) error {
	return s.DB.InTx(ctx, func(ctx context.Context) error {
		g, err := db.Get[Group](ctx, s.DB, "SELECT "+groupColumns+groupFrom+" WHERE n.id = ?", id)
		if errors.Is(err, db.ErrNotFound) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read group: %w", err)
		}
		if err := s.Bus.Publish(ctx, GroupRemoving{change.About(as, s.Now(), g.Place(), &g)}); err != nil {
			return err
		}
		if err := s.Uproot(ctx, g.ID); err != nil {
			return err
		}
		return s.Bus.Publish(ctx, GroupDeleted{change.Deleted(as, s.Now(), g.Place(), &g)})
	})
}

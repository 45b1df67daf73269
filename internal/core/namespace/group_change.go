package namespace

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/core/authz"
	"tenon/internal/core/setting"
)

// Update changes a group. Callers who see the group but do not own it are told that
// they are not authorized, as the contract says for this call.
func (s *Service) Update(ctx context.Context, as authz.Actor, ref string, c GroupChanges) (*Group, error) {
	old, err := s.Find(ctx, as, ref)
	if err != nil {
		return nil, err
	}
	if err := s.requireAdmin(ctx, as, old); err != nil {
		return nil, err
	}
	c.restrict(as, s.Settings.Current())
	err = s.DB.InTx(ctx, func(ctx context.Context) error {
		out, err := s.updateGroup(ctx, as, old.ID, func(ctx context.Context, g *Group) error {
			g.Level, g.LevelKnown = old.Level, true
			if err := s.requireAdmin(ctx, as, g); err != nil {
				return err
			}
			was := *g
			c.apply(g)
			if g.Visibility != was.Visibility {
				if err := s.hold(ctx, g.ID, g.ParentID); err != nil {
					return err
				}
			}
			parent, err := s.parentOf(ctx, g)
			if err != nil {
				return err
			}
			fields, err := s.checkGroup(ctx, as, g, &was, parent)
			if err != nil {
				return err
			}
			return fields.Err()
		})
		if err != nil {
			return err
		}
		changed := changedNames(&out)
		if len(changed) == 0 {
			return nil
		}
		return s.Bus.Publish(ctx, GroupUpdated{s.groupFact(as, &out), changed})
	})
	if f := takenFields(err); f != nil {
		return nil, f.Err()
	}
	if err != nil {
		return nil, errs.Wrap(err, "update group")
	}
	return s.FindByID(ctx, as, old.ID)
}

// restrict drops what only administrators change: others leave it alone.
func (c *GroupChanges) restrict(as authz.Actor, set *setting.Settings) {
	if !as.Admin {
		if !set.GroupOwnersCanManageDefaultBranchProtection {
			c.DefaultBranchProtection, c.Settings.DefaultBranchProtectionDefaults = nil, nil
		}
		c.SizeLimit, c.Settings.SharedRunnersMinutesLimit, c.Settings.ExtraSharedRunnersMinutesLimit = nil, nil, nil
	}
}

func (s *Service) requireAdmin(ctx context.Context, as authz.Actor, g *Group) error {
	err := s.Policy.Require(ctx, as, authz.AdminGroup, g.Subject())
	if errs.Is(err, errs.Forbidden) {
		return errs.New(errs.Unauthorized, "")
	}
	return err
}

// groupRow names the row of a group for db.Update and db.ForUpdate.
func groupRow(id ID) db.Row {
	return db.Row{Table: "groups", Key: "namespace_id", ID: id, Columns: groupColumns, From: groupTables, Alias: "g", Missing: errs.Missing("Group")}
}

// updateGroup is db.Update for a group, which keeps its row of namespaces in step: that
// has name, path, visibility and the time of the change. A group that is gone is not found.
func (s *Service) updateGroup(ctx context.Context, as authz.Actor, id ID, change func(ctx context.Context, g *Group) error) (db.Change[Group], error) {
	out, err := db.Update(ctx, s.DB, groupRow(id).Provided(as.UnmodifiedAt), change)
	if err != nil {
		return out, err
	}
	was, g := &out.Before, &out.After
	if err := s.rangesChanged(ctx, was, g); err != nil {
		return out, err
	}
	if g.Path != was.Path || g.Name != was.Name {
		if err := s.Rename(ctx, id, g.Path, g.Name); err != nil {
			return out, err
		}
		g.FullPath, g.FullName = strings.TrimSuffix(was.FullPath, was.Path)+g.Path, strings.TrimSuffix(was.FullName, was.Name)+g.Name
	}
	switch {
	case g.Visibility != was.Visibility:
		return out, s.Show(ctx, id, g.Visibility)
	case out.Any():
		return out, s.touch(ctx, id)
	}
	return out, nil
}

// changedNames names what differs between two states of a group in the words of the API.
func changedNames(c *db.Change[Group]) []string {
	out := slices.Clone(c.Columns)
	for name, differs := range map[string]bool{
		"name": c.Before.Name != c.After.Name, "path": c.Before.Path != c.After.Path, "visibility": c.Before.Visibility != c.After.Visibility,
	} {
		if differs {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

func (s *Service) parentOf(ctx context.Context, g *Group) (*Group, error) {
	if g.ParentID == nil {
		return nil, nil
	}
	parent, err := db.Get[Group](ctx, s.DB, "SELECT "+groupColumns+groupFrom+" WHERE n.id = ?", *g.ParentID)
	if err != nil {
		return nil, fmt.Errorf("parent of group: %w", err)
	}
	return &parent, nil
}

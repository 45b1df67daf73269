package namespace

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/core/authz"
)

// GroupMarked says that a group will be deleted when its grace period is over, or, where
// Restored, that it will not.
type GroupMarked struct {
	GroupID  ID
	Name     string
	FullPath string // before the suffix of a marked group
	Restored bool
	By       authz.Actor
}

// GroupDeleted says that a group is gone.
type GroupDeleted struct {
	GroupID  ID
	ParentID *ID
	Name     string
	FullPath string
	By       authz.Actor
}

// Update changes a group. Callers who see the group but do not own it are told that
// they are not authorized, as the contract says for this call.
func (s *Service) Update(ctx context.Context, as authz.Actor, ref string, c GroupChanges) (*Group, error) {
	old, err := s.Find(ctx, as, ref)
	if err != nil {
		return nil, err
	}
	if err := s.policy.Require(ctx, as, authz.AdminGroup, old.Subject()); err != nil {
		if errs.Is(err, errs.Forbidden) {
			return nil, errs.New(errs.Unauthorized, "")
		}
		return nil, err
	}
	g := *old
	changed := c.apply(&g)
	if len(changed) == 0 {
		return old, nil
	}
	parent, err := s.parentOf(ctx, old)
	if err != nil {
		return nil, err
	}
	fields, err := s.checkGroup(ctx, as, &g, old, parent)
	if err != nil {
		return nil, err
	}
	if err := fields.Err(); err != nil {
		return nil, err
	}
	err = s.db.InTx(ctx, func(ctx context.Context) error {
		if g.Path != old.Path || g.Name != old.Name {
			if err := s.Rename(ctx, g.ID, g.Path, g.Name); err != nil {
				return err
			}
		}
		if err := s.Show(ctx, g.ID, g.Visibility); err != nil {
			return err
		}
		if err := s.storeGroup(ctx, &g); err != nil {
			return err
		}
		return s.bus.Publish(ctx, GroupUpdated{GroupID: g.ID, Name: g.Name, FullPath: old.FullPath, Changed: changed, By: as})
	})
	if f := takenFields(err); f != nil {
		return nil, f.Err()
	}
	if err != nil {
		return nil, fmt.Errorf("update group: %w", err)
	}
	return s.FindByID(ctx, as, g.ID)
}

func (s *Service) parentOf(ctx context.Context, g *Group) (*Group, error) {
	if g.ParentID == nil {
		return nil, nil
	}
	parent, err := db.Get[Group](ctx, s.db, "SELECT "+groupColumns+", 0 AS actor_level"+groupFrom+" WHERE n.id = ?", *g.ParentID)
	if err != nil {
		return nil, fmt.Errorf("parent of group: %w", err)
	}
	return &parent, nil
}

func (s *Service) storeGroup(ctx context.Context, g *Group) error {
	_, err := s.db.Exec(ctx, `UPDATE groups SET description = ?, share_with_group_lock = ?, require_two_factor_authentication = ?,
		two_factor_grace_period = ?, project_creation_level = ?, subgroup_creation_level = ?, auto_devops_enabled = ?,
		emails_enabled = ?, mentions_disabled = ?, lfs_enabled = ?, request_access_enabled = ?, default_branch = ?,
		default_branch_protection = ?, shared_runners_setting = ?, settings = ? WHERE namespace_id = ?`,
		g.Description, g.ShareWithGroupLock, g.RequireTwoFactor, g.TwoFactorGracePeriod, g.ProjectCreationLevel,
		g.SubgroupCreationLevel, g.AutoDevopsEnabled, g.EmailsEnabled, g.MentionsDisabled, g.LFSEnabled,
		g.RequestAccessEnabled, g.DefaultBranch, g.DefaultBranchProtection, g.SharedRunnersSetting, g.SettingsJSON, g.ID)
	if err != nil {
		return fmt.Errorf("store group: %w", err)
	}
	return nil
}

// Suffix is what name and path of something marked for deletion end in.
func Suffix(id int64) string { return "-deletion_scheduled-" + strconv.FormatInt(id, 10) }

// Mark schedules a group for deletion: it keeps working under a path with a suffix
// until the instance's grace period is over, and its old path is free.
func (s *Service) Mark(ctx context.Context, as authz.Actor, ref string) (*Group, error) {
	g, err := s.Find(ctx, as, ref)
	if err != nil {
		return nil, err
	}
	if err := s.policy.Require(ctx, as, authz.DeleteGroup, g.Subject()); err != nil {
		return nil, err
	}
	if g.MarkedForDeletionOn != nil {
		return nil, errs.Plain("Group has already been marked for deletion")
	}
	today := s.now().UTC().Format(time.DateOnly)
	err = s.db.InTx(ctx, func(ctx context.Context) error {
		changed, err := s.db.Exec(ctx, "UPDATE groups SET marked_for_deletion_on = ? WHERE namespace_id = ? AND marked_for_deletion_on IS NULL", today, g.ID)
		if err != nil {
			return fmt.Errorf("mark group: %w", err)
		}
		if changed == 0 {
			return errs.Plain("Group has already been marked for deletion")
		}
		if err := s.Rename(ctx, g.ID, g.Path+Suffix(int64(g.ID)), g.Name+Suffix(int64(g.ID))); err != nil {
			return err
		}
		return s.bus.Publish(ctx, GroupMarked{GroupID: g.ID, Name: g.Name, FullPath: g.FullPath, By: as})
	})
	if err != nil {
		return nil, err
	}
	return s.FindByID(ctx, as, g.ID)
}

// Restore takes a group's mark away and gives it its name and path back; where
// something else holds the path by now, the group keeps the longer one.
func (s *Service) Restore(ctx context.Context, as authz.Actor, ref string) (*Group, error) {
	g, err := s.Find(ctx, as, ref)
	if err != nil {
		return nil, err
	}
	if err := s.policy.Require(ctx, as, authz.DeleteGroup, g.Subject()); err != nil {
		return nil, err
	}
	if g.MarkedForDeletionOn == nil {
		return nil, errs.Plain("Group has not been marked for deletion")
	}
	path, name := strings.TrimSuffix(g.Path, Suffix(int64(g.ID))), strings.TrimSuffix(g.Name, Suffix(int64(g.ID)))
	err = s.db.InTx(ctx, func(ctx context.Context) error {
		_, err := s.db.Exec(ctx, "UPDATE groups SET marked_for_deletion_on = NULL WHERE namespace_id = ?", g.ID)
		if err != nil {
			return fmt.Errorf("restore group: %w", err)
		}
		if err := s.Rename(ctx, g.ID, path, name); err != nil {
			return err
		}
		return s.bus.Publish(ctx, GroupMarked{GroupID: g.ID, Name: name, FullPath: g.FullPath, Restored: true, By: as})
	})
	if f := takenFields(err); f != nil {
		return nil, f.Err()
	}
	if err != nil {
		return nil, err
	}
	return s.FindByID(ctx, as, g.ID)
}

// MayPurge checks a call that deletes a marked subgroup before its time; fullPath must
// be the path that the group has now.
func (s *Service) MayPurge(ctx context.Context, as authz.Actor, ref, fullPath string) (*Group, error) {
	g, err := s.Find(ctx, as, ref)
	if err != nil {
		return nil, err
	}
	if err := s.policy.Require(ctx, as, authz.DeleteGroup, g.Subject()); err != nil {
		return nil, err
	}
	switch {
	case g.MarkedForDeletionOn == nil:
		return nil, errs.Plain("Group must be marked for deletion first.")
	case g.ParentID == nil:
		return nil, errs.Plain("`permanently_remove` option is only available for subgroups.")
	case fullPath != g.FullPath:
		return nil, errs.Plain("`full_path` is incorrect. You must enter the complete path for the subgroup.")
	}
	return g, nil
}

// Due lists the groups whose grace period is over, outermost ones only.
func (s *Service) Due(ctx context.Context) ([]ID, error) {
	day := s.now().UTC().AddDate(0, 0, -s.settings.Current().DeletionAdjournedPeriod).Format(time.DateOnly)
	due, err := db.Select[ID](ctx, s.db, `SELECT g.namespace_id FROM groups g WHERE g.marked_for_deletion_on <= ?
		AND NOT EXISTS (SELECT 1 FROM namespace_ancestors a JOIN groups o ON o.namespace_id = a.ancestor_id
			WHERE a.namespace_id = g.namespace_id AND a.depth > 0 AND o.marked_for_deletion_on <= ?)
		ORDER BY g.namespace_id`, day, day)
	if err != nil {
		return nil, fmt.Errorf("groups to delete: %w", err)
	}
	return due, nil
}

// Remove deletes a group and its subgroups at once. Every project inside must be gone
// already; db.ErrReference otherwise. A group that is gone is no error.
func (s *Service) Remove(ctx context.Context, as authz.Actor, id ID) error {
	return s.db.InTx(ctx, func(ctx context.Context) error {
		tree, err := db.Select[Group](ctx, s.db, "SELECT "+groupColumns+", 0 AS actor_level"+groupFrom+
			` JOIN namespace_ancestors a ON a.namespace_id = n.id WHERE a.ancestor_id = ? ORDER BY a.depth DESC, n.id`, id)
		if err != nil {
			return fmt.Errorf("groups below group: %w", err)
		}
		for _, g := range tree {
			if err := s.Uproot(ctx, g.ID); err != nil {
				return err
			}
			if err := s.bus.Publish(ctx, GroupDeleted{GroupID: g.ID, ParentID: g.ParentID, Name: g.Name, FullPath: g.FullPath, By: as}); err != nil {
				return err
			}
		}
		return nil
	})
}

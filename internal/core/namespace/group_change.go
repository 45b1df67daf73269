package namespace

import (
	"context"
	"fmt"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/core/authz"
)

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
		default_branch_protection = ?, shared_runners_setting = ?, settings = ?, only_allow_merge_if_pipeline_succeeds = ?,
		allow_merge_on_skipped_pipeline = ?, only_allow_merge_if_all_discussions_are_resolved = ? WHERE namespace_id = ?`,
		g.Description, g.ShareWithGroupLock, g.RequireTwoFactor, g.TwoFactorGracePeriod, g.ProjectCreationLevel,
		g.SubgroupCreationLevel, g.AutoDevopsEnabled, g.EmailsEnabled, g.MentionsDisabled, g.LFSEnabled,
		g.RequestAccessEnabled, g.DefaultBranch, g.DefaultBranchProtection, g.SharedRunnersSetting, g.SettingsJSON,
		g.OnlyMergeIfPipelineSucceeds, g.AllowMergeOnSkippedPipeline, g.OnlyMergeIfDiscussionsResolved, g.ID)
	if err != nil {
		return fmt.Errorf("store group: %w", err)
	}
	return nil
}

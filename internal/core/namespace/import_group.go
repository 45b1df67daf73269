package namespace

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"tenon/internal/base/errs"
	"tenon/internal/core/authz"
	"tenon/internal/core/tree"
)

// MayCreate requires what Create does for a group below a parent, or at the top level.
func (s *Service) MayCreate(ctx context.Context, as authz.Actor, parent *ID) error {
	_, err := s.requireCreate(ctx, as, parent)
	return err
}

func (s *Service) groupWriters() []tree.Writer {
	return []tree.Writer{
		tree.Write("members", s.importMembers),
		tree.Write("group", s.importGroup),
		tree.Write("namespace_settings", s.importSettings),
	}
}

// importGroup gives a group the attributes of an archive, except for name, path and visibility.
func (s *Service) importGroup(ctx context.Context, w *tree.Writing, rows []*tree.Row[importedGroup]) error {
	for _, r := range rows {
		if err := s.importInto(ctx, w, r.State, r.Value.changes()); err != nil {
			return err
		}
	}
	return nil
}

func (s *Service) importSettings(ctx context.Context, w *tree.Writing, rows []*tree.Row[exportedSettings]) error {
	for _, r := range rows {
		c := GroupChanges{Settings: GroupSettingsChanges{PreventSharingGroupsOutsideHierarchy: new(r.Value.PreventSharingOutside)}}
		if err := s.importInto(ctx, w, r.State, c); err != nil {
			return err
		}
	}
	return nil
}

// importInto changes the group that is imported into, as its user may.
func (s *Service) importInto(ctx context.Context, w *tree.Writing, row *tree.State, c GroupChanges) error {
	c.restrict(w.As, s.Settings.Current())
	as := w.As.Unconditional()
	_, err := s.updateGroup(ctx, as, w.At.Namespace, func(ctx context.Context, g *Group) error {
		g.Level, g.LevelKnown = authz.Owner, true
		was := *g
		c.apply(g)
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
	if _, refused := errors.AsType[*errs.Error](err); refused && !errs.Is(err, errs.NotFound) {
		row.Fail(err.Error())
		return nil
	}
	if err != nil {
		return fmt.Errorf("import attributes of group: %w", err)
	}
	row.ID = w.At.ID
	return nil
}

// importedGroup is a group of an archive. What it does not say stays as it is.
type importedGroup struct {
	Description             *string `tree:"description,max=2000"`
	MembershipLock          *bool   `tree:"membership_lock"`
	ShareWithGroupLock      *bool   `tree:"share_with_group_lock"`
	RequestAccessEnabled    *bool   `tree:"request_access_enabled"`
	LFSEnabled              *bool   `tree:"lfs_enabled"`
	RequireTwoFactor        *bool   `tree:"require_two_factor_authentication"`
	TwoFactorGracePeriod    *int64  `tree:"two_factor_grace_period"`
	ProjectCreationLevel    *int64  `tree:"project_creation_level"`
	SubgroupCreationLevel   *int64  `tree:"subgroup_creation_level"`
	AutoDevopsEnabled       *bool   `tree:"auto_devops_enabled"`
	EmailsDisabled          *bool   `tree:"emails_disabled"`
	MentionsDisabled        *bool   `tree:"mentions_disabled"`
	MaxArtifactsSize        *int64  `tree:"max_artifacts_size"`
	DefaultBranchProtection *int64  `tree:"default_branch_protection"`
	SharedRunnersEnabled    *bool   `tree:"shared_runners_enabled"`
	SharedRunnersOverridden *bool   `tree:"allow_descendants_override_disabled_shared_runners"`
}

// changes are the attributes that the group takes over. The number of a level that does not exist leaves the level alone.
func (g *importedGroup) changes() GroupChanges {
	c := GroupChanges{GroupAttributes: GroupAttributes{
		Description: g.Description, ShareWithGroupLock: g.ShareWithGroupLock, RequireTwoFactor: g.RequireTwoFactor, TwoFactorGracePeriod: g.TwoFactorGracePeriod,
		ProjectCreationLevel: numbered(projectCreationNumbers, g.ProjectCreationLevel), SubgroupCreationLevel: numbered(subgroupCreationNumbers, g.SubgroupCreationLevel),
		AutoDevopsEnabled: g.AutoDevopsEnabled, MentionsDisabled: g.MentionsDisabled, LFSEnabled: g.LFSEnabled, RequestAccessEnabled: g.RequestAccessEnabled,
		DefaultBranchProtection: g.DefaultBranchProtection,
	}}
	c.Settings.MembershipLock = g.MembershipLock
	if g.EmailsDisabled != nil {
		c.EmailsEnabled = new(!*g.EmailsDisabled)
	}
	if g.MaxArtifactsSize != nil {
		c.Settings.MaxArtifactsSize = &Number{g.MaxArtifactsSize}
	}
	if g.SharedRunnersEnabled != nil && !*g.SharedRunnersEnabled {
		c.SharedRunnersSetting = new("disabled_and_unoverridable")
		if g.SharedRunnersOverridden != nil && *g.SharedRunnersOverridden {
			c.SharedRunnersSetting = new("disabled_and_overridable")
		}
	}
	return c
}

// numbered is the word that a number means, nil for none.
func numbered(numbers map[string]int64, n *int64) *string {
	for word, number := range numbers {
		if n != nil && number == *n {
			return &word
		}
	}
	return nil
}

// ShowImported gives a group that was imported the lower visibility of its own at the source and that of the group above it, and returns it.
// Without one above it is the most that it may have at the top, as far as the instance allows it.
func (s *Service) ShowImported(ctx context.Context, as authz.Actor, id ID, own, top authz.Visibility) (shown authz.Visibility, err error) {
	as = as.Unconditional()
	shown = own
	err = s.DB.InTx(ctx, func(ctx context.Context) error {
		_, err := s.updateGroup(ctx, as, id, func(ctx context.Context, g *Group) error {
			parent, err := s.parentOf(ctx, g)
			if err != nil {
				return err
			}
			most := top
			if parent != nil {
				most = parent.Visibility
			}
			g.Visibility = min(own, most)
			for g.Visibility > authz.Private && !as.Admin && slices.Contains(s.Settings.Current().RestrictedVisibilityLevels, g.Visibility.String()) {
				g.Visibility -= authz.Internal
			}
			shown = g.Visibility
			return nil
		})
		if errs.Is(err, errs.NotFound) {
			return nil
		}
		return err
	})
	return shown, err
}

package namespace

import (
	"context"
	"fmt"

	"tenon/internal/base/db"
	"tenon/internal/core/authz"
	"tenon/internal/core/tree"
)

// exportedGroup is a group itself as it moves.
type exportedGroup struct {
	ID                      int64   `tree:"id,group"`
	Name                    string  `tree:"name,max=255"`
	Path                    string  `tree:"path,max=255"`
	Description             *string `tree:"description"`
	Visibility              int64   `tree:"visibility_level"`
	ParentID                *int64  `tree:"parent_id,group"`
	MembershipLock          bool    `tree:"membership_lock"`
	ShareWithGroupLock      bool    `tree:"share_with_group_lock"`
	RequestAccessEnabled    bool    `tree:"request_access_enabled"`
	LFSEnabled              bool    `tree:"lfs_enabled"`
	RequireTwoFactor        bool    `tree:"require_two_factor_authentication"`
	TwoFactorGracePeriod    int64   `tree:"two_factor_grace_period"`
	ProjectCreationLevel    int64   `tree:"project_creation_level"`
	SubgroupCreationLevel   int64   `tree:"subgroup_creation_level"`
	AutoDevopsEnabled       *bool   `tree:"auto_devops_enabled"`
	EmailsDisabled          bool    `tree:"emails_disabled"`
	MentionsDisabled        *bool   `tree:"mentions_disabled"`
	MaxArtifactsSize        *int64  `tree:"max_artifacts_size"`
	DefaultBranchProtection *int64  `tree:"default_branch_protection"`
	SharedRunnersEnabled    bool    `tree:"shared_runners_enabled"`
	SharedRunnersOverridden bool    `tree:"allow_descendants_override_disabled_shared_runners"`
}

// exportedSettings are those of a group that have a file of their own.
type exportedSettings struct {
	PreventSharingOutside bool `tree:"prevent_sharing_groups_outside_hierarchy"`
}

// The numbers of levels from which projects and subgroups may be created.
var (
	projectCreationNumbers  = map[string]int64{"noone": 0, "maintainer": 1, "developer": 2, "administrator": 3, "owner": 4}
	subgroupCreationNumbers = map[string]int64{"owner": 0, "maintainer": 1}
)

func groupRelations() []tree.Relation {
	return []tree.Relation{
		tree.One(tree.Relation{
			Name: "group", In: tree.Groups, Tables: []string{"groups"},
			Absent: []string{
				"avatar", "plan_id", "file_template_project_id", "custom_project_templates_group_id", "ldap_sync_status", "ldap_sync_error", "ldap_sync_last_update_at",
				"ldap_sync_last_successful_update_at", "ldap_sync_last_sync_at",
			},
		}, func(_ context.Context, r *tree.Reading) (*exportedGroup, error) { return Of(r.At).exported(), nil }),
		tree.One(tree.Relation{Name: "namespace_settings", In: tree.Groups}, func(_ context.Context, r *tree.Reading) (*exportedSettings, error) {
			return &exportedSettings{Of(r.At).Settings().PreventSharingGroupsOutsideHierarchy}, nil
		}),
	}
}

func (g *Group) exported() *exportedGroup {
	set := g.Settings()
	return &exportedGroup{
		ID: int64(g.ID), Name: g.Name, Path: g.Path, Description: g.Description, Visibility: int64(g.Visibility), ParentID: (*int64)(g.ParentID),
		MembershipLock: set.MembershipLock, ShareWithGroupLock: g.ShareWithGroupLock, RequestAccessEnabled: g.RequestAccessEnabled, LFSEnabled: g.LFSEnabled,
		RequireTwoFactor: g.RequireTwoFactor, TwoFactorGracePeriod: g.TwoFactorGracePeriod, ProjectCreationLevel: projectCreationNumbers[g.ProjectCreationLevel],
		SubgroupCreationLevel: subgroupCreationNumbers[g.SubgroupCreationLevel], AutoDevopsEnabled: g.AutoDevopsEnabled, EmailsDisabled: !g.EmailsEnabled,
		MentionsDisabled: g.MentionsDisabled, MaxArtifactsSize: set.MaxArtifactsSize, DefaultBranchProtection: g.DefaultBranchProtection,
		SharedRunnersEnabled: g.SharedRunners(), SharedRunnersOverridden: g.SharedRunnersSetting == "disabled_and_overridable",
	}
}

// exportedBelow is how many groups are read at a time.
const exportedBelow = 1000

// GroupsBelow returns the groups below a group that the actor may export, each after the one that it is in. What is in a group that the
// actor may not export is left out with it.
func (s *Service) GroupsBelow(ctx context.Context, as authz.Actor, top ID) ([]ID, error) {
	type row struct {
		ID     ID    `db:"id"`
		Parent ID    `db:"parent_id"`
		Depth  int64 `db:"depth"`
	}
	known, out := map[ID]bool{top: true}, []ID(nil)
	for last := (row{}); ; {
		rows, err := db.Select[row](ctx, s.DB, `SELECT n.id, n.parent_id, a.depth FROM namespace_ancestors a JOIN namespaces n ON n.id = a.namespace_id
			WHERE a.ancestor_id = ? AND n.kind = 'group' AND a.depth > 0 AND (a.depth, n.id) > (?, ?) ORDER BY a.depth, n.id LIMIT ?`, top, last.Depth, last.ID, exportedBelow)
		if err != nil {
			return nil, fmt.Errorf("groups below: %w", err)
		}
		ids := make([]ID, len(rows))
		for i, r := range rows {
			ids[i] = r.ID
		}
		found, err := s.ByIDs(ctx, as, ids)
		if err != nil {
			return nil, err
		}
		for _, r := range rows {
			g := found[r.ID]
			if g == nil || !known[r.Parent] {
				continue
			}
			may, err := s.Policy.Can(ctx, as, authz.ExportGroup, g.Subject())
			if err != nil {
				return nil, fmt.Errorf("groups below: %w", err)
			}
			if may {
				known[r.ID], out = true, append(out, r.ID)
			}
		}
		if len(rows) < exportedBelow {
			return out, nil
		}
		last = rows[len(rows)-1]
	}
}

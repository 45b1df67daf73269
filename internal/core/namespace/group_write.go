package namespace

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/base/gitcmd"
	"tenon/internal/core/authz"
)

// GroupChanges are the attributes of a group that a call sets; nil leaves one alone.
type GroupChanges struct {
	Name, Path              *string
	Description             *string
	Visibility              *authz.Visibility
	ShareWithGroupLock      *bool
	RequireTwoFactor        *bool
	TwoFactorGracePeriod    *int64
	ProjectCreationLevel    *string
	SubgroupCreationLevel   *string
	AutoDevopsEnabled       *bool
	EmailsEnabled           *bool
	MentionsDisabled        *bool
	LFSEnabled              *bool
	RequestAccessEnabled    *bool
	DefaultBranch           *string
	DefaultBranchProtection *int64
	SharedRunnersSetting    *string

	OnlyMergeIfPipelineSucceeds    *bool
	AllowMergeOnSkippedPipeline    *bool
	OnlyMergeIfDiscussionsResolved *bool

	Settings GroupSettingsChanges
}

// GroupSettingsChanges are those of GroupSettings that a call sets.
type GroupSettingsChanges struct {
	DefaultBranchProtectionDefaults      json.RawMessage `json:"default_branch_protection_defaults,omitempty"`
	PreventSharingGroupsOutsideHierarchy *bool           `json:"prevent_sharing_groups_outside_hierarchy,omitempty"`
	PreventForkingOutsideGroup           *bool           `json:"prevent_forking_outside_group,omitempty"`
	MembershipLock                       *bool           `json:"membership_lock,omitempty"`
	MaxArtifactsSize                     *int64          `json:"max_artifacts_size,omitempty"`
	SharedRunnersMinutesLimit            *int64          `json:"shared_runners_minutes_limit,omitempty"`
	ExtraSharedRunnersMinutesLimit       *int64          `json:"extra_shared_runners_minutes_limit,omitempty"`
	FileTemplateProjectID                *int64          `json:"file_template_project_id,omitempty"` // 0 is none
	WikiAccessLevel                      *string         `json:"wiki_access_level,omitempty"`
	IPRestrictionRanges                  *string         `json:"ip_restriction_ranges,omitempty"`
	AllowedEmailDomainsList              *string         `json:"allowed_email_domains_list,omitempty"`
	EnabledGitAccessProtocol             *string         `json:"enabled_git_access_protocol,omitempty"`
	ShowDiffPreviewInEmail               *bool           `json:"show_diff_preview_in_email,omitempty"`
	MathRenderingLimitsEnabled           *bool           `json:"math_rendering_limits_enabled,omitempty"`
	LockMathRenderingLimitsEnabled       *bool           `json:"lock_math_rendering_limits_enabled,omitempty"`
}

// GroupInput is a new group; Name and Path are needed.
type GroupInput struct {
	ParentID *ID // nil makes a top-level group
	GroupChanges
}

// GroupCreated says that a group is there.
type GroupCreated struct {
	GroupID  ID
	ParentID *ID
	Name     string
	FullPath string
	By       authz.Actor
}

// GroupUpdated says that a group has other attributes; the names are the API's.
type GroupUpdated struct {
	GroupID  ID
	Name     string
	FullPath string
	Changed  []string
	By       authz.Actor
}

type groupRow struct {
	ID                      ID            `db:"namespace_id"`
	CreatorID               *authz.UserID `db:"creator_id"`
	Description             *string       `db:"description"`
	Avatar                  string        `db:"avatar"`
	ShareWithGroupLock      bool          `db:"share_with_group_lock"`
	RequireTwoFactor        bool          `db:"require_two_factor_authentication"`
	TwoFactorGracePeriod    int64         `db:"two_factor_grace_period"`
	ProjectCreationLevel    string        `db:"project_creation_level"`
	SubgroupCreationLevel   string        `db:"subgroup_creation_level"`
	AutoDevopsEnabled       *bool         `db:"auto_devops_enabled"`
	EmailsEnabled           bool          `db:"emails_enabled"`
	MentionsDisabled        *bool         `db:"mentions_disabled"`
	LFSEnabled              bool          `db:"lfs_enabled"`
	RequestAccessEnabled    bool          `db:"request_access_enabled"`
	DefaultBranch           *string       `db:"default_branch"`
	DefaultBranchProtection *int64        `db:"default_branch_protection"`
	SharedRunnersSetting    string        `db:"shared_runners_setting"`
	Archived                bool          `db:"archived"`
	Settings                string        `db:"settings"`

	OnlyMergeIfPipelineSucceeds    bool `db:"only_allow_merge_if_pipeline_succeeds"`
	AllowMergeOnSkippedPipeline    bool `db:"allow_merge_on_skipped_pipeline"`
	OnlyMergeIfDiscussionsResolved bool `db:"only_allow_merge_if_all_discussions_are_resolved"`
}

// Create makes a group with the actor as its owner. Whoever may not make one there
// gets Forbidden; a parent that is hidden is a missing group.
func (s *Service) Create(ctx context.Context, as authz.Actor, in GroupInput) (*Group, error) {
	parent, err := s.requireCreate(ctx, as, in.ParentID)
	if err != nil {
		return nil, err
	}
	g := s.newGroup(as, in)
	in.apply(g)
	if in.Visibility == nil && parent != nil {
		g.Visibility = min(g.Visibility, parent.Visibility)
	}
	fields, err := s.checkGroup(ctx, as, g, nil, parent)
	if err != nil {
		return nil, err
	}
	if len(fields) > 0 {
		return nil, notSaved(fields)
	}
	err = s.db.InTx(ctx, func(ctx context.Context) error {
		id, err := s.Plant(ctx, Entry{Kind: GroupKind, Parent: in.ParentID, Path: g.Path, Name: g.Name, Visibility: g.Visibility})
		if err != nil {
			return err
		}
		if _, err := db.InsertRow(ctx, s.db, "groups", g.row(id), ""); err != nil {
			return err
		}
		if as.SignedIn() {
			now := db.At(s.now())
			_, err := db.Insert(ctx, s.db, "members", memberRow{
				NamespaceID: id, UserID: as.UserID, Level: authz.Owner, CreatedByID: &as.UserID, CreatedAt: now, UpdatedAt: now,
			})
			if err != nil {
				return err
			}
		}
		g.ID = id
		fullPath := g.Path
		if parent != nil {
			fullPath = parent.FullPath + "/" + g.Path
		}
		return s.bus.Publish(ctx, GroupCreated{GroupID: id, ParentID: in.ParentID, Name: g.Name, FullPath: fullPath, By: as})
	})
	if f := takenFields(err); f != nil {
		return nil, notSaved(f)
	}
	if err != nil {
		return nil, fmt.Errorf("create group: %w", err)
	}
	return s.FindByID(ctx, as, g.ID)
}

// requireCreate is the permission for a group below parent, or at the top level.
func (s *Service) requireCreate(ctx context.Context, as authz.Actor, parent *ID) (*Group, error) {
	if parent == nil {
		if err := s.policy.Require(ctx, as, authz.CreateTopGroup, authz.Subject{}); err != nil {
			return nil, err
		}
		if as.Admin {
			return nil, nil
		}
		allowed, err := db.Get[bool](ctx, s.db, "SELECT can_create_group FROM users WHERE id = ?", as.UserID)
		if err != nil {
			return nil, fmt.Errorf("may user create groups: %w", err)
		}
		if !allowed || as.External {
			return nil, errs.Denied("")
		}
		return nil, nil
	}
	g, err := s.FindByID(ctx, as, *parent)
	if err != nil {
		return nil, err
	}
	if err := s.policy.Require(ctx, as, authz.CreateSubgroup, g.Subject()); err != nil {
		return nil, err
	}
	if g.SubgroupCreationLevel == "owner" && g.Level < authz.Owner {
		return nil, errs.Denied("")
	}
	return g, nil
}

func (s *Service) newGroup(as authz.Actor, in GroupInput) *Group {
	set := s.settings.Current()
	v, ok := authz.ParseVisibility(set.DefaultGroupVisibility)
	if !ok {
		v = authz.Private
	}
	g := &Group{
		ParentID: in.ParentID, Visibility: v, TwoFactorGracePeriod: 48, SubgroupCreationLevel: "maintainer",
		ProjectCreationLevel: creationLevels[set.DefaultProjectCreation], EmailsEnabled: true, LFSEnabled: true,
		RequestAccessEnabled: true, SharedRunnersSetting: "enabled", SettingsJSON: "{}",
	}
	if g.ProjectCreationLevel == "" {
		g.ProjectCreationLevel = "developer"
	}
	if as.SignedIn() {
		g.CreatorID = &as.UserID
	}
	return g
}

// creationLevels are the words for the instance's default_project_creation.
var creationLevels = map[int]string{0: "noone", 1: "maintainer", 2: "developer", 3: "administrator", 4: "owner"}

// apply sets what the changes hold and names what is different now.
func (c *GroupChanges) apply(g *Group) []string {
	var changed []string
	set(&changed, "name", &g.Name, c.Name)
	set(&changed, "path", &g.Path, c.Path)
	set(&changed, "visibility", &g.Visibility, c.Visibility)
	setOptional(&changed, "description", &g.Description, c.Description)
	set(&changed, "share_with_group_lock", &g.ShareWithGroupLock, c.ShareWithGroupLock)
	set(&changed, "require_two_factor_authentication", &g.RequireTwoFactor, c.RequireTwoFactor)
	set(&changed, "two_factor_grace_period", &g.TwoFactorGracePeriod, c.TwoFactorGracePeriod)
	set(&changed, "project_creation_level", &g.ProjectCreationLevel, c.ProjectCreationLevel)
	set(&changed, "subgroup_creation_level", &g.SubgroupCreationLevel, c.SubgroupCreationLevel)
	setOptional(&changed, "auto_devops_enabled", &g.AutoDevopsEnabled, c.AutoDevopsEnabled)
	set(&changed, "emails_enabled", &g.EmailsEnabled, c.EmailsEnabled)
	setOptional(&changed, "mentions_disabled", &g.MentionsDisabled, c.MentionsDisabled)
	set(&changed, "lfs_enabled", &g.LFSEnabled, c.LFSEnabled)
	set(&changed, "request_access_enabled", &g.RequestAccessEnabled, c.RequestAccessEnabled)
	setOptional(&changed, "default_branch", &g.DefaultBranch, c.DefaultBranch)
	if g.DefaultBranch != nil && *g.DefaultBranch == "" {
		g.DefaultBranch = nil
	}
	setOptional(&changed, "default_branch_protection", &g.DefaultBranchProtection, c.DefaultBranchProtection)
	set(&changed, "shared_runners_setting", &g.SharedRunnersSetting, c.SharedRunnersSetting)
	set(&changed, "only_allow_merge_if_pipeline_succeeds", &g.OnlyMergeIfPipelineSucceeds, c.OnlyMergeIfPipelineSucceeds)
	set(&changed, "allow_merge_on_skipped_pipeline", &g.AllowMergeOnSkippedPipeline, c.AllowMergeOnSkippedPipeline)
	set(&changed, "only_allow_merge_if_all_discussions_are_resolved", &g.OnlyMergeIfDiscussionsResolved, c.OnlyMergeIfDiscussionsResolved)
	if merged, ok := overlay(g.Settings(), c.Settings); ok && merged != g.SettingsJSON {
		g.SettingsJSON = merged
		changed = append(changed, "settings")
	}
	return changed
}

// overlay writes settings with the given changes over them.
func overlay(base GroupSettings, changes GroupSettingsChanges) (string, bool) {
	text, err := json.Marshal(changes)
	if err != nil || json.Unmarshal(text, &base) != nil {
		return "", false
	}
	text, err = json.Marshal(base)
	return string(text), err == nil
}

func set[T comparable](changed *[]string, name string, field, value *T) {
	if value != nil && *field != *value {
		*field = *value
		*changed = append(*changed, name)
	}
}

func setOptional[T comparable](changed *[]string, name string, field **T, value *T) {
	if value != nil && (*field == nil || **field != *value) {
		*field = value
		*changed = append(*changed, name)
	}
}

// checkGroup validates g; old is nil for a new group.
func (s *Service) checkGroup(ctx context.Context, as authz.Actor, g, old, parent *Group) (errs.Fields, error) {
	var f errs.Fields
	if old == nil || g.Path != old.Path {
		checkGroupPath(&f, g.Path, g.ParentID != nil)
	}
	if old == nil || g.Name != old.Name {
		checkGroupName(&f, g.Name)
	}
	f.Length("description", g.Description, MaxDescription)
	f.Range("two_factor_grace_period", &g.TwoFactorGracePeriod, 0, math.MaxInt32)
	g.Settings().check(&f)
	if g.DefaultBranch != nil {
		f.Check(gitcmd.ValidBranchName(*g.DefaultBranch), "default_branch", "is not a valid branch name")
	}
	if g.DefaultBranchProtection != nil {
		f.Check(*g.DefaultBranchProtection >= 0 && *g.DefaultBranchProtection <= 4, "default_branch_protection", "is not included in the list")
	}
	if old == nil && parent != nil {
		depth, err := db.Get[int](ctx, s.db, "SELECT MAX(depth) FROM namespace_ancestors WHERE namespace_id = ?", parent.ID)
		if err != nil {
			return nil, fmt.Errorf("depth of group: %w", err)
		}
		f.Check(depth+1 <= MaxDepth, "parent_id", "has too deep level of nesting")
	}
	if old == nil || g.Visibility != old.Visibility {
		if err := s.checkVisibility(ctx, as, &f, g, parent); err != nil {
			return nil, err
		}
	}
	return f, nil
}

// maxRules bounds the texts and objects of a group that hold a list of rules, in bytes or
// characters.
const maxRules = 4096

// check bounds what is kept as it is sent.
func (s GroupSettings) check(f *errs.Fields) {
	f.Length("ip_restriction_ranges", s.IPRestrictionRanges, maxRules)
	f.Length("allowed_email_domains_list", s.AllowedEmailDomainsList, maxRules)
	f.Check(len(s.DefaultBranchProtectionDefaults) <= maxRules, "default_branch_protection_defaults", "must be a valid json schema")
	f.Range("max_artifacts_size", s.MaxArtifactsSize, 1, math.MaxInt32)
	f.Range("shared_runners_minutes_limit", s.SharedRunnersMinutesLimit, 0, math.MaxInt32)
	f.Range("extra_shared_runners_minutes_limit", s.ExtraSharedRunnersMinutesLimit, 0, math.MaxInt32)
	f.Range("file_template_project_id", s.FileTemplateProjectID, 0, math.MaxInt32)
}

func (s *Service) checkVisibility(ctx context.Context, as authz.Actor, f *errs.Fields, g, parent *Group) error {
	v := g.Visibility
	if !as.Admin && slices.Contains(s.settings.Current().RestrictedVisibilityLevels, v.String()) {
		f.Add("visibility_level", RestrictedVisibility(v))
	}
	if parent != nil && v > parent.Visibility {
		f.Add("visibility_level", fmt.Sprintf("%s is not allowed since the parent group has a %s visibility.", v, parent.Visibility))
	}
	if g.ID == 0 {
		return nil
	}
	higher, err := db.Select[Kind](ctx, s.db, `SELECT DISTINCT n.kind FROM namespace_ancestors a JOIN namespaces n ON n.id = a.namespace_id
		WHERE a.ancestor_id = ? AND a.depth > 0 AND n.visibility > ?`, g.ID, v)
	if err != nil {
		return fmt.Errorf("visibility below group: %w", err)
	}
	if slices.Contains(higher, ProjectKind) {
		f.Add("visibility_level", fmt.Sprintf("%s is not allowed since this group contains projects with higher visibility.", v))
	}
	if slices.Contains(higher, GroupKind) {
		f.Add("visibility_level", fmt.Sprintf("%s is not allowed since there are sub-groups with higher visibility.", v))
	}
	return nil
}

func (g *Group) row(id ID) groupRow {
	return groupRow{
		ID: id, CreatorID: g.CreatorID, Description: g.Description, Avatar: g.Avatar, ShareWithGroupLock: g.ShareWithGroupLock,
		RequireTwoFactor: g.RequireTwoFactor, TwoFactorGracePeriod: g.TwoFactorGracePeriod,
		ProjectCreationLevel: g.ProjectCreationLevel, SubgroupCreationLevel: g.SubgroupCreationLevel,
		AutoDevopsEnabled: g.AutoDevopsEnabled, EmailsEnabled: g.EmailsEnabled, MentionsDisabled: g.MentionsDisabled,
		LFSEnabled: g.LFSEnabled, RequestAccessEnabled: g.RequestAccessEnabled, DefaultBranch: g.DefaultBranch,
		DefaultBranchProtection: g.DefaultBranchProtection, SharedRunnersSetting: g.SharedRunnersSetting,
		Archived: g.Archived, Settings: g.SettingsJSON, OnlyMergeIfPipelineSucceeds: g.OnlyMergeIfPipelineSucceeds,
		AllowMergeOnSkippedPipeline: g.AllowMergeOnSkippedPipeline, OnlyMergeIfDiscussionsResolved: g.OnlyMergeIfDiscussionsResolved,
	}
}

// takenFields says which attribute a refused Plant or Rename is about, nil for none.
func takenFields(err error) errs.Fields {
	var f errs.Fields
	switch {
	case errors.Is(err, ErrTaken):
		f.Add("path", MessageTaken)
	case errors.Is(err, ErrNameTaken):
		f.Add("name", MessageTaken)
	}
	return f
}

func notSaved(f errs.Fields) error { return errs.Plain("Failed to save group " + inspect(f)) }

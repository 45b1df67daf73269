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
	"tenon/internal/base/gitstore"
	"tenon/internal/core/authz"
	"tenon/internal/core/change"
	"tenon/internal/core/setting"
)

// GroupAttributes are those of a group that are stored as a call sends them: each stands
// for the column of its tag, and is a parameter of the API as it is. nil leaves one alone.
type GroupAttributes struct {
	Description                    *string `db:"description" param:"description" doc:"Description, at most 2000 characters"`
	ShareWithGroupLock             *bool   `db:"share_with_group_lock" param:"share_with_group_lock" doc:"Prevent sharing a project with another group"`
	RequireTwoFactor               *bool   `db:"require_two_factor_authentication" param:"require_two_factor_authentication" doc:"Require two-factor authentication of members"`
	TwoFactorGracePeriod           *int64  `db:"two_factor_grace_period" param:"two_factor_grace_period" doc:"Hours until two-factor authentication is enforced"`
	ProjectCreationLevel           *string `db:"project_creation_level" param:"project_creation_level" values:"noone,owner,maintainer,developer,administrator" doc:"Minimum role to create projects"`
	SubgroupCreationLevel          *string `db:"subgroup_creation_level" param:"subgroup_creation_level" values:"owner,maintainer" doc:"Minimum role to create subgroups"`
	AutoDevopsEnabled              *bool   `db:"auto_devops_enabled" param:"auto_devops_enabled" doc:"Default to Auto DevOps pipelines for all projects in this group"`
	EmailsEnabled                  *bool   `db:"emails_enabled" param:"emails_enabled" doc:"Enable email notifications"`
	MentionsDisabled               *bool   `db:"mentions_disabled" param:"mentions_disabled" doc:"Disable mentions of the group"`
	LFSEnabled                     *bool   `db:"lfs_enabled" param:"lfs_enabled" doc:"Enable Git LFS"`
	RequestAccessEnabled           *bool   `db:"request_access_enabled" param:"request_access_enabled" doc:"Allow users to request access"`
	DefaultBranch                  *string `db:"default_branch" empty:"null" param:"default_branch" doc:"Default branch of new projects"`
	DefaultBranchProtection        *int64  `db:"default_branch_protection" param:"default_branch_protection" values:"0,1,2,3,4" doc:"Default branch protection level"`
	SharedRunnersSetting           *string `db:"shared_runners_setting" param:"shared_runners_setting" values:"enabled,disabled_and_overridable,disabled_and_unoverridable,disabled_with_override" doc:"Shared runners setting of the group"`
	OnlyMergeIfPipelineSucceeds    *bool   `db:"only_allow_merge_if_pipeline_succeeds" param:"only_allow_merge_if_pipeline_succeeds" doc:"Only allow merging in the group's projects if the pipeline succeeds"`
	AllowMergeOnSkippedPipeline    *bool   `db:"allow_merge_on_skipped_pipeline" param:"allow_merge_on_skipped_pipeline" doc:"Treat skipped pipelines as successful in the group's projects"`
	OnlyMergeIfDiscussionsResolved *bool   `db:"only_allow_merge_if_all_discussions_are_resolved" param:"only_allow_merge_if_all_discussions_are_resolved" doc:"Only allow merging in the group's projects if all discussions are resolved"`
}

// SizeLimit is a limit of repositories with their large objects, in bytes: nil is what the
// group above or the instance says, 0 any number.
type SizeLimit struct{ Bytes *int64 }

// MaxSizeLimit is the largest of those limits, in bytes.
const MaxSizeLimit = 1 << 40

// Number is what a call sets a number to that may be absent: N is nil to take it away.
type Number struct{ N *int64 }

// MarshalJSON writes the number, or null.
func (n Number) MarshalJSON() ([]byte, error) { return json.Marshal(n.N) }

// GroupChanges are the attributes of a group that a call sets; nil leaves one alone.
type GroupChanges struct {
	GroupAttributes
	Name, Path *string
	Visibility *authz.Visibility
	SizeLimit  *SizeLimit // administrators only; others leave it alone
	Settings   GroupSettingsChanges
}

// GroupSettingsChanges are those of GroupSettings that a call sets.
type GroupSettingsChanges struct {
	DefaultBranchProtectionDefaults      json.RawMessage `json:"default_branch_protection_defaults,omitempty"`
	PreventSharingGroupsOutsideHierarchy *bool           `json:"prevent_sharing_groups_outside_hierarchy,omitempty"`
	PreventForkingOutsideGroup           *bool           `json:"prevent_forking_outside_group,omitempty"`
	MembershipLock                       *bool           `json:"membership_lock,omitempty"`
	MaxArtifactsSize                     *Number         `json:"max_artifacts_size,omitempty"`
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
	ServiceTokensExpire                  *bool           `json:"service_access_tokens_expiration_enforced,omitempty"`
}

// GroupInput is a new group; Name and Path are needed.
type GroupInput struct {
	ParentID *ID // nil makes a top-level group
	GroupChanges
}

// Create makes a group with the actor as its owner. A caller who may not make one there
// gets Forbidden; a parent that is hidden is a missing group.
func (s *Service) Create(ctx context.Context, as authz.Actor, in GroupInput) (*Group, error) {
	parent, err := s.requireCreate(ctx, as, in.ParentID)
	if err != nil {
		return nil, err
	}
	g := s.newGroup(as, in)
	in.restrict(as, s.Settings.Current())
	if parent != nil {
		g.SharedRunnersSetting = parent.SharedRunnersSetting
	}
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
	err = s.DB.InTx(ctx, func(ctx context.Context) error {
		now := s.Now()
		id, err := s.Plant(ctx, Entry{Kind: GroupKind, Parent: in.ParentID, Path: g.Path, Name: g.Name, Visibility: g.Visibility, At: now})
		if err != nil {
			return err
		}
		g.ID, g.CreatedAt, g.UpdatedAt = id, db.At(now), db.At(now)
		if _, err := db.InsertRow(ctx, s.DB, "groups", g, ""); err != nil {
			return err
		}
		if err := s.rangesChanged(ctx, nil, g); err != nil {
			return err
		}
		if as.SignedIn() {
			err := db.Create(ctx, s.DB, "members", &Member{
				NamespaceID: id, UserID: as.UserID, Level: authz.Owner, CreatedByID: &as.UserID, CreatedAt: g.CreatedAt, UpdatedAt: g.CreatedAt,
			})
			if err != nil {
				return err
			}
		}
		g.FullPath, g.FullName = g.Path, g.Name
		if parent != nil {
			g.FullPath, g.FullName = parent.FullPath+"/"+g.Path, parent.FullName+" / "+g.Name
		}
		return s.Bus.Publish(ctx, GroupCreated{change.Created(as, s.Now(), g.Place(), g)})
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
		if err := s.Policy.Require(ctx, as, authz.CreateTopGroup, authz.Subject{}); err != nil {
			return nil, err
		}
		if as.Admin {
			return nil, nil
		}
		allowed, err := db.Get[bool](ctx, s.DB, "SELECT can_create_group FROM users WHERE id = ?", as.UserID)
		if err != nil {
			return nil, fmt.Errorf("may user create groups: %w", err)
		}
		if !allowed || as.External || !s.Settings.Current().TopLevelGroupCreationEnabled {
			return nil, errs.Denied("")
		}
		return nil, s.RequireMoreThanGuest(ctx, as)
	}
	g, err := s.FindByID(ctx, as, *parent)
	if err != nil {
		return nil, err
	}
	if err := s.Policy.Require(ctx, as, authz.CreateSubgroup, g.Subject()); err != nil {
		return nil, err
	}
	if g.SubgroupCreationLevel == "owner" && g.Level < authz.Owner {
		return nil, errs.Denied("")
	}
	return g, nil
}

func (s *Service) newGroup(as authz.Actor, in GroupInput) *Group {
	set := s.Settings.Current()
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

// apply sets what the changes hold.
func (c *GroupChanges) apply(g *Group) {
	db.Assign(g, &c.GroupAttributes)
	if c.Name != nil {
		g.Name = *c.Name
	}
	if c.Path != nil {
		g.Path = *c.Path
	}
	if c.Visibility != nil {
		g.Visibility = *c.Visibility
	}
	if c.SizeLimit != nil {
		g.RepositorySizeLimit = c.SizeLimit.Bytes
	}
	old, _ := overlay(g.Settings(), GroupSettingsChanges{})
	if merged, ok := overlay(g.Settings(), c.Settings); ok && merged != old {
		g.SettingsJSON = merged
	}
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
	f.Range("repository_size_limit", g.RepositorySizeLimit, 0, MaxSizeLimit)
	g.Settings().check(&f, old)
	var limit *int64
	if old != nil {
		limit = old.Settings().MaxArtifactsSize
	}
	CheckArtifactsSize(&f, as, limit, g.Settings().MaxArtifactsSize, s.Settings)
	if g.DefaultBranch != nil {
		f.Check(gitstore.ValidBranchName(*g.DefaultBranch), "default_branch", "is not a valid branch name")
	}
	if g.DefaultBranchProtection != nil {
		f.Check(*g.DefaultBranchProtection >= 0 && *g.DefaultBranchProtection <= 4, "default_branch_protection", "is not included in the list")
	}
	if old == nil && parent != nil {
		depth, err := db.Get[int](ctx, s.DB, "SELECT MAX(depth) FROM namespace_ancestors WHERE namespace_id = ?", parent.ID)
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

// check bounds what is kept as it is sent, and refuses lists that cannot be read. Those that are stored already stay.
func (s GroupSettings) check(f *errs.Fields, old *Group) {
	var was GroupSettings
	if old != nil {
		was = old.Settings()
	}
	if list := s.AllowedEmailDomainsList; list != nil && (was.AllowedEmailDomainsList == nil || *was.AllowedEmailDomainsList != *list) {
		_, ok := parseDomains(*list)
		f.Check(ok, settingEmailDomains, "has a domain that is not valid")
	}
	if list := s.IPRestrictionRanges; list != nil && (was.IPRestrictionRanges == nil || *was.IPRestrictionRanges != *list) {
		_, ok := parseRanges(*list)
		f.Check(ok, settingAddressRanges, "has an IP address or subnet that is not valid")
	}
	f.Length("ip_restriction_ranges", s.IPRestrictionRanges, maxRules)
	f.Length("allowed_email_domains_list", s.AllowedEmailDomainsList, maxRules)
	f.Check(len(s.DefaultBranchProtectionDefaults) <= maxRules, "default_branch_protection_defaults", "must be a valid json schema")
	f.Range("shared_runners_minutes_limit", s.SharedRunnersMinutesLimit, 0, math.MaxInt32)
	f.Range("extra_shared_runners_minutes_limit", s.ExtraSharedRunnersMinutesLimit, 0, math.MaxInt32)
	f.Range("file_template_project_id", s.FileTemplateProjectID, 0, math.MaxInt32)
}

// SettingMaxArtifactsSize is the setting of groups and projects that bounds a job's artifacts, in MB.
const SettingMaxArtifactsSize = "max_artifacts_size"

// CheckArtifactsSize bounds a changed SettingMaxArtifactsSize. Administrators alone allow more than the instance does.
func CheckArtifactsSize(f *errs.Fields, as authz.Actor, old, size *int64, settings *setting.Store) {
	if size == nil || old != nil && *old == *size {
		return
	}
	most := int64(math.MaxInt32)
	if !as.Admin {
		most = int64(settings.Current().MaxArtifactsSize)
	}
	f.Range(SettingMaxArtifactsSize, size, 1, most)
}

func (s *Service) checkVisibility(ctx context.Context, as authz.Actor, f *errs.Fields, g, parent *Group) error {
	v := g.Visibility
	if !as.Admin && slices.Contains(s.Settings.Current().RestrictedVisibilityLevels, v.String()) {
		f.Add("visibility_level", RestrictedVisibility(v))
	}
	if parent != nil && v > parent.Visibility {
		f.Add("visibility_level", fmt.Sprintf("%s is not allowed since the parent group has a %s visibility.", v, parent.Visibility))
	}
	if g.ID == 0 {
		return nil
	}
	higher, err := db.Select[Kind](ctx, s.DB, `SELECT DISTINCT n.kind FROM namespace_ancestors a JOIN namespaces n ON n.id = a.namespace_id
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

// NameTaken reports whether a group could not be saved because a sibling has the name.
func NameTaken(err error) bool {
	refused, ok := errors.AsType[*errs.Error](err)
	return ok && len(refused.Fields) == 1 && refused.Fields[0].Name == "name" && slices.Contains(refused.Fields[0].Messages, MessageTaken)
}

// CodeNotSaved is a new group that breaks rules; the fields say which.
const CodeNotSaved errs.Code = "group_not_saved"

func notSaved(f errs.Fields) error {
	return &errs.Error{Kind: errs.Invalid, Code: CodeNotSaved, Fields: f}
}

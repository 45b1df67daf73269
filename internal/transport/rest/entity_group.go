package rest

import (
	"context"

	"tenon/internal/base/page"
	"tenon/internal/core/authz"
	"tenon/internal/core/namespace"
	"tenon/internal/core/project"
	"tenon/internal/transport/rest/api"
)

// groupEntity is what everybody sees of a group.
type groupEntity struct {
	ID                       namespace.ID       `json:"id"`
	WebURL                   string             `json:"web_url"`
	Name                     string             `json:"name"`
	Path                     string             `json:"path"`
	Description              *string            `json:"description"`
	Visibility               string             `json:"visibility"`
	ShareWithGroupLock       bool               `json:"share_with_group_lock"`
	RequireTwoFactor         bool               `json:"require_two_factor_authentication"`
	TwoFactorGracePeriod     int64              `json:"two_factor_grace_period"`
	ProjectCreationLevel     string             `json:"project_creation_level"`
	AutoDevopsEnabled        *bool              `json:"auto_devops_enabled"`
	SubgroupCreationLevel    string             `json:"subgroup_creation_level"`
	EmailsDisabled           bool               `json:"emails_disabled"`
	EmailsEnabled            bool               `json:"emails_enabled"`
	ShowDiffPreviewInEmail   bool               `json:"show_diff_preview_in_email"`
	MentionsDisabled         *bool              `json:"mentions_disabled"`
	LFSEnabled               bool               `json:"lfs_enabled"`
	Archived                 bool               `json:"archived"`
	MathLimits               bool               `json:"math_rendering_limits_enabled"`
	LockMathLimits           bool               `json:"lock_math_rendering_limits_enabled"`
	DefaultBranch            *string            `json:"default_branch"`
	DefaultBranchProtection  int64              `json:"default_branch_protection"`
	DefaultBranchProtections protectionDefaults `json:"default_branch_protection_defaults"`
	AvatarURL                *string            `json:"avatar_url"`
	RequestAccessEnabled     bool               `json:"request_access_enabled"`
	FullName                 string             `json:"full_name"`
	FullPath                 string             `json:"full_path"`
	CreatedAt                api.Time           `json:"created_at"`
	ParentID                 *namespace.ID      `json:"parent_id"`
	OrganizationID           int64              `json:"organization_id"`
	SharedRunnersSetting     string             `json:"shared_runners_setting"`
	MaxArtifactsSize         *int64             `json:"max_artifacts_size"`
	CustomAttributes         *[]attributeEntity `json:"custom_attributes,omitempty"`
	Statistics               *groupStatistics   `json:"statistics,omitempty"`
	RootStatistics           *rootStatistics    `json:"root_storage_statistics,omitempty"`
	MarkedForDeletionOn      *string            `json:"marked_for_deletion_on"`
	LDAPCN                   *string            `json:"ldap_cn" later:"LDAP"`
	LDAPAccess               *int               `json:"ldap_access" later:"LDAP"`
	FileTemplateProjectID    *int64             `json:"file_template_project_id"`
	WikiAccessLevel          string             `json:"wiki_access_level"`
}

type groupStatistics struct {
	StorageSize           int64 `json:"storage_size"` // all below
	RepositorySize        int64 `json:"repository_size"`
	WikiSize              int64 `json:"wiki_size"`
	LFSObjectsSize        int64 `json:"lfs_objects_size"`
	JobArtifactsSize      int64 `json:"job_artifacts_size"`
	PipelineArtifactsSize int64 `json:"pipeline_artifacts_size"` // 0: nothing is kept of a pipeline but what its jobs have
	PackagesSize          int64 `json:"packages_size"`
	SnippetsSize          int64 `json:"snippets_size"`
	UploadsSize           int64 `json:"uploads_size"`
}

// rootStatistics are those of a top-level group, under their older names.
type rootStatistics struct {
	BuildArtifactsSize        int64 `json:"build_artifacts_size"`
	ContainerRegistrySize     int64 `json:"container_registry_size" later:"container registry"`
	ContainerRegistryEstimate bool  `json:"container_registry_size_is_estimated" later:"container registry"`
	DependencyProxySize       int64 `json:"dependency_proxy_size" later:"dependency proxy"`
	LFSObjectsSize            int64 `json:"lfs_objects_size"`
	PackagesSize              int64 `json:"packages_size"`
	PipelineArtifactsSize     int64 `json:"pipeline_artifacts_size"` // 0: nothing is kept of a pipeline but what its jobs have
	RepositorySize            int64 `json:"repository_size"`
	SnippetsSize              int64 `json:"snippets_size"`
	StorageSize               int64 `json:"storage_size"`
	UploadsSize               int64 `json:"uploads_size"`
	WikiSize                  int64 `json:"wiki_size"`
}

func (e *groupEntity) statistics(s namespace.Sizes) {
	e.Statistics = &groupStatistics{StorageSize: s.Total(), RepositorySize: s.Repository, LFSObjectsSize: s.LFS, UploadsSize: s.Uploads, WikiSize: s.Wiki, SnippetsSize: s.Snippets, JobArtifactsSize: s.Artifacts, PackagesSize: s.Packages}
	if e.ParentID == nil {
		e.RootStatistics = &rootStatistics{StorageSize: s.Total(), RepositorySize: s.Repository, LFSObjectsSize: s.LFS, UploadsSize: s.Uploads, WikiSize: s.Wiki, SnippetsSize: s.Snippets, BuildArtifactsSize: s.Artifacts, PackagesSize: s.Packages}
	}
}

// groupDetails is the answer for one group.
type groupDetails struct {
	groupEntity
	SharedWithGroups    []sharedGroup  `json:"shared_with_groups"`
	*groupOwned                        // for owners
	PreventSharing      bool           `json:"prevent_sharing_groups_outside_hierarchy"`
	Projects            *[]projectForm `json:"projects,omitempty"`
	SharedProjects      *[]projectForm `json:"shared_projects,omitempty"`
	RunnersMinutes      *int64         `json:"shared_runners_minutes_limit"`
	ExtraRunnersMinutes *int64         `json:"extra_shared_runners_minutes_limit"`
	PreventForking      *bool          `json:"prevent_forking_outside_group"`
	MembershipLock      bool           `json:"membership_lock"`
	IPRanges            *string        `json:"ip_restriction_ranges"`
	EmailDomains        *string        `json:"allowed_email_domains_list"`
	SizeLimit           *int64         `json:"repository_size_limit,omitempty"` // bytes, where it is the group's own; for administrators

	OnlyIfPipelineSucceeds    bool `json:"only_allow_merge_if_pipeline_succeeds"`
	AllowOnSkippedPipeline    bool `json:"allow_merge_on_skipped_pipeline"`
	OnlyIfDiscussionsResolved bool `json:"only_allow_merge_if_all_discussions_are_resolved"`
}

type groupOwned struct {
	RunnersToken *string `json:"runners_token"`
	GitProtocol  *string `json:"enabled_git_access_protocol"`
}

// protections are the hashes that stand for the numbers of default_branch_protection.
var protections = map[int64]string{
	0: `{"allowed_to_push":[{"access_level":30}],"allow_force_push":true,"allowed_to_merge":[{"access_level":30}]}`,
	1: `{"allowed_to_push":[{"access_level":30}],"allow_force_push":false,"allowed_to_merge":[{"access_level":40}]}`,
	2: `{"allowed_to_push":[{"access_level":40}],"allow_force_push":false,"allowed_to_merge":[{"access_level":40}]}`,
	3: `{"allowed_to_push":[{"access_level":40}],"allow_force_push":false,"allowed_to_merge":[{"access_level":30}]}`,
	4: `{"allowed_to_push":[{"access_level":40}],"allow_force_push":false,"allowed_to_merge":[{"access_level":40}],` +
		`"developer_can_initial_push":true}`,
}

// groupView says what a caller wants to know of groups.
type groupView struct {
	custom   bool // for administrators
	projects bool // with the projects of a single group
}

func (s *Server) group(g *namespace.GroupView) groupEntity {
	set := g.Settings
	e := groupEntity{
		ID: g.ID, WebURL: s.URLs.Group(g.FullPath), Name: g.Name, Path: g.Path, Description: g.Description,
		Visibility: g.Visibility.String(), ShareWithGroupLock: g.ShareWithGroupLock, RequireTwoFactor: g.RequireTwoFactor,
		TwoFactorGracePeriod: g.TwoFactorGracePeriod, ProjectCreationLevel: g.ProjectCreationLevel,
		AutoDevopsEnabled: g.AutoDevopsEnabled, SubgroupCreationLevel: g.SubgroupCreationLevel, EmailsDisabled: !g.EmailsEnabled,
		EmailsEnabled: g.EmailsEnabled, ShowDiffPreviewInEmail: set.ShowDiffPreviewInEmail == nil || *set.ShowDiffPreviewInEmail,
		MentionsDisabled: g.MentionsDisabled, LFSEnabled: g.LFSEnabled, Archived: g.Archived,
		MathLimits:     set.MathRenderingLimitsEnabled == nil || *set.MathRenderingLimitsEnabled,
		LockMathLimits: set.LockMathRenderingLimitsEnabled, DefaultBranch: g.DefaultBranch,
		DefaultBranchProtection: int64(s.Settings.Current().DefaultBranchProtection), DefaultBranchProtections: protectionDefaults(set.DefaultBranchProtectionDefaults),
		AvatarURL: s.upload("group", int64(g.ID), g.Avatar), RequestAccessEnabled: g.RequestAccessEnabled, FullName: g.FullName,
		FullPath: g.FullPath, CreatedAt: api.Time(g.CreatedAt.Time), ParentID: g.ParentID, OrganizationID: 1,
		SharedRunnersSetting: g.SharedRunnersSetting, MaxArtifactsSize: set.MaxArtifactsSize,
		MarkedForDeletionOn: g.MarkedForDeletionOn, FileTemplateProjectID: set.FileTemplateProjectID, WikiAccessLevel: set.WikiAccessLevel,
	}
	if g.DefaultBranchProtection != nil {
		e.DefaultBranchProtection = *g.DefaultBranchProtection
	}
	if e.DefaultBranchProtections == nil {
		e.DefaultBranchProtections = protectionDefaults(protections[e.DefaultBranchProtection])
	}
	if e.DefaultBranchProtections == nil || string(e.DefaultBranchProtections) == "" {
		e.DefaultBranchProtections = protectionDefaults("{}")
	}
	if e.WikiAccessLevel == "" {
		e.WikiAccessLevel = "enabled"
	}
	if g.CustomAttributes != nil {
		list := attributeEntities(g.CustomAttributes)
		e.CustomAttributes = &list
	}
	if g.Sizes != nil {
		e.statistics(*g.Sizes)
	}
	return e
}

// groupProjects is how many projects stand in the answer for one group.
const groupProjects = 100

func (s *Server) groupDetails(ctx context.Context, as authz.Actor, g *namespace.Group, view groupView) (*groupDetails, error) {
	views, err := s.Namespaces.Views(ctx, as, []namespace.Group{*g}, namespace.GroupViewOptions{Shares: true, CustomAttributes: view.custom})
	if err != nil {
		return nil, err
	}
	shown := &views[0]
	set := shown.Settings
	e := &groupDetails{
		groupEntity: s.group(shown), SharedWithGroups: sharedGroups(shown.Shares), SizeLimit: shown.SizeLimit,
		PreventSharing: set.PreventSharingGroupsOutsideHierarchy, RunnersMinutes: set.SharedRunnersMinutesLimit,
		ExtraRunnersMinutes: set.ExtraSharedRunnersMinutesLimit, PreventForking: set.PreventForkingOutsideGroup,
		MembershipLock: set.MembershipLock, IPRanges: set.IPRestrictionRanges, EmailDomains: set.AllowedEmailDomainsList,
		OnlyIfPipelineSucceeds: g.OnlyMergeIfPipelineSucceeds, AllowOnSkippedPipeline: g.AllowMergeOnSkippedPipeline,
		OnlyIfDiscussionsResolved: g.OnlyMergeIfDiscussionsResolved,
	}
	if shown.Owned != nil {
		token, err := s.runnersToken(ctx, as, g.Place())
		if err != nil {
			return nil, err
		}
		e.groupOwned = &groupOwned{RunnersToken: token, GitProtocol: shown.Owned.EnabledGitAccessProtocol}
	}
	if !view.projects {
		return e, nil
	}
	some := page.Range{Limit: groupProjects, Uncounted: true}
	for _, part := range []struct {
		into   **[]projectForm
		filter project.Filter
	}{
		{&e.Projects, project.Filter{Parent: &g.ID, Range: some}},
		{&e.SharedProjects, project.Filter{Parent: &g.ID, OnlyShared: true, Range: some}},
	} {
		list, err := s.Projects.List(ctx, as, part.filter)
		if err != nil {
			return nil, err
		}
		items, err := s.projects(ctx, as, list.Items, project.ViewOptions{})
		if err != nil {
			return nil, err
		}
		*part.into = &items
	}
	return e, nil
}

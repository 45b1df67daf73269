package rest

import (
	"time"

	"tenon/internal/base/license"
	"tenon/internal/core/authz"
	"tenon/internal/core/project"
	"tenon/internal/core/reference"
	"tenon/internal/transport/rest/api"
)

// projectEntity is what the signed-in see of a project.
type projectEntity struct {
	projectBasic
	*projectLicense
	ImagePrefix                       string           `json:"container_registry_image_prefix"`
	ForkedFrom                        *projectBasic    `json:"forked_from_project,omitempty"`
	Links                             projectLinks     `json:"_links"`
	MarkedForDeletionAt               *string          `json:"marked_for_deletion_at"`
	MarkedForDeletionOn               *string          `json:"marked_for_deletion_on"`
	PackagesEnabled                   bool             `json:"packages_enabled"`
	EmptyRepo                         bool             `json:"empty_repo"`
	Archived                          bool             `json:"archived"`
	Owner                             *userBasic       `json:"owner,omitempty"`
	ResolveOutdatedDiffDiscussions    bool             `json:"resolve_outdated_diff_discussions"`
	ExpirationPolicy                  expirationPolicy `json:"container_expiration_policy"`
	ObjectFormat                      string           `json:"repository_object_format"`
	IssuesEnabled                     bool             `json:"issues_enabled"`
	MergeRequestsEnabled              bool             `json:"merge_requests_enabled"`
	WikiEnabled                       bool             `json:"wiki_enabled"`
	JobsEnabled                       bool             `json:"jobs_enabled"`
	SnippetsEnabled                   bool             `json:"snippets_enabled"`
	ContainerRegistryEnabled          bool             `json:"container_registry_enabled"`
	ServiceDeskEnabled                bool             `json:"service_desk_enabled"`
	ServiceDeskAddress                *string          `json:"service_desk_address" later:"service desk"`
	CanCreateMergeRequestIn           bool             `json:"can_create_merge_request_in"`
	IssuesAccess                      string           `json:"issues_access_level"`
	RepositoryAccess                  string           `json:"repository_access_level"`
	MergeRequestsAccess               string           `json:"merge_requests_access_level"`
	ForkingAccess                     string           `json:"forking_access_level"`
	WikiAccess                        string           `json:"wiki_access_level"`
	BuildsAccess                      string           `json:"builds_access_level"`
	SnippetsAccess                    string           `json:"snippets_access_level"`
	PagesAccess                       string           `json:"pages_access_level"`
	AnalyticsAccess                   string           `json:"analytics_access_level"`
	ContainerRegistryAccess           string           `json:"container_registry_access_level"`
	SecurityAccess                    string           `json:"security_and_compliance_access_level"`
	ReleasesAccess                    string           `json:"releases_access_level"`
	EnvironmentsAccess                string           `json:"environments_access_level"`
	FeatureFlagsAccess                string           `json:"feature_flags_access_level"`
	InfrastructureAccess              string           `json:"infrastructure_access_level"`
	MonitorAccess                     string           `json:"monitor_access_level"`
	ModelExperimentsAccess            string           `json:"model_experiments_access_level"`
	ModelRegistryAccess               string           `json:"model_registry_access_level"`
	PackageRegistryAccess             string           `json:"package_registry_access_level"`
	EmailsDisabled                    bool             `json:"emails_disabled"`
	EmailsEnabled                     bool             `json:"emails_enabled"`
	ShowDiffPreviewInEmail            bool             `json:"show_diff_preview_in_email"`
	SharedRunnersEnabled              bool             `json:"shared_runners_enabled"`
	LFSEnabled                        bool             `json:"lfs_enabled"`
	CreatorID                         *authz.UserID    `json:"creator_id"`
	MRDefaultTargetSelf               *bool            `json:"mr_default_target_self,omitempty"` // for forks
	ImportURL                         *string          `json:"import_url"`                       // this and import_error for those who may administer the project
	ImportType                        *string          `json:"import_type"`
	ImportStatus                      string           `json:"import_status"`
	ImportError                       *string          `json:"import_error"`
	OpenIssuesCount                   *int64           `json:"open_issues_count,omitempty"`
	DescriptionHTML                   string           `json:"description_html"`
	UpdatedAt                         api.Time         `json:"updated_at"`
	CIConfigPath                      *string          `json:"ci_config_path"`
	PublicJobs                        bool             `json:"public_jobs"`
	SharedWithGroups                  []sharedGroup    `json:"shared_with_groups"`
	OnlyIfPipelineSucceeds            bool             `json:"only_allow_merge_if_pipeline_succeeds"`
	AllowOnSkippedPipeline            *bool            `json:"allow_merge_on_skipped_pipeline"`
	RequestAccessEnabled              bool             `json:"request_access_enabled"`
	OnlyIfDiscussionsResolved         bool             `json:"only_allow_merge_if_all_discussions_are_resolved"`
	RemoveSourceBranch                bool             `json:"remove_source_branch_after_merge"`
	PrintingLinkEnabled               bool             `json:"printing_merge_request_link_enabled"`
	MergeMethod                       string           `json:"merge_method"`
	MergeRequestTitleRegex            *string          `json:"merge_request_title_regex"`
	MergeRequestTitleRegexDescription *string          `json:"merge_request_title_regex_description"`
	SquashOption                      string           `json:"squash_option"`
	EnforceAuthChecksOnUploads        bool             `json:"enforce_auth_checks_on_uploads"`
	SuggestionCommitMessage           *string          `json:"suggestion_commit_message"`
	MergeCommitTemplate               *string          `json:"merge_commit_template"`
	SquashCommitTemplate              *string          `json:"squash_commit_template"`
	IssueBranchTemplate               *string          `json:"issue_branch_template"`

	Statistics              *projectStatistics `json:"statistics,omitempty"`
	WarnAboutCharacters     bool               `json:"warn_about_potentially_unwanted_characters"`
	AutocloseIssues         bool               `json:"autoclose_referenced_issues"`
	MaxArtifactsSize        *int64             `json:"max_artifacts_size"`
	*projectAdmin                              // for those who may administer the project
	ApprovalsBeforeMerge    int64              `json:"approvals_before_merge"`
	Mirror                  bool               `json:"mirror" later:"mirrors"`
	ExternalLabel           *string            `json:"external_authorization_classification_label"`
	RequirementsEnabled     bool               `json:"requirements_enabled"`
	RequirementsAccess      string             `json:"requirements_access_level"`
	SecurityEnabled         bool               `json:"security_and_compliance_enabled"`
	SecretPushProtection    bool               `json:"secret_push_protection_enabled" later:"secret push protection"`
	ComplianceFrameworks    []string           `json:"compliance_frameworks" later:"compliance frameworks"`
	IssuesTemplate          *string            `json:"issues_template"`
	MergeRequestsTemplate   *string            `json:"merge_requests_template"`
	TitleTemplate           *string            `json:"mr_default_title_template"`
	CoverageRegex           *string            `json:"build_coverage_regex"`
	MergePipelinesEnabled   bool               `json:"merge_pipelines_enabled"`
	MergeTrainsEnabled      bool               `json:"merge_trains_enabled"`
	MergeTrainsSkip         bool               `json:"merge_trains_skip_train_allowed"`
	OnlyIfStatusChecks      bool               `json:"only_allow_merge_if_all_status_checks_passed"`
	PipelineTriggerApproves bool               `json:"allow_pipeline_trigger_approve_deployment"`
	PreventWithoutJira      bool               `json:"prevent_merge_without_jira_issue"`

	Permissions *projectPermissions `json:"permissions,omitempty"`
}

type projectLicense struct {
	LicenseURL *string        `json:"license_url"`
	License    *licenseEntity `json:"license"`
}

// licenseEntity is a license by name.
type licenseEntity struct {
	Key       string  `json:"key"`
	Name      string  `json:"name"`
	Nickname  *string `json:"nickname"`
	HTMLURL   *string `json:"html_url"`
	SourceURL *string `json:"source_url"`
}

// projectLicense renders the license of a project, an empty one where none may be shown.
func (s *Server) projectLicense(p *project.View) *projectLicense {
	shown := p.Full.License
	if shown.Path == "" {
		return &projectLicense{}
	}
	l, ok := license.Find(shown.Key)
	if !ok {
		return &projectLicense{s.blobURL(p, shown.Path), &licenseEntity{Key: license.Other, Name: "Other"}}
	}
	return &projectLicense{s.blobURL(p, shown.Path), aboutLicense(l)}
}

func aboutLicense(l license.License) *licenseEntity {
	page, source := "https://choosealicense.com/licenses/"+l.Key+"/", "https://spdx.org/licenses/"+l.SPDX+".html"
	e := &licenseEntity{Key: l.Key, Name: l.Name, HTMLURL: &page, SourceURL: &source}
	if l.Nickname != "" {
		e.Nickname = &l.Nickname
	}
	return e
}

// projectAdmin is what only those who may administer a project see.
type projectAdmin struct {
	GitDepth               *int64   `json:"ci_default_git_depth"`
	DeletePipelinesIn      *int64   `json:"ci_delete_pipelines_in_seconds"`
	ForwardDeployment      bool     `json:"ci_forward_deployment_enabled"`
	RollbackAllowed        bool     `json:"ci_forward_deployment_rollback_allowed"`
	JobTokenScope          bool     `json:"ci_job_token_scope_enabled"`
	SeparatedCaches        bool     `json:"ci_separated_caches"`
	ForkPipelines          bool     `json:"ci_allow_fork_pipelines_to_run_in_parent_project"`
	IDTokenComponents      []string `json:"ci_id_token_sub_claim_components"`
	GitStrategy            string   `json:"build_git_strategy"`
	KeepLatestArtifact     bool     `json:"keep_latest_artifact"`
	RestrictVariables      bool     `json:"restrict_user_defined_variables"`
	VariablesMinimumRole   string   `json:"ci_pipeline_variables_minimum_override_role"`
	RunnerTokenExpiration  *int64   `json:"runner_token_expiration_interval"`
	GroupRunnersEnabled    bool     `json:"group_runners_enabled"`
	ResourceGroupMode      string   `json:"resource_group_default_process_mode"`
	AutoCancel             string   `json:"auto_cancel_pending_pipelines"`
	BuildTimeout           int64    `json:"build_timeout"`
	AutoDevopsEnabled      bool     `json:"auto_devops_enabled"`
	AutoDevopsStrategy     string   `json:"auto_devops_deploy_strategy"`
	PushRepositoryJobToken bool     `json:"ci_push_repository_for_job_token_allowed"`
	CancellationRole       string   `json:"ci_restrict_pipeline_cancellation_role"`
	RunnersToken           *string  `json:"runners_token"` // of one project, not in lists
}

func (s *Server) projectFull(p *project.View) *projectEntity {
	full, features := p.Full, p.Accesses()
	set := full.Settings
	on := func(f authz.Feature) bool { return p.Features.Of(f) != authz.FeatureDisabled }
	e := &projectEntity{
		projectBasic: *s.projectBasic(p),
		ImagePrefix:  s.URLs.Image(p.FullPath), Links: s.projectLinks(p),
		MarkedForDeletionAt: p.MarkedForDeletionOn, MarkedForDeletionOn: p.MarkedForDeletionOn,
		PackagesEnabled: set.PackagesEnabled, EmptyRepo: p.DefaultBranch == nil, Archived: p.Archived,
		ResolveOutdatedDiffDiscussions: set.ResolveOutdatedDiffDiscussions,
		ExpirationPolicy:               policyEntity(set.ContainerExpirationPolicy, full.NextExpiration),
		ObjectFormat:                   set.ObjectFormat, IssuesEnabled: on(authz.Issues), MergeRequestsEnabled: on(authz.MergeRequests),
		WikiEnabled: on(authz.Wiki), JobsEnabled: on(authz.Builds), SnippetsEnabled: on(authz.Snippets),
		ContainerRegistryEnabled: features("container_registry") != "disabled", ServiceDeskEnabled: set.ServiceDeskEnabled,
		CanCreateMergeRequestIn: full.CanCreateMergeRequestIn, EmailsDisabled: !p.EmailsEnabled,
		EmailsEnabled: p.EmailsEnabled, ShowDiffPreviewInEmail: set.ShowDiffPreviewInEmail, SharedRunnersEnabled: p.SharedRunnersEnabled,
		LFSEnabled: p.LFSEnabled, CreatorID: p.CreatorID, ImportStatus: importStatus(&p.Project), UpdatedAt: api.Time(p.UpdatedAt.Time),
		CIConfigPath: set.CIConfigPath, PublicJobs: set.PublicJobs, OnlyIfPipelineSucceeds: p.OnlyMergeIfPipelineSucceeds,
		AllowOnSkippedPipeline: p.AllowMergeOnSkippedPipeline, RequestAccessEnabled: p.RequestAccessEnabled,
		OnlyIfDiscussionsResolved: p.OnlyMergeIfDiscussionsResolved, RemoveSourceBranch: p.RemoveSourceBranchAfterMerge,
		PrintingLinkEnabled: p.PrintingMergeRequestLinkEnabled, MergeMethod: p.MergeMethod,
		MergeRequestTitleRegex: set.MergeRequestTitleRegex, MergeRequestTitleRegexDescription: set.MergeRequestTitleRegexDescription,
		SquashOption: p.SquashOption, EnforceAuthChecksOnUploads: set.EnforceAuthChecksOnUploads,
		SuggestionCommitMessage: p.SuggestionCommitMessage, MergeCommitTemplate: p.MergeCommitTemplate,
		SquashCommitTemplate: p.SquashCommitTemplate, IssueBranchTemplate: p.IssueBranchTemplate,
		WarnAboutCharacters: set.WarnAboutUnwantedCharacters, AutocloseIssues: p.AutocloseReferencedIssues,
		MaxArtifactsSize: set.MaxArtifactsSize, ApprovalsBeforeMerge: p.ApprovalsBeforeMerge, ExternalLabel: set.ExternalAuthorizationLabel,
		RequirementsEnabled: features("requirements") != "disabled", SecurityEnabled: features("security_and_compliance") != "disabled",
		ComplianceFrameworks: []string{}, IssuesTemplate: set.IssuesTemplate, MergeRequestsTemplate: set.MergeRequestsTemplate,
		TitleTemplate: set.MRDefaultTitleTemplate, CoverageRegex: set.BuildCoverageRegex,
		MergePipelinesEnabled: set.MergePipelinesEnabled, MergeTrainsEnabled: set.MergeTrainsEnabled,
		MergeTrainsSkip: set.MergeTrainsSkipTrainAllowed, OnlyIfStatusChecks: set.OnlyMergeIfAllStatusChecksPassed,
		PipelineTriggerApproves: set.AllowPipelineTriggerApproveDeploy, PreventWithoutJira: set.PreventMergeWithoutJiraIssue,
	}
	if p.Description != nil {
		e.DescriptionHTML = s.References.Description(reference.Of(&p.Project), *p.Description)
	}
	e.accessLevels(features)
	e.ImportType = present(full.ImportType)
	e.Owner = s.user(p.Person)
	if p.ForkedFromID != nil {
		e.MRDefaultTargetSelf = &set.MRDefaultTargetSelf
	}
	e.OpenIssuesCount, e.SharedWithGroups = full.OpenIssues, sharedGroups(full.Shares)
	if full.Source != nil {
		e.ForkedFrom = s.projectBasic(full.Source)
	}
	if held := full.Permissions; held != nil {
		e.Permissions = &projectPermissions{access(held.Project), access(held.Group)}
	}
	if n := full.Statistics; n != nil {
		e.Statistics = &projectStatistics{
			CommitCount: n.Commits, StorageSize: n.Total(), RepositorySize: n.Repository, LFSObjectsSize: n.LFS, UploadsSize: n.Uploads, WikiSize: n.Wiki, SnippetsSize: n.Snippets,
			JobArtifactsSize: n.Artifacts, PackagesSize: n.Packages,
		}
	}
	if full.CustomAttributes != nil {
		list := attributeEntities(full.CustomAttributes)
		e.CustomAttributes = &list
	}
	if full.License != nil {
		e.projectLicense = s.projectLicense(p)
	}
	if a := full.Admin; a != nil {
		e.projectAdmin, e.ImportError, e.ImportURL = adminEntity(a), a.ImportError, present(a.Settings.ImportURL)
	}
	return e
}

// importStatus says how far the filling of the repository has come.
func importStatus(p *project.Project) string {
	if p.ImportStatus == "" {
		return project.ImportNone
	}
	return p.ImportStatus
}

func (e *projectEntity) accessLevels(access func(feature string) string) {
	e.IssuesAccess, e.RepositoryAccess, e.MergeRequestsAccess = access("issues"), access("repository"), access("merge_requests")
	e.ForkingAccess, e.WikiAccess, e.BuildsAccess = access("forking"), access("wiki"), access("builds")
	e.SnippetsAccess, e.PagesAccess, e.AnalyticsAccess = access("snippets"), access("pages"), access("analytics")
	e.ContainerRegistryAccess, e.SecurityAccess = access("container_registry"), access("security_and_compliance")
	e.ReleasesAccess, e.EnvironmentsAccess, e.FeatureFlagsAccess = access("releases"), access("environments"), access("feature_flags")
	e.InfrastructureAccess, e.MonitorAccess = access("infrastructure"), access("monitor")
	e.ModelExperimentsAccess, e.ModelRegistryAccess = access("model_experiments"), access("model_registry")
	e.PackageRegistryAccess, e.RequirementsAccess = access("package_registry"), access("requirements")
}

func (s *Server) projectLinks(p *project.View) projectLinks {
	self := s.URLs.ProjectAPI(int64(p.ID))
	l := projectLinks{
		Self: self, Branches: self + "/repository/branches", Labels: self + "/labels", Events: self + "/events",
		Members: self + "/members", ClusterAgents: self + "/cluster_agents",
	}
	if p.IssuesAccess != authz.FeatureDisabled {
		l.Issues = self + "/issues"
	}
	if p.MergeRequestsAccess != authz.FeatureDisabled {
		l.MergeRequests = self + "/merge_requests"
	}
	return l
}

func policyEntity(e project.ExpirationPolicy, next *time.Time) expirationPolicy {
	return expirationPolicy{
		Cadence: e.Cadence, Enabled: e.Enabled, KeepN: e.KeepN, OlderThan: e.OlderThan,
		NameRegex: e.NameRegex, NameRegexKeep: e.NameRegexKeep, NextRunAt: api.TimePtr(next),
	}
}

func adminEntity(a *project.AdminView) *projectAdmin {
	set := a.Settings
	return &projectAdmin{
		GitDepth: set.CIDefaultGitDepth, DeletePipelinesIn: set.CIDeletePipelinesInSeconds,
		ForwardDeployment: set.CIForwardDeploymentEnabled, RollbackAllowed: set.CIForwardDeploymentRollbackAllowed,
		JobTokenScope: set.CIJobTokenScopeEnabled, SeparatedCaches: set.CISeparatedCaches,
		ForkPipelines: set.CIAllowForkPipelinesInParent, IDTokenComponents: set.CIIDTokenSubClaimComponents,
		GitStrategy: set.BuildGitStrategy, KeepLatestArtifact: set.KeepLatestArtifact,
		RestrictVariables: set.RestrictUserDefinedVariables, VariablesMinimumRole: set.CIPipelineVariablesMinimumRole,
		RunnerTokenExpiration: set.RunnerTokenExpirationInterval, GroupRunnersEnabled: a.GroupRunnersEnabled,
		ResourceGroupMode: set.ResourceGroupDefaultProcessMode, AutoCancel: set.AutoCancelPendingPipelines,
		BuildTimeout: set.BuildTimeout, AutoDevopsEnabled: set.AutoDevopsEnabled,
		AutoDevopsStrategy: set.AutoDevopsDeployStrategy, PushRepositoryJobToken: set.CIPushRepositoryForJobToken,
		CancellationRole: set.CIRestrictPipelineCancellationRole,
	}
}

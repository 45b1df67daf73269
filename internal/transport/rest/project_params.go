package rest

import (
	"strings"

	"tenon/internal/core/authz"
	"tenon/internal/core/namespace"
	"tenon/internal/core/project"
	"tenon/internal/transport/rest/api"
)

// projectParams are what both creating and changing a project take.
type projectParams struct {
	avatarParam
	project.Attributes
	DefaultBranch  *string        `param:"default_branch" doc:"Name of the default branch"`
	Visibility     *string        `param:"visibility" values:"private,internal,public" doc:"Visibility of the project"`
	Storage        *string        `param:"repository_storage" doc:"Repository storage (administrators only)"`
	SizeLimit      api.Opt[int64] `param:"repository_size_limit" doc:"Size limit of the repository in MB; null inherits, 0 is unlimited (administrators only)"`
	Topics         api.Strings    `param:"topics" doc:"Topics of the project"`
	TagList        api.Strings    `param:"tag_list" doc:"Deprecated: use topics"`
	EmailsDisabled *bool          `param:"emails_disabled" doc:"Deprecated: use emails_enabled"`

	MaxArtifactsSize  api.Opt[int64] `param:"max_artifacts_size" doc:"Maximum size of job artifacts in MB; null inherits (above that of the instance administrators only)"`
	DeletePipelinesIn api.Opt[int64] `param:"ci_delete_pipelines_in_seconds" doc:"Age in seconds after which pipelines are deleted; null keeps them (requires the right to delete pipelines)"`

	ExpirationPolicy *expirationParams `param:"container_expiration_policy_attributes" doc:"Container registry cleanup policy"`

	featureParams
	projectSettings
	mirrorParams
}

// featureParams say who may use which part of a project.
type featureParams struct {
	IssuesEnabled            *bool `param:"issues_enabled" doc:"Deprecated: use issues_access_level"`
	MergeRequestsEnabled     *bool `param:"merge_requests_enabled" doc:"Deprecated: use merge_requests_access_level"`
	WikiEnabled              *bool `param:"wiki_enabled" doc:"Deprecated: use wiki_access_level"`
	JobsEnabled              *bool `param:"jobs_enabled" doc:"Deprecated: use builds_access_level"`
	SnippetsEnabled          *bool `param:"snippets_enabled" doc:"Deprecated: use snippets_access_level"`
	ContainerRegistryEnabled *bool `param:"container_registry_enabled" doc:"Deprecated: use container_registry_access_level"`

	Issues            *string `param:"issues_access_level" values:"disabled,private,enabled" doc:"Access level of issues"`
	Repository        *string `param:"repository_access_level" values:"disabled,private,enabled" doc:"Access level of the repository"`
	MergeRequests     *string `param:"merge_requests_access_level" values:"disabled,private,enabled" doc:"Access level of merge requests"`
	Forking           *string `param:"forking_access_level" values:"disabled,private,enabled" doc:"Access level of forks"`
	Wiki              *string `param:"wiki_access_level" values:"disabled,private,enabled" doc:"Access level of the wiki"`
	Builds            *string `param:"builds_access_level" values:"disabled,private,enabled" doc:"Access level of pipelines"`
	Snippets          *string `param:"snippets_access_level" values:"disabled,private,enabled" doc:"Access level of snippets"`
	PackageRegistry   *string `param:"package_registry_access_level" values:"disabled,private,enabled,public" doc:"Access level of packages"`
	Pages             *string `param:"pages_access_level" values:"disabled,private,enabled,public" doc:"Access level of pages"`
	Analytics         *string `param:"analytics_access_level" values:"disabled,private,enabled" doc:"Access level of analytics"`
	ContainerRegistry *string `param:"container_registry_access_level" values:"disabled,private,enabled" doc:"Access level of the container registry"`
	Security          *string `param:"security_and_compliance_access_level" values:"disabled,private,enabled" doc:"Access level of security and compliance"`
	Releases          *string `param:"releases_access_level" values:"disabled,private,enabled" doc:"Access level of releases"`
	Environments      *string `param:"environments_access_level" values:"disabled,private,enabled" doc:"Access level of environments"`
	FeatureFlags      *string `param:"feature_flags_access_level" values:"disabled,private,enabled" doc:"Access level of feature flags"`
	Infrastructure    *string `param:"infrastructure_access_level" values:"disabled,private,enabled" doc:"Access level of infrastructure"`
	Monitor           *string `param:"monitor_access_level" values:"disabled,private,enabled" doc:"Access level of monitoring"`
	ModelExperiments  *string `param:"model_experiments_access_level" values:"disabled,private,enabled" doc:"Access level of model experiments"`
	ModelRegistry     *string `param:"model_registry_access_level" values:"disabled,private,enabled" doc:"Access level of the model registry"`
	Requirements      *string `param:"requirements_access_level" values:"disabled,private,enabled" doc:"Access level of requirements"`
}

// projectSettings has the fields of project.PlainSettings, in their order.
type projectSettings struct {
	PackagesEnabled                    *bool     `param:"packages_enabled" doc:"Enable the package registry"`
	PublicJobs                         *bool     `param:"public_jobs" alias:"public_builds" doc:"Make jobs visible to everyone who can access the project"`
	ResolveOutdatedDiffDiscussions     *bool     `param:"resolve_outdated_diff_discussions" doc:"Automatically resolve diff discussions on lines changed with a push"`
	AutoDevopsEnabled                  *bool     `param:"auto_devops_enabled" doc:"Enable Auto DevOps"`
	AutoDevopsDeployStrategy           *string   `param:"auto_devops_deploy_strategy" values:"continuous,manual,timed_incremental" doc:"Auto DevOps deployment strategy"`
	MRDefaultTargetSelf                *bool     `param:"mr_default_target_self" doc:"Target the fork itself by default in merge requests"`
	BuildGitStrategy                   *string   `param:"build_git_strategy" values:"fetch,clone" doc:"Git strategy: fetch or clone"`
	BuildTimeout                       *int64    `param:"build_timeout" doc:"Maximum time in seconds that a job may run"`
	AutoCancelPendingPipelines         *string   `param:"auto_cancel_pending_pipelines" values:"disabled,enabled" doc:"Auto-cancel redundant pending pipelines"`
	CIConfigPath                       *string   `param:"ci_config_path" doc:"Path of the CI/CD configuration file"`
	MergeRequestTitleRegex             *string   `param:"merge_request_title_regex" doc:"Regular expression that merge request titles must match"`
	MergeRequestTitleRegexDescription  *string   `param:"merge_request_title_regex_description" doc:"Description of merge_request_title_regex"`
	ServiceDeskEnabled                 *bool     `param:"service_desk_enabled" doc:"Enable Service Desk"`
	ShowDiffPreviewInEmail             *bool     `param:"show_diff_preview_in_email" doc:"Include diff previews in email notifications"`
	EnforceAuthChecksOnUploads         *bool     `param:"enforce_auth_checks_on_uploads" doc:"Enforce authorization checks on uploads"`
	WarnAboutUnwantedCharacters        *bool     `param:"warn_about_potentially_unwanted_characters" doc:"Warn about potentially unwanted characters"`
	CIDefaultGitDepth                  *int64    `param:"ci_default_git_depth" doc:"Number of revisions for shallow cloning in jobs"`
	CIForwardDeploymentEnabled         *bool     `param:"ci_forward_deployment_enabled" doc:"Prevent outdated deployment jobs"`
	CIForwardDeploymentRollbackAllowed *bool     `param:"ci_forward_deployment_rollback_allowed" doc:"Allow job retries for rollback deployments"`
	CISeparatedCaches                  *bool     `param:"ci_separated_caches" doc:"Use separate caches for protected branches"`
	CIAllowForkPipelinesInParent       *bool     `param:"ci_allow_fork_pipelines_to_run_in_parent_project" doc:"Run pipelines of merge requests from forks in this project"`
	CIIDTokenSubClaimComponents        *[]string `param:"ci_id_token_sub_claim_components" doc:"Components of the sub claim of ID tokens"`
	CIPushRepositoryForJobToken        *bool     `param:"ci_push_repository_for_job_token_allowed" doc:"Allow pushes with a CI/CD job token"`
	CIPipelineVariablesMinimumRole     *string   `param:"ci_pipeline_variables_minimum_override_role" values:"no_one_allowed,developer,maintainer,owner" doc:"Minimum role to override pipeline variables"`
	KeepLatestArtifact                 *bool     `param:"keep_latest_artifact" doc:"Keep artifacts of the most recent successful jobs"`
	RestrictUserDefinedVariables       *bool     `param:"restrict_user_defined_variables" doc:"Allow only Maintainers to pass pipeline variables"`
	ResourceGroupDefaultProcessMode    *string   `param:"resource_group_default_process_mode" values:"unordered,oldest_first,newest_first,newest_ready_first" doc:"Default process mode of resource groups"`
	IssuesTemplate                     *string   `param:"issues_template" doc:"Default description of issues"`
	MergeRequestsTemplate              *string   `param:"merge_requests_template" doc:"Default description of merge requests"`
	ExternalAuthorizationLabel         *string   `param:"external_authorization_classification_label" doc:"Classification label of the project"`
	MergePipelinesEnabled              *bool     `param:"merge_pipelines_enabled" doc:"Enable merged results pipelines"`
	MergeTrainsEnabled                 *bool     `param:"merge_trains_enabled" doc:"Enable merge trains"`
	MergeTrainsSkipTrainAllowed        *bool     `param:"merge_trains_skip_train_allowed" doc:"Allow skipping the merge train"`
	OnlyMergeIfAllStatusChecksPassed   *bool     `param:"only_allow_merge_if_all_status_checks_passed" doc:"Only allow merging if all status checks passed"`
	AllowPipelineTriggerApproveDeploy  *bool     `param:"allow_pipeline_trigger_approve_deployment" doc:"Allow the pipeline triggerer to approve deployments"`
	PreventMergeWithoutJiraIssue       *bool     `param:"prevent_merge_without_jira_issue" doc:"Require an associated Jira issue"`
	BuildCoverageRegex                 *string   `param:"build_coverage_regex" doc:"Regular expression of test coverage in job logs"`
	CIRestrictPipelineCancellationRole *string   `param:"ci_restrict_pipeline_cancellation_role" values:"developer,maintainer,no_one" doc:"Minimum role to cancel pipelines and jobs"`
	MRDefaultTitleTemplate             *string   `param:"mr_default_title_template" doc:"Template of default merge request titles"`
}

// expirationParams has the fields of project.ExpirationChange.
type expirationParams struct {
	Cadence       *string `param:"cadence" doc:"Cadence of the cleanup"`
	Enabled       *bool   `param:"enabled" doc:"Enable the cleanup policy"`
	KeepN         *int64  `param:"keep_n" doc:"Number of container images to keep per name"`
	OlderThan     *string `param:"older_than" doc:"Age of container images to remove"`
	NameRegex     *string `param:"name_regex" doc:"Regular expression of image names to remove"`
	NameRegexKeep *string `param:"name_regex_keep" doc:"Regular expression of image names to keep"`
}

// changes returns the parameters in the form of the core.
func (p *projectParams) changes() project.Changes {
	c := project.Changes{
		Attributes: p.Attributes, DefaultBranch: p.DefaultBranch, Storage: p.Storage, SizeLimit: sizeLimit(p.SizeLimit), Features: p.features(), Settings: project.SettingsChanges{
			PlainSettings: project.PlainSettings(p.projectSettings), ContainerExpirationPolicy: (*project.ExpirationChange)(p.ExpirationPolicy),
			MaxArtifactsSize: number(p.MaxArtifactsSize), CIDeletePipelinesInSeconds: number(p.DeletePipelinesIn),
		},
	}
	c.Mirror = p.mirror()
	if c.EmailsEnabled == nil && p.EmailsDisabled != nil {
		on := !*p.EmailsDisabled
		c.EmailsEnabled = &on
	}
	c.Visibility = visibilityOf(p.Visibility)
	switch {
	case p.Topics != nil:
		c.Topics = (*[]string)(&p.Topics)
	case p.TagList != nil:
		c.Topics = (*[]string)(&p.TagList)
	}
	return c
}

// number returns a number that null takes away in the form of the core.
func number(o api.Opt[int64]) *namespace.Number {
	if !o.Set {
		return nil
	}
	return &namespace.Number{N: o.Ptr()}
}

// features returns the access levels that were sent; the older switches count where
// the level itself was not sent.
func (p *featureParams) features() map[string]string {
	out := map[string]string{}
	for name, on := range map[string]*bool{
		"issues": p.IssuesEnabled, "merge_requests": p.MergeRequestsEnabled, "wiki": p.WikiEnabled, "builds": p.JobsEnabled,
		"snippets": p.SnippetsEnabled, "container_registry": p.ContainerRegistryEnabled,
	} {
		if on != nil {
			out[name] = map[bool]string{true: "enabled", false: "disabled"}[*on]
		}
	}
	for name, level := range map[string]*string{
		"issues": p.Issues, "repository": p.Repository, "merge_requests": p.MergeRequests, "forking": p.Forking, "wiki": p.Wiki,
		"builds": p.Builds, "snippets": p.Snippets, "package_registry": p.PackageRegistry, "pages": p.Pages, "analytics": p.Analytics,
		"container_registry": p.ContainerRegistry, "security_and_compliance": p.Security, "releases": p.Releases,
		"environments": p.Environments, "feature_flags": p.FeatureFlags, "infrastructure": p.Infrastructure, "monitor": p.Monitor,
		"model_experiments": p.ModelExperiments, "model_registry": p.ModelRegistry, "requirements": p.Requirements,
	} {
		if level != nil {
			out[name] = *level
		}
	}
	return out
}

func visibilityOf(word *string) *authz.Visibility {
	if word == nil {
		return nil
	}
	v, ok := authz.ParseVisibility(strings.ToLower(*word))
	if !ok {
		return nil
	}
	return &v
}

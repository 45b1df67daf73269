package rest

import (
	"strings"

	"tenon/internal/core/authz"
	"tenon/internal/core/project"
	"tenon/internal/transport/rest/api"
)

// projectParams are what both creating and changing a project take.
type projectParams struct {
	avatarParam
	project.Attributes
	DefaultBranch  *string     `param:"default_branch" doc:"Name of the default branch"`
	Visibility     *string     `param:"visibility" values:"private,internal,public" doc:"Who sees the project"`
	Storage        *string     `param:"repository_storage" doc:"Storage of the repository; for administrators"`
	Topics         api.Strings `param:"topics" doc:"Topics of the project"`
	TagList        api.Strings `param:"tag_list" doc:"Older name of topics"`
	EmailsDisabled *bool       `param:"emails_disabled" doc:"Older opposite of emails_enabled"`

	ExpirationPolicy *expirationParams `param:"container_expiration_policy_attributes" doc:"Which container images are cleaned up"`

	featureParams
	projectSettings
	mirrorParams
}

// featureParams say who may use which part of a project.
type featureParams struct {
	IssuesEnabled            *bool `param:"issues_enabled" doc:"Older form of issues_access_level"`
	MergeRequestsEnabled     *bool `param:"merge_requests_enabled" doc:"Older form of merge_requests_access_level"`
	WikiEnabled              *bool `param:"wiki_enabled" doc:"Older form of wiki_access_level"`
	JobsEnabled              *bool `param:"jobs_enabled" doc:"Older form of builds_access_level"`
	SnippetsEnabled          *bool `param:"snippets_enabled" doc:"Older form of snippets_access_level"`
	ContainerRegistryEnabled *bool `param:"container_registry_enabled" doc:"Older form of container_registry_access_level"`

	Issues            *string `param:"issues_access_level" values:"disabled,private,enabled" doc:"Who may use issues"`
	Repository        *string `param:"repository_access_level" values:"disabled,private,enabled" doc:"Who may use the repository"`
	MergeRequests     *string `param:"merge_requests_access_level" values:"disabled,private,enabled" doc:"Who may use merge requests"`
	Forking           *string `param:"forking_access_level" values:"disabled,private,enabled" doc:"Who may fork"`
	Wiki              *string `param:"wiki_access_level" values:"disabled,private,enabled" doc:"Who may use the wiki"`
	Builds            *string `param:"builds_access_level" values:"disabled,private,enabled" doc:"Who may use pipelines"`
	Snippets          *string `param:"snippets_access_level" values:"disabled,private,enabled" doc:"Who may use snippets"`
	PackageRegistry   *string `param:"package_registry_access_level" values:"disabled,private,enabled,public" doc:"Who may use packages"`
	Pages             *string `param:"pages_access_level" values:"disabled,private,enabled,public" doc:"Who may see pages"`
	Analytics         *string `param:"analytics_access_level" values:"disabled,private,enabled" doc:"Who may see analytics"`
	ContainerRegistry *string `param:"container_registry_access_level" values:"disabled,private,enabled" doc:"Who may use the container registry"`
	Security          *string `param:"security_and_compliance_access_level" values:"disabled,private,enabled" doc:"Who may see security and compliance"`
	Releases          *string `param:"releases_access_level" values:"disabled,private,enabled" doc:"Who may see releases"`
	Environments      *string `param:"environments_access_level" values:"disabled,private,enabled" doc:"Who may see environments"`
	FeatureFlags      *string `param:"feature_flags_access_level" values:"disabled,private,enabled" doc:"Who may use feature flags"`
	Infrastructure    *string `param:"infrastructure_access_level" values:"disabled,private,enabled" doc:"Who may see infrastructure"`
	Monitor           *string `param:"monitor_access_level" values:"disabled,private,enabled" doc:"Who may see monitoring"`
	ModelExperiments  *string `param:"model_experiments_access_level" values:"disabled,private,enabled" doc:"Who may see model experiments"`
	ModelRegistry     *string `param:"model_registry_access_level" values:"disabled,private,enabled" doc:"Who may use the model registry"`
	Requirements      *string `param:"requirements_access_level" values:"disabled,private,enabled" doc:"Who may see requirements"`
}

// projectSettings has the fields of project.PlainSettings, in their order.
type projectSettings struct {
	RunnersEnabled                     *bool     `param:"shared_runners_enabled" doc:"Use the instance's runners"`
	PackagesEnabled                    *bool     `param:"packages_enabled" doc:"Allow packages"`
	GroupRunnersEnabled                *bool     `param:"group_runners_enabled" doc:"Use the runners of groups"`
	PublicJobs                         *bool     `param:"public_jobs" alias:"public_builds" doc:"Let everybody who sees the project see jobs"`
	ResolveOutdatedDiffDiscussions     *bool     `param:"resolve_outdated_diff_discussions" doc:"Resolve threads on lines that a push changes"`
	AutoDevopsEnabled                  *bool     `param:"auto_devops_enabled" doc:"Run a pipeline without a configuration"`
	AutoDevopsDeployStrategy           *string   `param:"auto_devops_deploy_strategy" values:"continuous,manual,timed_incremental" doc:"How such a pipeline deploys"`
	MRDefaultTargetSelf                *bool     `param:"mr_default_target_self" doc:"Merge requests of a fork go to the fork by default"`
	BuildGitStrategy                   *string   `param:"build_git_strategy" values:"fetch,clone" doc:"How jobs get the code"`
	BuildTimeout                       *int64    `param:"build_timeout" doc:"Seconds a job may run"`
	AutoCancelPendingPipelines         *string   `param:"auto_cancel_pending_pipelines" values:"disabled,enabled" doc:"Cancel pipelines that a newer one replaces"`
	CIConfigPath                       *string   `param:"ci_config_path" doc:"Path of the pipeline configuration"`
	MergeRequestTitleRegex             *string   `param:"merge_request_title_regex" doc:"What titles of merge requests must match"`
	MergeRequestTitleRegexDescription  *string   `param:"merge_request_title_regex_description" doc:"What that means in words"`
	ServiceDeskEnabled                 *bool     `param:"service_desk_enabled" doc:"Make issues from mail"`
	ShowDiffPreviewInEmail             *bool     `param:"show_diff_preview_in_email" doc:"Show code in mail about reviews"`
	EnforceAuthChecksOnUploads         *bool     `param:"enforce_auth_checks_on_uploads" doc:"Show uploads to those only who see the project"`
	WarnAboutUnwantedCharacters        *bool     `param:"warn_about_potentially_unwanted_characters" doc:"Warn about misleading characters"`
	MaxArtifactsSize                   *int64    `param:"max_artifacts_size" doc:"Megabytes the artifacts of a job may have"`
	CIDefaultGitDepth                  *int64    `param:"ci_default_git_depth" doc:"Commits that jobs get"`
	CIDeletePipelinesInSeconds         *int64    `param:"ci_delete_pipelines_in_seconds" doc:"Age at which pipelines are deleted"`
	CIForwardDeploymentEnabled         *bool     `param:"ci_forward_deployment_enabled" doc:"Refuse deployments older than the last one"`
	CIForwardDeploymentRollbackAllowed *bool     `param:"ci_forward_deployment_rollback_allowed" doc:"Allow retries of older deployments"`
	CISeparatedCaches                  *bool     `param:"ci_separated_caches" doc:"Separate caches of protected branches"`
	CIAllowForkPipelinesInParent       *bool     `param:"ci_allow_fork_pipelines_to_run_in_parent_project" doc:"Run pipelines of forks here"`
	CIIDTokenSubClaimComponents        *[]string `param:"ci_id_token_sub_claim_components" doc:"Parts of the sub claim of job tokens"`
	CIPushRepositoryForJobToken        *bool     `param:"ci_push_repository_for_job_token_allowed" doc:"Let jobs push"`
	CIPipelineVariablesMinimumRole     *string   `param:"ci_pipeline_variables_minimum_override_role" values:"no_one_allowed,developer,maintainer,owner" doc:"Who may set variables of a pipeline"`
	KeepLatestArtifact                 *bool     `param:"keep_latest_artifact" doc:"Keep the newest artifacts of each branch"`
	RestrictUserDefinedVariables       *bool     `param:"restrict_user_defined_variables" doc:"Keep variables of pipelines to maintainers"`
	ResourceGroupDefaultProcessMode    *string   `param:"resource_group_default_process_mode" values:"unordered,oldest_first,newest_first,newest_ready_first" doc:"Order of jobs that wait for each other"`
	IssuesTemplate                     *string   `param:"issues_template" doc:"Description of new issues"`
	MergeRequestsTemplate              *string   `param:"merge_requests_template" doc:"Description of new merge requests"`
	ExternalAuthorizationLabel         *string   `param:"external_authorization_classification_label" doc:"Label for an external authorization service"`
	MergePipelinesEnabled              *bool     `param:"merge_pipelines_enabled" doc:"Run pipelines on the merged result"`
	MergeTrainsEnabled                 *bool     `param:"merge_trains_enabled" doc:"Queue merges"`
	MergeTrainsSkipTrainAllowed        *bool     `param:"merge_trains_skip_train_allowed" doc:"Let merges pass the queue"`
	OnlyMergeIfAllStatusChecksPassed   *bool     `param:"only_allow_merge_if_all_status_checks_passed" doc:"Merge only when all external checks passed"`
	AllowPipelineTriggerApproveDeploy  *bool     `param:"allow_pipeline_trigger_approve_deployment" doc:"Let whoever started a pipeline approve its deployments"`
	PreventMergeWithoutJiraIssue       *bool     `param:"prevent_merge_without_jira_issue" doc:"Merge only what names an issue elsewhere"`
	BuildCoverageRegex                 *string   `param:"build_coverage_regex" doc:"What in the log of a job is its coverage"`
	CIRestrictPipelineCancellationRole *string   `param:"ci_restrict_pipeline_cancellation_role" values:"developer,maintainer,no_one" doc:"Who may cancel pipelines"`
	MRDefaultTitleTemplate             *string   `param:"mr_default_title_template" doc:"Template of titles of merge requests"`
}

// expirationParams has the fields of project.ExpirationChange.
type expirationParams struct {
	Cadence       *string `param:"cadence" doc:"How often"`
	Enabled       *bool   `param:"enabled" doc:"Whether at all"`
	KeepN         *int64  `param:"keep_n" doc:"Images to keep"`
	OlderThan     *string `param:"older_than" doc:"Age of images to remove"`
	NameRegex     *string `param:"name_regex" doc:"Names of images to remove"`
	NameRegexKeep *string `param:"name_regex_keep" doc:"Names of images to keep"`
}

// changes gives the parameters in the form of the core.
func (p *projectParams) changes() project.Changes {
	c := project.Changes{
		Attributes: p.Attributes, DefaultBranch: p.DefaultBranch, Storage: p.Storage, Features: p.features(), Settings: project.SettingsChanges{
			PlainSettings: project.PlainSettings(p.projectSettings), ContainerExpirationPolicy: (*project.ExpirationChange)(p.ExpirationPolicy),
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

// features gives the access levels that were sent; the older switches count where
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

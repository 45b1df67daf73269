package project

import (
	"bytes"
	"encoding/json"
	"maps"
	"time"

	"tenon/internal/core/authz"
	"tenon/internal/core/namespace"
)

// Settings are those of a project that only later areas read; the zero value of each
// field that is missing in the store is replaced by the contract's default.
type Settings struct {
	InitialBranch string `json:"initial_branch,omitempty"` // asked for before there was a branch, "" for the instance's
	ObjectFormat  string `json:"repository_object_format"` // sha1 or sha256
	ImportURL     string `json:"import_url,omitempty"`

	ImportType       string            `json:"import_type,omitempty"`       // gitlab_project of a file; "" of none, and of one by URL
	ImportID         string            `json:"import_id,omitempty"`         // of the request that began the import
	ImportVisibility *authz.Visibility `json:"import_visibility,omitempty"` // of the source, until the import is finished

	PackagesEnabled                    bool             `json:"packages_enabled"`
	PublicJobs                         bool             `json:"public_jobs"`
	ResolveOutdatedDiffDiscussions     bool             `json:"resolve_outdated_diff_discussions"`
	AutoDevopsEnabled                  bool             `json:"auto_devops_enabled"`
	AutoDevopsDeployStrategy           string           `json:"auto_devops_deploy_strategy"`
	MRDefaultTargetSelf                bool             `json:"mr_default_target_self"`
	BuildGitStrategy                   string           `json:"build_git_strategy"`
	BuildTimeout                       int64            `json:"build_timeout"` // seconds
	AutoCancelPendingPipelines         string           `json:"auto_cancel_pending_pipelines"`
	CIConfigPath                       *string          `json:"ci_config_path"`
	MergeRequestTitleRegex             *string          `json:"merge_request_title_regex"`
	MergeRequestTitleRegexDescription  *string          `json:"merge_request_title_regex_description"`
	ServiceDeskEnabled                 bool             `json:"service_desk_enabled"`
	ShowDiffPreviewInEmail             bool             `json:"show_diff_preview_in_email"`
	EnforceAuthChecksOnUploads         bool             `json:"enforce_auth_checks_on_uploads"`
	WarnAboutUnwantedCharacters        bool             `json:"warn_about_potentially_unwanted_characters"`
	MaxArtifactsSize                   *int64           `json:"max_artifacts_size"`
	CIDefaultGitDepth                  *int64           `json:"ci_default_git_depth"`
	CIDeletePipelinesInSeconds         *int64           `json:"ci_delete_pipelines_in_seconds"`
	CIForwardDeploymentEnabled         bool             `json:"ci_forward_deployment_enabled"`
	CIForwardDeploymentRollbackAllowed bool             `json:"ci_forward_deployment_rollback_allowed"`
	CIJobTokenScopeEnabled             bool             `json:"ci_job_token_scope_enabled"`
	CISeparatedCaches                  bool             `json:"ci_separated_caches"`
	CIAllowForkPipelinesInParent       bool             `json:"ci_allow_fork_pipelines_to_run_in_parent_project"`
	CIIDTokenSubClaimComponents        []string         `json:"ci_id_token_sub_claim_components"`
	CIPushRepositoryForJobToken        bool             `json:"ci_push_repository_for_job_token_allowed"`
	CIPipelineVariablesMinimumRole     string           `json:"ci_pipeline_variables_minimum_override_role"`
	KeepLatestArtifact                 bool             `json:"keep_latest_artifact"`
	RestrictUserDefinedVariables       bool             `json:"restrict_user_defined_variables"`
	RunnerTokenExpirationInterval      *int64           `json:"runner_token_expiration_interval"`
	ResourceGroupDefaultProcessMode    string           `json:"resource_group_default_process_mode"`
	IssuesTemplate                     *string          `json:"issues_template"`
	MergeRequestsTemplate              *string          `json:"merge_requests_template"`
	ExternalAuthorizationLabel         *string          `json:"external_authorization_classification_label"`
	MergePipelinesEnabled              bool             `json:"merge_pipelines_enabled"`
	MergeTrainsEnabled                 bool             `json:"merge_trains_enabled"`
	MergeTrainsSkipTrainAllowed        bool             `json:"merge_trains_skip_train_allowed"`
	OnlyMergeIfAllStatusChecksPassed   bool             `json:"only_allow_merge_if_all_status_checks_passed"`
	AllowPipelineTriggerApproveDeploy  bool             `json:"allow_pipeline_trigger_approve_deployment"`
	PreventMergeWithoutJiraIssue       bool             `json:"prevent_merge_without_jira_issue"`
	BuildCoverageRegex                 *string          `json:"build_coverage_regex"`
	CIRestrictPipelineCancellationRole string           `json:"ci_restrict_pipeline_cancellation_role"`
	MRDefaultTitleTemplate             *string          `json:"mr_default_title_template"`
	ContainerExpirationPolicy          ExpirationPolicy `json:"container_expiration_policy_attributes"`
}

// SettingsChanges are those of Settings that a call sets; nil leaves one alone.
type SettingsChanges struct {
	PlainSettings
	MaxArtifactsSize           *namespace.Number `json:"max_artifacts_size,omitempty"`
	CIDeletePipelinesInSeconds *namespace.Number `json:"ci_delete_pipelines_in_seconds,omitempty"`
	ContainerExpirationPolicy  *ExpirationChange `json:"container_expiration_policy_attributes,omitempty"`

	// At is when they are made: the service sets it, callers leave it zero.
	At time.Time `json:"-"`
}

// PlainSettings are the SettingsChanges that are one value each.
type PlainSettings struct {
	PackagesEnabled                    *bool     `json:"packages_enabled,omitempty"`
	PublicJobs                         *bool     `json:"public_jobs,omitempty"`
	ResolveOutdatedDiffDiscussions     *bool     `json:"resolve_outdated_diff_discussions,omitempty"`
	AutoDevopsEnabled                  *bool     `json:"auto_devops_enabled,omitempty"`
	AutoDevopsDeployStrategy           *string   `json:"auto_devops_deploy_strategy,omitempty"`
	MRDefaultTargetSelf                *bool     `json:"mr_default_target_self,omitempty"`
	BuildGitStrategy                   *string   `json:"build_git_strategy,omitempty"`
	BuildTimeout                       *int64    `json:"build_timeout,omitempty"`
	AutoCancelPendingPipelines         *string   `json:"auto_cancel_pending_pipelines,omitempty"`
	CIConfigPath                       *string   `json:"ci_config_path,omitempty"`
	MergeRequestTitleRegex             *string   `json:"merge_request_title_regex,omitempty"`
	MergeRequestTitleRegexDescription  *string   `json:"merge_request_title_regex_description,omitempty"`
	ServiceDeskEnabled                 *bool     `json:"service_desk_enabled,omitempty"`
	ShowDiffPreviewInEmail             *bool     `json:"show_diff_preview_in_email,omitempty"`
	EnforceAuthChecksOnUploads         *bool     `json:"enforce_auth_checks_on_uploads,omitempty"`
	WarnAboutUnwantedCharacters        *bool     `json:"warn_about_potentially_unwanted_characters,omitempty"`
	CIDefaultGitDepth                  *int64    `json:"ci_default_git_depth,omitempty"`
	CIForwardDeploymentEnabled         *bool     `json:"ci_forward_deployment_enabled,omitempty"`
	CIForwardDeploymentRollbackAllowed *bool     `json:"ci_forward_deployment_rollback_allowed,omitempty"`
	CISeparatedCaches                  *bool     `json:"ci_separated_caches,omitempty"`
	CIAllowForkPipelinesInParent       *bool     `json:"ci_allow_fork_pipelines_to_run_in_parent_project,omitempty"`
	CIIDTokenSubClaimComponents        *[]string `json:"ci_id_token_sub_claim_components,omitempty"`
	CIPushRepositoryForJobToken        *bool     `json:"ci_push_repository_for_job_token_allowed,omitempty"`
	CIPipelineVariablesMinimumRole     *string   `json:"ci_pipeline_variables_minimum_override_role,omitempty"`
	KeepLatestArtifact                 *bool     `json:"keep_latest_artifact,omitempty"`
	RestrictUserDefinedVariables       *bool     `json:"restrict_user_defined_variables,omitempty"`
	ResourceGroupDefaultProcessMode    *string   `json:"resource_group_default_process_mode,omitempty"`
	IssuesTemplate                     *string   `json:"issues_template,omitempty"`
	MergeRequestsTemplate              *string   `json:"merge_requests_template,omitempty"`
	ExternalAuthorizationLabel         *string   `json:"external_authorization_classification_label,omitempty"`
	MergePipelinesEnabled              *bool     `json:"merge_pipelines_enabled,omitempty"`
	MergeTrainsEnabled                 *bool     `json:"merge_trains_enabled,omitempty"`
	MergeTrainsSkipTrainAllowed        *bool     `json:"merge_trains_skip_train_allowed,omitempty"`
	OnlyMergeIfAllStatusChecksPassed   *bool     `json:"only_allow_merge_if_all_status_checks_passed,omitempty"`
	AllowPipelineTriggerApproveDeploy  *bool     `json:"allow_pipeline_trigger_approve_deployment,omitempty"`
	PreventMergeWithoutJiraIssue       *bool     `json:"prevent_merge_without_jira_issue,omitempty"`
	BuildCoverageRegex                 *string   `json:"build_coverage_regex,omitempty"`
	CIRestrictPipelineCancellationRole *string   `json:"ci_restrict_pipeline_cancellation_role,omitempty"`
	MRDefaultTitleTemplate             *string   `json:"mr_default_title_template,omitempty"`
}

// ExpirationChange are those of ExpirationPolicy that a call sets.
type ExpirationChange struct {
	Cadence       *string `json:"cadence,omitempty"`
	Enabled       *bool   `json:"enabled,omitempty"`
	KeepN         *int64  `json:"keep_n,omitempty"`
	OlderThan     *string `json:"older_than,omitempty"`
	NameRegex     *string `json:"name_regex,omitempty"`
	NameRegexKeep *string `json:"name_regex_keep,omitempty"`
}

// DefaultSettings returns what a new project starts with.
func DefaultSettings() Settings {
	depth, keep, older, all := int64(20), int64(10), "90d", ".*"
	return Settings{
		ObjectFormat: "sha1", PackagesEnabled: true, PublicJobs: true,
		AutoDevopsDeployStrategy: "continuous", BuildGitStrategy: "fetch", BuildTimeout: 3600,
		AutoCancelPendingPipelines: "enabled", ShowDiffPreviewInEmail: true, EnforceAuthChecksOnUploads: true,
		WarnAboutUnwantedCharacters: true, CIDefaultGitDepth: &depth, CIForwardDeploymentEnabled: true,
		CIForwardDeploymentRollbackAllowed: true, CISeparatedCaches: true, CIAllowForkPipelinesInParent: true,
		CIIDTokenSubClaimComponents: []string{"project_path", "ref_type", "ref"}, CIPipelineVariablesMinimumRole: "developer",
		KeepLatestArtifact: true, ResourceGroupDefaultProcessMode: "unordered", CIRestrictPipelineCancellationRole: "developer",
		ContainerExpirationPolicy: ExpirationPolicy{Cadence: "1d", KeepN: &keep, OlderThan: &older, NameRegex: &all},
	}
}

// Settings reads what SettingsJSON holds over the defaults.
func (p *Project) Settings() Settings {
	out := DefaultSettings()
	if !plain(p.SettingsJSON) && json.Unmarshal([]byte(p.SettingsJSON), &out) != nil {
		return DefaultSettings()
	}
	return out
}

// plain reports that a stored object says nothing, as that of most projects does.
func plain(stored string) bool { return stored == "" || stored == "{}" }

// InitialBranch is the name that the first branch of the repository gets, "" for the
// instance's.
func (p *Project) InitialBranch() string { return p.Settings().InitialBranch }

// with returns the stored form of s with the changes over it: what differs from the
// defaults.
func (s Settings) with(c SettingsChanges) (string, error) {
	was := s.ContainerExpirationPolicy
	text, err := json.Marshal(c)
	if err != nil {
		return "", err
	}
	if err := json.Unmarshal(text, &s); err != nil {
		return "", err
	}
	if c.ContainerExpirationPolicy != nil {
		s.ContainerExpirationPolicy.schedule(was, c.At)
	}
	own, err := fields(s)
	if err != nil {
		return "", err
	}
	common, err := fields(DefaultSettings())
	if err != nil {
		return "", err
	}
	maps.DeleteFunc(own, func(name string, value json.RawMessage) bool { return bytes.Equal(value, common[name]) })
	text, err = json.Marshal(own)
	return string(text), err
}

// fields takes settings apart.
func fields(s Settings) (map[string]json.RawMessage, error) {
	text, err := json.Marshal(s)
	if err != nil {
		return nil, err
	}
	var out map[string]json.RawMessage
	err = json.Unmarshal(text, &out)
	return out, err
}

// columnFeatures are the features that have columns of their own.
var columnFeatures = map[string]authz.Feature{
	"issues": authz.Issues, "merge_requests": authz.MergeRequests, "repository": authz.Repository, "forking": authz.Forking,
	"wiki": authz.Wiki, "builds": authz.Builds, "snippets": authz.Snippets,
}

// otherDefaults are the features kept together, with what a new project has.
var otherDefaults = map[string]string{
	"package_registry": "enabled", "pages": "private", "analytics": "enabled", "container_registry": "enabled",
	"security_and_compliance": "private", "releases": "enabled", "environments": "enabled", "feature_flags": "enabled",
	"infrastructure": "enabled", "monitor": "enabled", "model_experiments": "enabled", "model_registry": "enabled",
	"requirements": "enabled",
}

// Access returns the access level of any feature by its API name without the suffix
// _access_level: disabled, private, enabled, or public for a few.
func (p *Project) Access(feature string) string { return p.Accesses()(feature) }

// Accesses is Access for many features: what is stored is read once.
func (p *Project) Accesses() func(feature string) string {
	var stored map[string]string
	if !plain(p.FeaturesJSON) && json.Unmarshal([]byte(p.FeaturesJSON), &stored) != nil {
		stored = nil
	}
	return func(feature string) string {
		if f, ok := columnFeatures[feature]; ok {
			return p.Features.Of(f).String()
		}
		if access, ok := stored[feature]; ok {
			return access
		}
		return otherDefaults[feature]
	}
}

// accessWords are the access levels in the words of the API.
var accessWords = map[string]authz.FeatureAccess{
	"disabled": authz.FeatureDisabled, "private": authz.FeatureMembers, "enabled": authz.FeatureEnabled,
}

// SubjectIn is Subject for a part of the project whose access level has no column: releases, environments, feature_flags.
func (p *Project) SubjectIn(feature string) authz.Subject {
	s, access := p.Subject(), accessWords[p.Access(feature)]
	s.Within = &access
	return s
}

// setFeature stores a feature's access; it reports false for what is no feature or no level.
func (p *Project) setFeature(feature, access string) bool {
	if f, ok := columnFeatures[feature]; ok {
		level, ok := accessWords[access]
		if ok {
			p.Features.Set(f, level)
		}
		return ok
	}
	if _, ok := otherDefaults[feature]; !ok {
		return false
	}
	stored := map[string]string{}
	if p.FeaturesJSON != "" && json.Unmarshal([]byte(p.FeaturesJSON), &stored) != nil {
		return false
	}
	stored[feature] = access
	text, err := json.Marshal(stored)
	p.FeaturesJSON = string(text)
	return err == nil
}

package project

import (
	"context"

	"tenon/internal/base/db"
	"tenon/internal/core/authz"
	"tenon/internal/core/tree"
)

// exported is the project itself as it moves.
type exported struct {
	Description                    *string  `tree:"description,max=2000"`
	Visibility                     int64    `tree:"visibility_level"`
	Archived                       bool     `tree:"archived"`
	DefaultBranch                  *string  `tree:"default_branch"`
	Topics                         []string `tree:"topics"`
	IssuesTemplate                 *string  `tree:"issues_template"`
	MergeRequestsTemplate          *string  `tree:"merge_requests_template"`
	ApprovalsBeforeMerge           int64    `tree:"approvals_before_merge"`
	AutoCancelPendingPipelines     string   `tree:"auto_cancel_pending_pipelines,names=enabled|disabled"`
	AutocloseReferencedIssues      bool     `tree:"autoclose_referenced_issues"`
	BuildAllowGitFetch             bool     `tree:"build_allow_git_fetch"`
	BuildCoverageRegex             *string  `tree:"build_coverage_regex"`
	BuildTimeout                   int64    `tree:"build_timeout"`
	CIConfigPath                   *string  `tree:"ci_config_path"`
	ExternalAuthorizationLabel     *string  `tree:"external_authorization_classification_label"`
	FastForwardOnly                bool     `tree:"merge_requests_ff_only_enabled"`
	Rebase                         bool     `tree:"merge_requests_rebase_enabled"`
	OnlyMergeIfDiscussionsResolved bool     `tree:"only_allow_merge_if_all_discussions_are_resolved"`
	OnlyMergeIfPipelineSucceeds    bool     `tree:"only_allow_merge_if_pipeline_succeeds"`
	AllowMergeOnSkippedPipeline    *bool    `tree:"allow_merge_on_skipped_pipeline"`
	PrintingMergeRequestLink       bool     `tree:"printing_merge_request_link_enabled"`
	PublicJobs                     bool     `tree:"public_builds"`
	RemoveSourceBranchAfterMerge   bool     `tree:"remove_source_branch_after_merge"`
	RequestAccessEnabled           bool     `tree:"request_access_enabled"`
	ResolveOutdatedDiffDiscussions bool     `tree:"resolve_outdated_diff_discussions"`
	ServiceDeskEnabled             bool     `tree:"service_desk_enabled"`
	SharedRunnersEnabled           bool     `tree:"shared_runners_enabled"`
	SuggestionCommitMessage        *string  `tree:"suggestion_commit_message"`
	SquashOption                   string   `tree:"squash_option,names=never|always|default_on|default_off"`
	MergeCommitTemplate            *string  `tree:"merge_commit_template"`
	SquashCommitTemplate           *string  `tree:"squash_commit_template"`
	HasExternalIssueTracker        bool     `tree:"has_external_issue_tracker"`
	HasExternalWiki                bool     `tree:"has_external_wiki"`
	PendingDelete                  bool     `tree:"pending_delete"`
}

// exportedFeatures are who may use what.
type exportedFeatures struct {
	ProjectID             int64   `tree:"project_id,project"`
	CreatedAt             db.Time `tree:"created_at"`
	UpdatedAt             db.Time `tree:"updated_at"`
	MergeRequests         int64   `tree:"merge_requests_access_level"`
	Issues                int64   `tree:"issues_access_level"`
	Wiki                  int64   `tree:"wiki_access_level"`
	Snippets              int64   `tree:"snippets_access_level"`
	Builds                int64   `tree:"builds_access_level"`
	Repository            int64   `tree:"repository_access_level"`
	Pages                 int64   `tree:"pages_access_level"`
	Forking               int64   `tree:"forking_access_level"`
	MetricsDashboard      int64   `tree:"metrics_dashboard_access_level"`
	Operations            int64   `tree:"operations_access_level"`
	Monitor               int64   `tree:"monitor_access_level"`
	Analytics             int64   `tree:"analytics_access_level"`
	SecurityAndCompliance int64   `tree:"security_and_compliance_access_level"`
	ContainerRegistry     int64   `tree:"container_registry_access_level"`
	PackageRegistry       int64   `tree:"package_registry_access_level"`
	Environments          int64   `tree:"environments_access_level"`
	FeatureFlags          int64   `tree:"feature_flags_access_level"`
	Releases              int64   `tree:"releases_access_level"`
	Infrastructure        int64   `tree:"infrastructure_access_level"`
	ModelExperiments      int64   `tree:"model_experiments_access_level"`
	ModelRegistry         int64   `tree:"model_registry_access_level"`
	Requirements          int64   `tree:"requirements_access_level"`
}

// exportedCI are the settings of pipelines.
type exportedCI struct {
	GroupRunnersEnabled           bool   `tree:"group_runners_enabled"`
	DefaultGitDepth               *int64 `tree:"default_git_depth"`
	RunnerTokenExpirationInterval *int64 `tree:"runner_token_expiration_interval"`
	MergePipelinesEnabled         bool   `tree:"merge_pipelines_enabled"`
	MergeTrainsEnabled            bool   `tree:"merge_trains_enabled"`
	ForwardDeploymentEnabled      bool   `tree:"forward_deployment_enabled"`
	KeepLatestArtifact            bool   `tree:"keep_latest_artifact"`
	JobTokenScopeEnabled          bool   `tree:"job_token_scope_enabled"`
	SeparatedCaches               bool   `tree:"separated_caches"`
	AllowForkPipelinesInParent    bool   `tree:"allow_fork_pipelines_to_run_in_parent_project"`
}

// exportedExpiration is the policy of container images.
type exportedExpiration struct {
	CreatedAt     db.Time  `tree:"created_at"`
	UpdatedAt     db.Time  `tree:"updated_at"`
	NextRunAt     *db.Time `tree:"next_run_at"`
	ProjectID     int64    `tree:"project_id,project"`
	NameRegex     *string  `tree:"name_regex"`
	NameRegexKeep *string  `tree:"name_regex_keep"`
	Cadence       string   `tree:"cadence,names=1d|7d|14d|1month|3month"`
	OlderThan     *string  `tree:"older_than"`
	KeepN         *int64   `tree:"keep_n"`
	Enabled       bool     `tree:"enabled"`
}

// exportedDevops are the settings of Auto DevOps.
type exportedDevops struct {
	CreatedAt      db.Time `tree:"created_at"`
	UpdatedAt      db.Time `tree:"updated_at"`
	ProjectID      int64   `tree:"project_id,project"`
	Enabled        bool    `tree:"enabled"`
	DeployStrategy string  `tree:"deploy_strategy,names=continuous|manual|timed_incremental"`
}

// Relations describes what moves of the row of a project.
func (s *Service) Relations() []tree.Relation {
	return []tree.Relation{
		tree.One(tree.Relation{
			Name: "project", Tables: []string{"projects", "project_topics"},
			Absent: []string{"delete_error", "jobs_cache_index", "last_repository_check_failed", "pages_https_only"},
		}, func(_ context.Context, r *tree.Reading) (*exported, error) { return Of(r.At).exported(), nil }),
		tree.One(tree.Relation{Name: "project_feature"}, func(_ context.Context, r *tree.Reading) (*exportedFeatures, error) {
			return Of(r.At).exportedFeatures(), nil
		}),
		tree.One(tree.Relation{Name: "ci_cd_settings", Absent: []string{"auto_rollback_enabled", "inbound_job_token_scope_enabled"}},
			func(_ context.Context, r *tree.Reading) (*exportedCI, error) {
				set := Of(r.At).Settings()
				return &exportedCI{
					GroupRunnersEnabled: Of(r.At).GroupRunnersEnabled, DefaultGitDepth: set.CIDefaultGitDepth, RunnerTokenExpirationInterval: set.RunnerTokenExpirationInterval,
					MergePipelinesEnabled: set.MergePipelinesEnabled, MergeTrainsEnabled: set.MergeTrainsEnabled, ForwardDeploymentEnabled: set.CIForwardDeploymentEnabled,
					KeepLatestArtifact: set.KeepLatestArtifact, JobTokenScopeEnabled: set.CIJobTokenScopeEnabled, SeparatedCaches: set.CISeparatedCaches,
					AllowForkPipelinesInParent: set.CIAllowForkPipelinesInParent,
				}, nil
			}),
		tree.One(tree.Relation{Name: "container_expiration_policy"}, func(_ context.Context, r *tree.Reading) (*exportedExpiration, error) {
			p := Of(r.At)
			of := p.Settings().ContainerExpirationPolicy
			out := &exportedExpiration{
				CreatedAt: p.CreatedAt, UpdatedAt: p.UpdatedAt, ProjectID: int64(p.ID), NameRegex: of.NameRegex, NameRegexKeep: of.NameRegexKeep,
				Cadence: of.Cadence, OlderThan: of.OlderThan, KeepN: of.KeepN, Enabled: of.Enabled,
			}
			if next := p.NextRun(of, s.Now()); next != nil {
				out.NextRunAt = new(db.At(*next))
			}
			return out, nil
		}),
		tree.One(tree.Relation{Name: "auto_devops"}, func(_ context.Context, r *tree.Reading) (*exportedDevops, error) {
			p := Of(r.At)
			set := p.Settings()
			return &exportedDevops{p.CreatedAt, p.UpdatedAt, int64(p.ID), set.AutoDevopsEnabled, set.AutoDevopsDeployStrategy}, nil
		}),
	}
}

func (p *Project) exported() *exported {
	set := p.Settings()
	return &exported{
		Description: p.Description, Visibility: int64(p.Visibility), Archived: p.ArchivedSelf, DefaultBranch: p.DefaultBranch, Topics: p.Topics(),
		IssuesTemplate: set.IssuesTemplate, MergeRequestsTemplate: set.MergeRequestsTemplate, ApprovalsBeforeMerge: p.ApprovalsBeforeMerge,
		AutoCancelPendingPipelines: set.AutoCancelPendingPipelines, AutocloseReferencedIssues: p.AutocloseReferencedIssues,
		BuildAllowGitFetch: set.BuildGitStrategy == "fetch", BuildCoverageRegex: set.BuildCoverageRegex, BuildTimeout: set.BuildTimeout, CIConfigPath: set.CIConfigPath,
		ExternalAuthorizationLabel: set.ExternalAuthorizationLabel, FastForwardOnly: p.MergeMethod == "ff", Rebase: p.MergeMethod == "rebase_merge",
		OnlyMergeIfDiscussionsResolved: p.OnlyMergeIfDiscussionsResolved, OnlyMergeIfPipelineSucceeds: p.OnlyMergeIfPipelineSucceeds,
		AllowMergeOnSkippedPipeline: p.AllowMergeOnSkippedPipeline, PrintingMergeRequestLink: p.PrintingMergeRequestLinkEnabled, PublicJobs: set.PublicJobs,
		RemoveSourceBranchAfterMerge: p.RemoveSourceBranchAfterMerge, RequestAccessEnabled: p.RequestAccessEnabled,
		ResolveOutdatedDiffDiscussions: set.ResolveOutdatedDiffDiscussions, ServiceDeskEnabled: set.ServiceDeskEnabled, SharedRunnersEnabled: p.SharedRunnersEnabled,
		SuggestionCommitMessage: p.SuggestionCommitMessage, SquashOption: p.SquashOption, MergeCommitTemplate: p.MergeCommitTemplate, SquashCommitTemplate: p.SquashCommitTemplate,
		PendingDelete: p.PendingDelete,
	}
}

func (p *Project) exportedFeatures() *exportedFeatures {
	access := p.Accesses()
	of := func(feature string) int64 {
		return map[string]int64{
			"disabled": int64(authz.FeatureDisabled), "private": int64(authz.FeatureMembers), "enabled": int64(authz.FeatureEnabled), "public": 30,
		}[access(feature)]
	}
	return &exportedFeatures{
		ProjectID: int64(p.ID), CreatedAt: p.CreatedAt, UpdatedAt: p.UpdatedAt, MergeRequests: of("merge_requests"), Issues: of("issues"), Wiki: of("wiki"),
		Snippets: of("snippets"), Builds: of("builds"), Repository: of("repository"), Pages: of("pages"), Forking: of("forking"), MetricsDashboard: of("monitor"),
		Operations: of("monitor"), Monitor: of("monitor"), Analytics: of("analytics"), SecurityAndCompliance: of("security_and_compliance"),
		ContainerRegistry: of("container_registry"), PackageRegistry: of("package_registry"), Environments: of("environments"), FeatureFlags: of("feature_flags"),
		Releases: of("releases"), Infrastructure: of("infrastructure"), ModelExperiments: of("model_experiments"), ModelRegistry: of("model_registry"),
		Requirements: of("requirements"),
	}
}

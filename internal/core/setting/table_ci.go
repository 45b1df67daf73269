package setting

// ci holds the settings of pipelines, jobs and runners.
type ci struct {
	AllowRunnerRegistrationToken                    bool     `setting:"allow_runner_registration_token" default:"true" effect:"the registration of runners" doc:"Allow registering runners with a registration token"`
	ValidRunnerRegistrars                           []string `setting:"valid_runner_registrars" default:"[\"project\",\"group\"]" effect:"the registration of runners with tokens of projects and groups" doc:"Kinds of places whose registration tokens register runners: project, group"`
	RunnerTokenExpirationInterval                   *int     `setting:"runner_token_expiration_interval" default:"null" min:"7200" max:"315360000" effect:"new tokens of instance runners" doc:"Seconds after which new authentication tokens of instance runners expire; null is never"`
	GroupRunnerTokenExpirationInterval              *int     `setting:"group_runner_token_expiration_interval" default:"null" min:"7200" max:"315360000" effect:"new tokens of group runners" doc:"Seconds after which new authentication tokens of group runners expire; null is never"`
	ProjectRunnerTokenExpirationInterval            *int     `setting:"project_runner_token_expiration_interval" default:"null" min:"7200" max:"315360000" effect:"new tokens of project runners" doc:"Seconds after which new authentication tokens of project runners expire; null is never"`
	UpdateRunnerVersionsEnabled                     bool     `setting:"update_runner_versions_enabled" default:"true" area:"telemetry" doc:"Fetch the list of runner releases"`
	SharedRunnersEnabled                            bool     `setting:"shared_runners_enabled" default:"true" with:"shared_runners_text" effect:"new projects" doc:"Enable instance runners for new projects"`
	SharedRunnersText                               *string  `setting:"shared_runners_text" default:"null" chars:"10000" effect:"the page of the CI/CD settings of a project, and pages of jobs that wait for an instance runner" doc:"Text about instance runners, in Markdown"`
	SharedRunnersMinutes                            int      `setting:"shared_runners_minutes" default:"0" min:"0" area:"plans of namespaces" doc:"Compute minutes of a group per month; 0 is unlimited"`
	GitPushPipelineLimit                            int      `setting:"git_push_pipeline_limit" default:"4" min:"0" effect:"pushes" doc:"Maximum branches and tags of one push that create pipelines; 0 is any"`
	DefaultCIConfigPath                             *string  `setting:"default_ci_config_path" default:"null" chars:"255" effect:"projects without a configuration file of their own" doc:"Default CI/CD configuration file of projects"`
	DefaultArtifactsExpireIn                        string   `setting:"default_artifacts_expire_in" default:"30 days" format:"duration" effect:"artifacts of jobs that do not say" doc:"Default expiration time of job artifacts, such as 30 days"`
	MaxArtifactsSize                                int      `setting:"max_artifacts_size" default:"100" min:"1" max:"1048576" effect:"artifacts" doc:"Maximum size of job artifacts in MB"`
	MaxArtifactsContentIncludeSize                  int      `setting:"max_artifacts_content_include_size" default:"5242880" min:"0" effect:"artifacts that a child pipeline includes" doc:"Maximum size of artifacts that are included as configuration, in bytes"`
	KeepLatestArtifact                              bool     `setting:"keep_latest_artifact" default:"true" effect:"artifacts" doc:"Keep the artifacts of the latest successful pipeline of each reference"`
	ArchiveBuilds                                   *string  `setting:"archive_builds_in_human_readable" default:"null" effect:"jobs that can be run again" doc:"Age after which jobs are archived and cannot be run again, such as 1 month; at least 1 day, empty is never"`
	CIMaxIncludes                                   int      `setting:"ci_max_includes" default:"150" min:"0" effect:"files that a pipeline includes, at most 150" doc:"Maximum included files of a pipeline"`
	CIMaxTotalYAMLSizeBytes                         int      `setting:"ci_max_total_yaml_size_bytes" default:"314572800" min:"1" effect:"the configuration of a pipeline, at most 8 MiB" doc:"Maximum size of all configuration of a pipeline in bytes"`
	MaxYAMLSizeBytes                                int      `setting:"max_yaml_size_bytes" default:"2097152" min:"1" max:"104857600" effect:"configuration files" doc:"Maximum size of a CI/CD configuration file in bytes"`
	MaxYAMLDepth                                    int      `setting:"max_yaml_depth" default:"100" min:"1" effect:"configuration files, at most 100 levels" doc:"Maximum depth of a configuration file"`
	CIDeletePipelinesInSecondsLimitHumanReadable    string   `setting:"ci_delete_pipelines_in_seconds_limit_human_readable" default:"1 year" format:"duration" effect:"ci_delete_pipelines_in_seconds of projects" doc:"Maximum age after which projects delete pipelines"`
	CIPartitionsSizeLimit                           int      `setting:"ci_partitions_size_limit" default:"107374182400" min:"0" area:"storage nodes of the reference" doc:"Maximum size of a partition of CI tables in bytes"`
	CIJobLiveTraceEnabled                           bool     `setting:"ci_job_live_trace_enabled" default:"false" area:"storage nodes of the reference" doc:"Keep logs of running jobs in object storage"`
	CICDCatalogProjectsAllowlist                    []string `setting:"ci_cd_catalog_projects_allowlist" default:"[]" later:"the CI/CD catalog" doc:"Projects that may publish to the CI/CD catalog"`
	PipelineLimitPerProjectUserSHA                  int      `setting:"pipeline_limit_per_project_user_sha" default:"0" min:"0" effect:"new pipelines" doc:"Maximum pipelines of a user for a commit of a project per minute; 0 is unlimited"`
	PipelineLimitPerUser                            int      `setting:"pipeline_limit_per_user" default:"0" min:"0" effect:"new pipelines" doc:"Maximum pipelines of a user per minute; 0 is unlimited"`
	DownstreamPipelineTriggerLimitPerProjectUserSHA int      `setting:"downstream_pipeline_trigger_limit_per_project_user_sha" default:"0" min:"0" effect:"jobs that trigger pipelines" doc:"Maximum downstream pipelines of a user for a commit of a project per minute; 0 is unlimited"`
	ProtectedCIVariables                            bool     `setting:"protected_ci_variables" default:"true" effect:"the form of a new variable on pages; the API has a default of its own" doc:"New variables are protected in the form of pages"`
	EnforceCIInboundJobTokenScopeEnabled            bool     `setting:"enforce_ci_inbound_job_token_scope_enabled" default:"true" effect:"job tokens" doc:"Job tokens of other projects need to be allowed"`
	EnableArtifactExternalRedirectWarningPage       bool     `setting:"enable_artifact_external_redirect_warning_page" default:"true" area:"Pages" doc:"Warn before artifacts are shown as pages"`
	ExternalPipelineValidationServiceURL            *string  `setting:"external_pipeline_validation_service_url" default:"null" format:"url" effect:"new pipelines" doc:"URL of a service that is asked before a pipeline is made"`
	ExternalPipelineValidationServiceToken          *string  `setting:"external_pipeline_validation_service_token" default:"null" secret:"true" effect:"new pipelines" doc:"Token for the pipeline validation service"`
	ExternalPipelineValidationServiceTimeout        *int     `setting:"external_pipeline_validation_service_timeout" default:"null" min:"1" effect:"new pipelines" doc:"Seconds to wait for the pipeline validation service"`
	MaxTerraformStateSizeBytes                      int      `setting:"max_terraform_state_size_bytes" default:"0" min:"0" later:"Terraform states" doc:"Maximum size of a Terraform state in bytes; 0 is unlimited"`
	TerraformStateEncryptionEnabled                 bool     `setting:"terraform_state_encryption_enabled" default:"true" later:"Terraform states" doc:"Encrypt Terraform states"`
	ShowMigrateFromJenkinsBanner                    bool     `setting:"show_migrate_from_jenkins_banner" default:"true" area:"telemetry" doc:"Show a banner about moving from Jenkins"`
}

package setting

// places holds the settings of groups, projects, snippets and repositories.
type places struct {
	DefaultBranchName                                  *string        `setting:"default_branch_name" default:"null" effect:"the first branch of new repositories" doc:"Default branch of new repositories"`
	DefaultBranchProtection                            int            `setting:"default_branch_protection" default:"2" values:"0,1,2,3,4" effect:"the default branch of new projects" doc:"Default branch protection level"`
	DefaultBranchProtectionDefaults                    map[string]any `setting:"default_branch_protection_defaults" default:"{}" pending:"true" doc:"Protection of default branches in detail"`
	GroupOwnersCanManageDefaultBranchProtection        bool           `setting:"group_owners_can_manage_default_branch_protection" default:"true" pending:"true" doc:"Group Owners change the default branch protection of their group"`
	DefaultGroupVisibility                             string         `setting:"default_group_visibility" default:"private" values:"private,internal,public" effect:"new groups" doc:"Default visibility of groups"`
	DefaultProjectVisibility                           string         `setting:"default_project_visibility" default:"private" values:"private,internal,public" effect:"new projects" doc:"Default visibility of projects"`
	DefaultSnippetVisibility                           string         `setting:"default_snippet_visibility" default:"private" values:"private,internal,public" pending:"true" doc:"Default visibility of snippets"`
	DefaultProjectCreation                             int            `setting:"default_project_creation" default:"2" values:"0,1,2,3" effect:"groups without a setting of their own" doc:"Default project creation protection: 0 no one, 1 Maintainers, 2 Developers and Maintainers, 3 administrators"`
	AllowProjectCreationForGuestAndBelow               bool           `setting:"allow_project_creation_for_guest_and_below" default:"true" pending:"true" doc:"Users who are at most Guest anywhere may create personal projects"`
	RestrictedVisibilityLevels                         []string       `setting:"restricted_visibility_levels" default:"[]" effect:"the visibility that only administrators may choose, and public profiles" doc:"Visibility levels restricted to administrators"`
	DelayedGroupDeletion                               bool           `setting:"delayed_group_deletion" default:"true" effect:"the deletion of groups" doc:"Enable delayed group deletion"`
	DelayedProjectDeletion                             bool           `setting:"delayed_project_deletion" default:"false" effect:"the deletion of projects" doc:"Enable delayed project deletion"`
	DeletionAdjournedPeriod                            int            `setting:"deletion_adjourned_period" default:"7" min:"1" max:"90" effect:"the time until marked groups and projects are deleted" doc:"Days before marked groups and projects are deleted"`
	AllowImmediateNamespacesDeletion                   bool           `setting:"allow_immediate_namespaces_deletion" default:"true" pending:"true" doc:"Owners may delete what is marked for deletion at once"`
	DefaultProjectDeletionProtection                   bool           `setting:"default_project_deletion_protection" default:"false" pending:"true" doc:"Only administrators delete projects"`
	DeleteInactiveProjects                             bool           `setting:"delete_inactive_projects" default:"false" pending:"true" doc:"Delete inactive projects"`
	InactiveProjectsDeleteAfterMonths                  int            `setting:"inactive_projects_delete_after_months" default:"2" min:"1" pending:"true" doc:"Months without activity after which a project is deleted"`
	InactiveProjectsMinSizeMB                          int            `setting:"inactive_projects_min_size_mb" default:"0" min:"0" pending:"true" doc:"Size in MB from which inactive projects are deleted"`
	InactiveProjectsSendWarningEmailAfterMonths        int            `setting:"inactive_projects_send_warning_email_after_months" default:"1" min:"1" pending:"true" doc:"Months without activity after which Maintainers are warned"`
	DisableOverridingApprovers                         bool           `setting:"disable_overriding_approvers_per_merge_request" default:"false" effect:"approval rules of merge requests" doc:"Prevent editing approval rules in merge requests"`
	PreventAuthorApproval                              bool           `setting:"prevent_merge_requests_author_approval" default:"false" effect:"approvals" doc:"Prevent approvals by authors of merge requests"`
	PreventCommittersApproval                          bool           `setting:"prevent_merge_requests_committers_approval" default:"false" effect:"approvals" doc:"Prevent approvals by committers to merge requests"`
	SecurityPolicyGlobalGroupApproversEnabled          bool           `setting:"security_policy_global_group_approvers_enabled" default:"true" area:"plans of namespaces" doc:"Find approvers of security policies in all groups"`
	FileTemplateProjectID                              *int           `setting:"file_template_project_id" default:"null" min:"1" pending:"true" doc:"Project whose files are templates of the instance"`
	MaxAttachmentSize                                  int            `setting:"max_attachment_size" default:"100" min:"1" max:"1048576" effect:"uploads and wikis" doc:"Maximum attachment size in MB"`
	SnippetSizeLimit                                   int            `setting:"snippet_size_limit" default:"52428800" min:"1" max:"104857600" effect:"snippets" doc:"Maximum size of a snippet in bytes"`
	WikiPageMaxContentBytes                            int            `setting:"wiki_page_max_content_bytes" default:"5242880" min:"1024" max:"104857600" effect:"wiki pages" doc:"Maximum size of a wiki page in bytes"`
	WikiAsciidocAllowURIIncludes                       bool           `setting:"wiki_asciidoc_allow_uri_includes" default:"false" pending:"true" doc:"Include URIs in AsciiDoc pages of wikis"`
	ReceiveMaxInputSize                                *int           `setting:"receive_max_input_size" default:"null" min:"1" max:"1048576" effect:"pushes" doc:"Maximum push size in MB"`
	RepositorySizeLimit                                int64          `setting:"repository_size_limit" default:"0" min:"0" max:"1099511627776" megabytes:"true" effect:"pushes to projects without a limit of their own" doc:"Size limit of the repository in MB; 0 is unlimited"`
	ProjectStorageLimit                                int            `setting:"project_storage_limit" default:"0" min:"0" max:"1048576" effect:"uploads and Git LFS objects" doc:"Size limit of uploads and Git LFS objects of a project in MB; 0 is unlimited"`
	UserStorageLimit                                   int            `setting:"user_storage_limit" default:"0" min:"0" max:"1048576" effect:"uploads and Git LFS objects" doc:"Size limit of uploads and Git LFS objects of a user in MB; 0 is unlimited"`
	ExternalUserStorageLimit                           int            `setting:"external_user_storage_limit" default:"1024" min:"0" max:"1048576" effect:"uploads and Git LFS objects" doc:"Size limit of uploads and Git LFS objects of external users and non-members in projects of others in MB; 0 is unlimited"`
	LFSEnabled                                         bool           `setting:"lfs_enabled" default:"true" effect:"Git LFS" doc:"Enable Git LFS"`
	DiffMaxFiles                                       int            `setting:"diff_max_files" default:"1000" min:"1000" max:"3000" effect:"diffs" doc:"Maximum files in a diff"`
	DiffMaxLines                                       int            `setting:"diff_max_lines" default:"50000" min:"50000" max:"100000" effect:"diffs" doc:"Maximum lines in a diff"`
	DiffMaxPatchBytes                                  int            `setting:"diff_max_patch_bytes" default:"204800" min:"204800" max:"512000" effect:"diffs" doc:"Maximum diff patch size in bytes"`
	PushEventActivitiesLimit                           int            `setting:"push_event_activities_limit" default:"3" min:"0" effect:"events of pushes" doc:"Maximum references of a push with an event each"`
	PushEventHooksLimit                                int            `setting:"push_event_hooks_limit" default:"3" min:"0" later:"integrations" doc:"Maximum references of a push for which webhooks run"`
	HousekeepingEnabled                                bool           `setting:"housekeeping_enabled" default:"true" effect:"housekeeping of repositories" doc:"Enable housekeeping"`
	HousekeepingOptimizeRepositoryPeriod               int            `setting:"housekeeping_optimize_repository_period" default:"10" min:"1" alias:"housekeeping_incremental_repack_period" effect:"housekeeping of repositories" doc:"Number of pushes after which housekeeping runs"`
	RepositoryChecksEnabled                            bool           `setting:"repository_checks_enabled" default:"true" pending:"true" doc:"Check repositories from time to time"`
	RepositoryStorages                                 []string       `setting:"repository_storages" default:"[\"default\"]" readonly:"true" effect:"new repositories" doc:"Storages of new repositories"`
	RepositoryStoragesWeighted                         map[string]int `setting:"repository_storages_weighted" default:"{\"default\":100}" area:"storage nodes of the reference" doc:"Storages of new repositories with their weights"`
	HashedStorageEnabled                               bool           `setting:"hashed_storage_enabled" default:"true" ignored:"true" area:"storage nodes of the reference" doc:"Hashed storage; always on"`
	GitalyTimeoutDefault                               int            `setting:"gitaly_timeout_default" default:"55" min:"0" max:"3600" area:"storage nodes of the reference" doc:"Seconds for calls of repository storages"`
	GitalyTimeoutFast                                  int            `setting:"gitaly_timeout_fast" default:"10" min:"0" max:"3600" area:"storage nodes of the reference" doc:"Seconds for fast calls of repository storages"`
	GitalyTimeoutMedium                                int            `setting:"gitaly_timeout_medium" default:"30" min:"0" max:"3600" area:"storage nodes of the reference" doc:"Seconds for calls of repository storages in between"`
	AsciidocMaxIncludes                                int            `setting:"asciidoc_max_includes" default:"32" min:"0" max:"64" pending:"true" doc:"Maximum include directives of an AsciiDoc document"`
	MathRenderingLimitsEnabled                         bool           `setting:"math_rendering_limits_enabled" default:"true" pending:"true" doc:"Limit the rendering of mathematics"`
	SuggestPipelineEnabled                             bool           `setting:"suggest_pipeline_enabled" default:"true" pending:"true" doc:"Suggest a pipeline to projects without one"`
	IssuesCreateLimit                                  int            `setting:"issues_create_limit" default:"300" min:"0" effect:"new issues" doc:"Maximum issue creation requests per user per minute"`
	NotesCreateLimit                                   int            `setting:"notes_create_limit" default:"300" min:"0" effect:"new notes" doc:"Maximum note creation requests per user per minute"`
	NotesCreateLimitAllowlist                          []string       `setting:"notes_create_limit_allowlist" default:"[]" entries:"100" raw:"true" effect:"new notes" doc:"Usernames excluded from the note creation limit"`
	RootMovedPermanentlyRedirection                    bool           `setting:"root_moved_permanently_redirection" default:"false" pending:"true" doc:"Redirect moved paths permanently"`
	TimeTrackingLimitToHours                           bool           `setting:"time_tracking_limit_to_hours" default:"false" pending:"true" doc:"Show tracked time in hours at most"`
	MaxDecompressedArchiveSize                         int            `setting:"max_decompressed_archive_size" default:"25600" min:"0" later:"import and export" doc:"Maximum size of a decompressed archive in MB; 0 is unlimited"`
	DecompressArchiveFileTimeout                       int            `setting:"decompress_archive_file_timeout" default:"210" min:"0" later:"import and export" doc:"Seconds to decompress an archive; 0 is unlimited"`
	NamespaceAggregationScheduleLeaseDurationInSeconds int            `setting:"namespace_aggregation_schedule_lease_duration_in_seconds" default:"300" min:"1" pending:"true" doc:"Seconds between recounts of the storage of a namespace"`
	StaticObjectsExternalStorageAuthToken              *string        `setting:"static_objects_external_storage_auth_token" default:"null" chars:"255" secret:"true" area:"storage nodes of the reference" doc:"Token for the external storage of archives and raw files"`
	StaticObjectsExternalStorageURL                    *string        `setting:"static_objects_external_storage_url" default:"null" format:"url" area:"storage nodes of the reference" doc:"URL of an external storage of archives and raw files"`
}

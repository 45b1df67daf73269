package rest

import (
	"context"
	"errors"
	"net/http"
	"reflect"
	"strings"

	"tenon/internal/core/authz"
	"tenon/internal/core/setting"
	"tenon/internal/transport/rest/api"
)

func (s *Server) settingRoutes() []*api.Route {
	return api.Scoped(nil,
		api.Get("/application/settings", s.getSettings).Doc("Get the application settings").Needs(authz.AdminSettings),
		api.Put("/application/settings", s.updateSettings).Timed().Doc("Update the application settings").Needs(authz.AdminSettings),
	)
}

// settingValues has the fields of setting.Settings, so that one converts into the other.
type settingValues struct {
	CanCreateGroup                                   bool     `json:"can_create_group"`
	CommitEmailHostname                              *string  `json:"commit_email_hostname"`
	DefaultBranchName                                *string  `json:"default_branch_name"`
	DefaultBranchProtection                          int      `json:"default_branch_protection"`
	DefaultGroupVisibility                           string   `json:"default_group_visibility"`
	DefaultProjectCreation                           int      `json:"default_project_creation"`
	DefaultProjectVisibility                         string   `json:"default_project_visibility"`
	DefaultProjectsLimit                             int      `json:"default_projects_limit"`
	DefaultSnippetVisibility                         string   `json:"default_snippet_visibility"`
	DelayedGroupDeletion                             bool     `json:"delayed_group_deletion"`
	DelayedProjectDeletion                           bool     `json:"delayed_project_deletion"`
	DeletionAdjournedPeriod                          int      `json:"deletion_adjourned_period"`
	EmailConfirmationSetting                         string   `json:"email_confirmation_setting"`
	GravatarEnabled                                  bool     `json:"gravatar_enabled"`
	ImportSources                                    []string `json:"import_sources"`
	AllowLocalRequestsFromWebHooksAndServices        bool     `json:"allow_local_requests_from_web_hooks_and_services"`
	OutboundLocalRequestsWhitelist                   []string `json:"outbound_local_requests_whitelist"`
	MaxAttachmentSize                                int      `json:"max_attachment_size"`
	SnippetSizeLimit                                 int      `json:"snippet_size_limit"`
	WikiPageMaxContentBytes                          int      `json:"wiki_page_max_content_bytes"`
	MinimumPasswordLength                            int      `json:"minimum_password_length"`
	PasswordLowercaseRequired                        bool     `json:"password_lowercase_required"`
	PasswordUppercaseRequired                        bool     `json:"password_uppercase_required"`
	PasswordNumberRequired                           bool     `json:"password_number_required"`
	PasswordSymbolRequired                           bool     `json:"password_symbol_required"`
	RestrictedVisibilityLevels                       []string `json:"restricted_visibility_levels"`
	UserDefaultExternal                              bool     `json:"user_default_external"`
	UserDefaultInternalRegex                         *string  `json:"user_default_internal_regex"`
	UserDefaultsToPrivateProfile                     bool     `json:"user_defaults_to_private_profile"`
	PreventAuthorApproval                            bool     `json:"prevent_merge_requests_author_approval"`
	PreventCommittersApproval                        bool     `json:"prevent_merge_requests_committers_approval"`
	DisableOverridingApprovers                       bool     `json:"disable_overriding_approvers_per_merge_request"`
	DSAKeyRestriction                                int      `json:"dsa_key_restriction"`
	ECDSAKeyRestriction                              int      `json:"ecdsa_key_restriction"`
	ECDSASKKeyRestriction                            int      `json:"ecdsa_sk_key_restriction"`
	ED25519KeyRestriction                            int      `json:"ed25519_key_restriction"`
	ED25519SKKeyRestriction                          int      `json:"ed25519_sk_key_restriction"`
	RSAKeyRestriction                                int      `json:"rsa_key_restriction"`
	EnabledGitAccessProtocol                         string   `json:"enabled_git_access_protocol"`
	LFSEnabled                                       bool     `json:"lfs_enabled"`
	MaxPersonalAccessTokenLifetime                   *int     `json:"max_personal_access_token_lifetime"`
	MaxSSHKeyLifetime                                *int     `json:"max_ssh_key_lifetime"`
	PasswordAuthenticationEnabledForGit              bool     `json:"password_authentication_enabled_for_git"`
	PersonalAccessTokenPrefix                        string   `json:"personal_access_token_prefix"`
	RequirePersonalAccessTokenExpiry                 bool     `json:"require_personal_access_token_expiry"`
	ReceiveMaxInputSize                              *int     `json:"receive_max_input_size"`
	RepositorySizeLimit                              int64    `json:"repository_size_limit"`
	ProjectStorageLimit                              int      `json:"project_storage_limit"`
	UserStorageLimit                                 int      `json:"user_storage_limit"`
	ExternalUserStorageLimit                         int      `json:"external_user_storage_limit"`
	RepositoryStorages                               []string `json:"repository_storages"`
	DiffMaxFiles                                     int      `json:"diff_max_files"`
	DiffMaxLines                                     int      `json:"diff_max_lines"`
	DiffMaxPatchBytes                                int      `json:"diff_max_patch_bytes"`
	IssuesCreateLimit                                int      `json:"issues_create_limit"`
	NotesCreateLimit                                 int      `json:"notes_create_limit"`
	NotesCreateLimitAllowlist                        []string `json:"notes_create_limit_allowlist"`
	RawBlobRequestLimit                              int      `json:"raw_blob_request_limit"`
	SearchRateLimit                                  int      `json:"search_rate_limit"`
	ArchiveRequestLimit                              int      `json:"archive_request_limit"`
	ArchiveRequestLimitUnauthenticated               int      `json:"archive_request_limit_unauthenticated"`
	MembersDeleteLimit                               int      `json:"members_delete_limit"`
	ProjectImportLimit                               int      `json:"project_import_limit"`
	ProjectsAPIRateLimitUnauthenticated              int      `json:"projects_api_rate_limit_unauthenticated"`
	SearchRateLimitUnauthenticated                   int      `json:"search_rate_limit_unauthenticated"`
	UsersAPILimitFollowers                           int      `json:"users_api_limit_followers"`
	UsersAPILimitFollowing                           int      `json:"users_api_limit_following"`
	UsersAPILimitGPGKey                              int      `json:"users_api_limit_gpg_key"`
	UsersAPILimitGPGKeys                             int      `json:"users_api_limit_gpg_keys"`
	UsersAPILimitSSHKey                              int      `json:"users_api_limit_ssh_key"`
	UsersAPILimitSSHKeys                             int      `json:"users_api_limit_ssh_keys"`
	UsersAPILimitStatus                              int      `json:"users_api_limit_status"`
	UsersGetByIDLimit                                int      `json:"users_get_by_id_limit"`
	MaxLoginAttempts                                 *int     `json:"max_login_attempts"`
	FailedLoginAttemptsUnlockPeriodInMinutes         *int     `json:"failed_login_attempts_unlock_period_in_minutes"`
	SessionExpireDelay                               int      `json:"session_expire_delay"`
	RateLimitingResponseText                         *string  `json:"rate_limiting_response_text"`
	ThrottleUnauthenticatedAPIEnabled                bool     `json:"throttle_unauthenticated_api_enabled"`
	ThrottleUnauthenticatedAPIRequestsPerPeriod      int      `json:"throttle_unauthenticated_api_requests_per_period"`
	ThrottleUnauthenticatedAPIPeriodInSeconds        int      `json:"throttle_unauthenticated_api_period_in_seconds"`
	ThrottleAuthenticatedAPIEnabled                  bool     `json:"throttle_authenticated_api_enabled"`
	ThrottleAuthenticatedAPIRequestsPerPeriod        int      `json:"throttle_authenticated_api_requests_per_period"`
	ThrottleAuthenticatedAPIPeriodInSeconds          int      `json:"throttle_authenticated_api_period_in_seconds"`
	ThrottleUnauthenticatedFilesAPIEnabled           bool     `json:"throttle_unauthenticated_files_api_enabled"`
	ThrottleUnauthenticatedFilesAPIRequestsPerPeriod int      `json:"throttle_unauthenticated_files_api_requests_per_period"`
	ThrottleUnauthenticatedFilesAPIPeriodInSeconds   int      `json:"throttle_unauthenticated_files_api_period_in_seconds"`
	ThrottleAuthenticatedFilesAPIEnabled             bool     `json:"throttle_authenticated_files_api_enabled"`
	ThrottleAuthenticatedFilesAPIRequestsPerPeriod   int      `json:"throttle_authenticated_files_api_requests_per_period"`
	ThrottleAuthenticatedFilesAPIPeriodInSeconds     int      `json:"throttle_authenticated_files_api_period_in_seconds"`
	ThrottleUnauthenticatedEnabled                   bool     `json:"throttle_unauthenticated_enabled"`
	ThrottleUnauthenticatedRequestsPerPeriod         int      `json:"throttle_unauthenticated_requests_per_period"`
	ThrottleUnauthenticatedPeriodInSeconds           int      `json:"throttle_unauthenticated_period_in_seconds"`
	ThrottleAuthenticatedWebEnabled                  bool     `json:"throttle_authenticated_web_enabled"`
	ThrottleAuthenticatedWebRequestsPerPeriod        int      `json:"throttle_authenticated_web_requests_per_period"`
	ThrottleAuthenticatedWebPeriodInSeconds          int      `json:"throttle_authenticated_web_period_in_seconds"`
	ThrottleUnauthenticatedGitHTTPEnabled            bool     `json:"throttle_unauthenticated_git_http_enabled"`
	ThrottleUnauthenticatedGitHTTPRequestsPerPeriod  int      `json:"throttle_unauthenticated_git_http_requests_per_period"`
	ThrottleUnauthenticatedGitHTTPPeriodInSeconds    int      `json:"throttle_unauthenticated_git_http_period_in_seconds"`
	ThrottleAuthenticatedGitHTTPEnabled              bool     `json:"throttle_authenticated_git_http_enabled"`
	ThrottleAuthenticatedGitHTTPRequestsPerPeriod    int      `json:"throttle_authenticated_git_http_requests_per_period"`
	ThrottleAuthenticatedGitHTTPPeriodInSeconds      int      `json:"throttle_authenticated_git_http_period_in_seconds"`
	ThrottleAuthenticatedGitLFSEnabled               bool     `json:"throttle_authenticated_git_lfs_enabled"`
	ThrottleAuthenticatedGitLFSRequestsPerPeriod     int      `json:"throttle_authenticated_git_lfs_requests_per_period"`
	ThrottleAuthenticatedGitLFSPeriodInSeconds       int      `json:"throttle_authenticated_git_lfs_period_in_seconds"`
	AllowRunnerRegistrationToken                     bool     `json:"allow_runner_registration_token"`
	ValidRunnerRegistrars                            []string `json:"valid_runner_registrars"`
	RunnerTokenExpirationInterval                    *int     `json:"runner_token_expiration_interval"`
	GroupRunnerTokenExpirationInterval               *int     `json:"group_runner_token_expiration_interval"`
	ProjectRunnerTokenExpirationInterval             *int     `json:"project_runner_token_expiration_interval"`
	HousekeepingEnabled                              bool     `json:"housekeeping_enabled"`
	HousekeepingOptimizeRepositoryPeriod             int      `json:"housekeeping_optimize_repository_period"`
	PushEventActivitiesLimit                         int      `json:"push_event_activities_limit"`
	GitPushPipelineLimit                             int      `json:"git_push_pipeline_limit"`
	DefaultCIConfigPath                              *string  `json:"default_ci_config_path"`
	DefaultArtifactsExpireIn                         string   `json:"default_artifacts_expire_in"`
	MaxArtifactsSize                                 int      `json:"max_artifacts_size"`
	MaxYAMLSizeBytes                                 int      `json:"max_yaml_size_bytes"`
	KeepLatestArtifact                               bool     `json:"keep_latest_artifact"`
	ArchiveBuilds                                    *string  `json:"archive_builds_in_human_readable"`
}

// settingsEntity shows the settings that something here reads.
type settingsEntity struct {
	ID int64 `json:"id"`
	settingValues
	// Older names of the same values, which clients still read.
	LocalRequests     bool `json:"allow_local_requests_from_hooks_and_services"`
	FullRepack        int  `json:"housekeeping_full_repack_period"`
	GC                int  `json:"housekeeping_gc_period"`
	IncrementalRepack int  `json:"housekeeping_incremental_repack_period"`
	WebEnabled        bool `json:"throttle_unauthenticated_web_enabled"`
	WebRequests       int  `json:"throttle_unauthenticated_web_requests_per_period"`
	WebPeriod         int  `json:"throttle_unauthenticated_web_period_in_seconds"`
}

func newSettingsEntity(s *setting.Settings) settingsEntity {
	period := s.HousekeepingOptimizeRepositoryPeriod
	return settingsEntity{
		ID: 1, settingValues: settingValues(*s), LocalRequests: s.AllowLocalRequestsFromWebHooksAndServices,
		FullRepack: period, GC: period, IncrementalRepack: period,
		WebEnabled: s.ThrottleUnauthenticatedEnabled, WebRequests: s.ThrottleUnauthenticatedRequestsPerPeriod,
		WebPeriod: s.ThrottleUnauthenticatedPeriodInSeconds,
	}
}

func (s *Server) getSettings(ctx context.Context, as authz.Actor, _ struct{}) (settingsEntity, error) {
	found, err := s.Instance.Find(ctx, as)
	if err != nil {
		return settingsEntity{}, err
	}
	return newSettingsEntity(found), nil
}

type updateSettingsParams struct {
	CanCreateGroup                                   *bool           `param:"can_create_group" doc:"New users can create top-level groups"`
	CommitEmailHostname                              api.Opt[string] `param:"commit_email_hostname" doc:"Hostname of private commit emails; null is users.noreply.HOST"`
	DefaultBranchName                                api.Opt[string] `param:"default_branch_name" doc:"Default branch of new repositories"`
	DefaultBranchProtection                          *int            `param:"default_branch_protection" values:"0,1,2,3,4" doc:"Default branch protection level"`
	DefaultGroupVisibility                           *string         `param:"default_group_visibility" values:"private,internal,public" doc:"Default visibility of groups"`
	DefaultProjectCreation                           *int            `param:"default_project_creation" values:"0,1,2,3" doc:"Default project creation protection: 0 no one, 1 Maintainers, 2 Developers and Maintainers, 3 administrators"`
	DefaultProjectVisibility                         *string         `param:"default_project_visibility" values:"private,internal,public" doc:"Default visibility of projects"`
	DefaultProjectsLimit                             *int            `param:"default_projects_limit" doc:"Default limit of personal projects per user"`
	DefaultSnippetVisibility                         *string         `param:"default_snippet_visibility" values:"private,internal,public" doc:"Default visibility of snippets"`
	DelayedGroupDeletion                             *bool           `param:"delayed_group_deletion" doc:"Enable delayed group deletion"`
	DelayedProjectDeletion                           *bool           `param:"delayed_project_deletion" doc:"Enable delayed project deletion"`
	DeletionAdjournedPeriod                          *int            `param:"deletion_adjourned_period" doc:"Days before marked groups and projects are deleted"`
	EmailConfirmationSetting                         *string         `param:"email_confirmation_setting" values:"off,soft,hard" doc:"Email confirmation setting of new users"`
	GravatarEnabled                                  *bool           `param:"gravatar_enabled" doc:"Enable Gravatar"`
	ImportSources                                    api.Strings     `param:"import_sources" doc:"Enabled import sources"`
	AllowLocalRequestsFromWebHooksAndServices        *bool           `param:"allow_local_requests_from_web_hooks_and_services" alias:"allow_local_requests_from_hooks_and_services" doc:"Allow requests to the local network from webhooks and integrations"`
	OutboundLocalRequestsWhitelist                   api.Strings     `param:"outbound_local_requests_whitelist" doc:"Local addresses and domains that webhooks and integrations may access"`
	MaxAttachmentSize                                *int            `param:"max_attachment_size" doc:"Maximum attachment size in MB"`
	SnippetSizeLimit                                 *int            `param:"snippet_size_limit" doc:"Maximum size of a snippet in bytes"`
	WikiPageMaxContentBytes                          *int            `param:"wiki_page_max_content_bytes" doc:"Maximum size of a wiki page in bytes"`
	MinimumPasswordLength                            *int            `param:"minimum_password_length" doc:"Minimum password length"`
	PasswordLowercaseRequired                        *bool           `param:"password_lowercase_required" doc:"Require a lowercase letter in passwords"`
	PasswordUppercaseRequired                        *bool           `param:"password_uppercase_required" doc:"Require an uppercase letter in passwords"`
	PasswordNumberRequired                           *bool           `param:"password_number_required" doc:"Require a number in passwords"`
	PasswordSymbolRequired                           *bool           `param:"password_symbol_required" doc:"Require a symbol in passwords"`
	RestrictedVisibilityLevels                       api.Strings     `param:"restricted_visibility_levels" doc:"Visibility levels restricted to administrators"`
	UserDefaultExternal                              *bool           `param:"user_default_external" doc:"Set new users to external by default"`
	UserDefaultInternalRegex                         api.Opt[string] `param:"user_default_internal_regex" doc:"Regular expression of email addresses of new users who are not external by default"`
	UserDefaultsToPrivateProfile                     *bool           `param:"user_defaults_to_private_profile" doc:"New users have a private profile by default"`
	PreventAuthorApproval                            *bool           `param:"prevent_merge_requests_author_approval" doc:"Prevent approvals by authors of merge requests"`
	PreventCommittersApproval                        *bool           `param:"prevent_merge_requests_committers_approval" doc:"Prevent approvals by committers to merge requests"`
	DisableOverridingApprovers                       *bool           `param:"disable_overriding_approvers_per_merge_request" doc:"Prevent editing approval rules in merge requests"`
	DSAKeyRestriction                                *int            `param:"dsa_key_restriction" values:"-1,0,1024,2048,3072" doc:"Minimum bit length of an uploaded DSA key; 0 allows any, -1 forbids them"`
	ECDSAKeyRestriction                              *int            `param:"ecdsa_key_restriction" values:"-1,0,256,384,521" doc:"Minimum curve size of an uploaded ECDSA key; 0 allows any, -1 forbids them"`
	ECDSASKKeyRestriction                            *int            `param:"ecdsa_sk_key_restriction" values:"-1,0,256" doc:"Minimum curve size of an uploaded ECDSA_SK key; 0 allows any, -1 forbids them"`
	ED25519KeyRestriction                            *int            `param:"ed25519_key_restriction" values:"-1,0,256" doc:"Minimum curve size of an uploaded ED25519 key; 0 allows any, -1 forbids them"`
	ED25519SKKeyRestriction                          *int            `param:"ed25519_sk_key_restriction" values:"-1,0,256" doc:"Minimum curve size of an uploaded ED25519_SK key; 0 allows any, -1 forbids them"`
	RSAKeyRestriction                                *int            `param:"rsa_key_restriction" values:"-1,0,1024,2048,3072,4096" doc:"Minimum bit length of an uploaded RSA key; 0 allows any, -1 forbids them"`
	EnabledGitAccessProtocol                         *string         `param:"enabled_git_access_protocol" values:"ssh,http,all" doc:"Enabled Git access protocol, or all"`
	LFSEnabled                                       *bool           `param:"lfs_enabled" doc:"Enable Git LFS"`
	MaxPersonalAccessTokenLifetime                   api.Opt[int]    `param:"max_personal_access_token_lifetime" doc:"Maximum lifetime of personal access tokens in days"`
	MaxSSHKeyLifetime                                api.Opt[int]    `param:"max_ssh_key_lifetime" doc:"Maximum lifetime of SSH keys in days"`
	PasswordAuthenticationEnabledForGit              *bool           `param:"password_authentication_enabled_for_git" doc:"Allow password authentication for Git over HTTP"`
	PersonalAccessTokenPrefix                        *string         `param:"personal_access_token_prefix" doc:"Prefix of personal access tokens"`
	RequirePersonalAccessTokenExpiry                 *bool           `param:"require_personal_access_token_expiry" doc:"Require an expiry date of personal access tokens"`
	ReceiveMaxInputSize                              api.Opt[int]    `param:"receive_max_input_size" doc:"Maximum push size in MB"`
	RepositorySizeLimit                              *int64          `param:"repository_size_limit" min:"0" max:"1048576" doc:"Size limit of the repository in MB; 0 is unlimited"`
	ProjectStorageLimit                              *int            `param:"project_storage_limit" doc:"Size limit of uploads and Git LFS objects of a project in MB; 0 is unlimited"`
	UserStorageLimit                                 *int            `param:"user_storage_limit" doc:"Size limit of uploads and Git LFS objects of a user in MB; 0 is unlimited"`
	ExternalUserStorageLimit                         *int            `param:"external_user_storage_limit" doc:"Size limit of uploads and Git LFS objects of external users and non-members in projects of others in MB; 0 is unlimited"`
	DiffMaxFiles                                     *int            `param:"diff_max_files" doc:"Maximum files in a diff"`
	DiffMaxLines                                     *int            `param:"diff_max_lines" doc:"Maximum lines in a diff"`
	DiffMaxPatchBytes                                *int            `param:"diff_max_patch_bytes" doc:"Maximum diff patch size in bytes"`
	IssuesCreateLimit                                *int            `param:"issues_create_limit" doc:"Maximum issue creation requests per user per minute"`
	NotesCreateLimit                                 *int            `param:"notes_create_limit" doc:"Maximum note creation requests per user per minute"`
	NotesCreateLimitAllowlist                        api.Strings     `param:"notes_create_limit_allowlist" doc:"Usernames excluded from the note creation limit"`
	RawBlobRequestLimit                              *int            `param:"raw_blob_request_limit" doc:"Maximum raw blob requests per path per minute"`
	SearchRateLimit                                  *int            `param:"search_rate_limit" doc:"Maximum search requests per user per minute"`
	ArchiveRequestLimit                              *int            `param:"archive_request_limit" doc:"Maximum archive downloads of a project per user per minute; 0 is unlimited"`
	ArchiveRequestLimitUnauthenticated               *int            `param:"archive_request_limit_unauthenticated" doc:"Maximum unauthenticated archive downloads of a project per IP address per minute; 0 is unlimited"`
	MembersDeleteLimit                               *int            `param:"members_delete_limit" doc:"Maximum member removals per user per group or project per minute; 0 is unlimited"`
	ProjectImportLimit                               *int            `param:"project_import_limit" doc:"Maximum project imports per user per minute; 0 is unlimited"`
	ProjectsAPIRateLimitUnauthenticated              *int            `param:"projects_api_rate_limit_unauthenticated" doc:"Maximum unauthenticated project list requests per IP address per 10 minutes; 0 is unlimited"`
	SearchRateLimitUnauthenticated                   *int            `param:"search_rate_limit_unauthenticated" doc:"Maximum unauthenticated search requests per IP address per minute; 0 is unlimited"`
	UsersAPILimitFollowers                           *int            `param:"users_api_limit_followers" doc:"Maximum requests of followers per user or IP address per minute; 0 is unlimited"`
	UsersAPILimitFollowing                           *int            `param:"users_api_limit_following" doc:"Maximum requests of followed users per user or IP address per minute; 0 is unlimited"`
	UsersAPILimitGPGKey                              *int            `param:"users_api_limit_gpg_key" doc:"Maximum requests of a GPG key per user or IP address per minute; 0 is unlimited"`
	UsersAPILimitGPGKeys                             *int            `param:"users_api_limit_gpg_keys" doc:"Maximum requests of GPG key lists per user or IP address per minute; 0 is unlimited"`
	UsersAPILimitSSHKey                              *int            `param:"users_api_limit_ssh_key" doc:"Maximum requests of an SSH key per user or IP address per minute; 0 is unlimited"`
	UsersAPILimitSSHKeys                             *int            `param:"users_api_limit_ssh_keys" doc:"Maximum requests of SSH key lists per user or IP address per minute; 0 is unlimited"`
	UsersAPILimitStatus                              *int            `param:"users_api_limit_status" doc:"Maximum requests of user statuses per user or IP address per minute; 0 is unlimited"`
	UsersGetByIDLimit                                *int            `param:"users_get_by_id_limit" doc:"Maximum requests of a user by ID per user per 10 minutes; 0 is unlimited"`
	MaxLoginAttempts                                 api.Opt[int]    `param:"max_login_attempts" doc:"Failed sign-in attempts after which a user is locked; null is 10"`
	FailedLoginAttemptsUnlockPeriodInMinutes         api.Opt[int]    `param:"failed_login_attempts_unlock_period_in_minutes" doc:"Minutes after which a locked user is unlocked; null is 10"`
	SessionExpireDelay                               *int            `param:"session_expire_delay" doc:"Minutes without a request after which a session expires"`
	RateLimitingResponseText                         api.Opt[string] `param:"rate_limiting_response_text" doc:"Response text of rate-limited requests"`
	ThrottleUnauthenticatedAPIEnabled                *bool           `param:"throttle_unauthenticated_api_enabled" doc:"Enable the API rate limit of unauthenticated requests"`
	ThrottleUnauthenticatedAPIRequestsPerPeriod      *int            `param:"throttle_unauthenticated_api_requests_per_period" doc:"Maximum requests per period"`
	ThrottleUnauthenticatedAPIPeriodInSeconds        *int            `param:"throttle_unauthenticated_api_period_in_seconds" doc:"Length of the rate limit period in seconds"`
	ThrottleAuthenticatedAPIEnabled                  *bool           `param:"throttle_authenticated_api_enabled" doc:"Enable the API rate limit of authenticated requests"`
	ThrottleAuthenticatedAPIRequestsPerPeriod        *int            `param:"throttle_authenticated_api_requests_per_period" doc:"Maximum requests per period"`
	ThrottleAuthenticatedAPIPeriodInSeconds          *int            `param:"throttle_authenticated_api_period_in_seconds" doc:"Length of the rate limit period in seconds"`
	ThrottleUnauthenticatedFilesAPIEnabled           *bool           `param:"throttle_unauthenticated_files_api_enabled" doc:"Enable the repository files API rate limit of unauthenticated requests"`
	ThrottleUnauthenticatedFilesAPIRequestsPerPeriod *int            `param:"throttle_unauthenticated_files_api_requests_per_period" doc:"Maximum requests per period"`
	ThrottleUnauthenticatedFilesAPIPeriodInSeconds   *int            `param:"throttle_unauthenticated_files_api_period_in_seconds" doc:"Length of the rate limit period in seconds"`
	ThrottleAuthenticatedFilesAPIEnabled             *bool           `param:"throttle_authenticated_files_api_enabled" doc:"Enable the repository files API rate limit of authenticated requests"`
	ThrottleAuthenticatedFilesAPIRequestsPerPeriod   *int            `param:"throttle_authenticated_files_api_requests_per_period" doc:"Maximum requests per period"`
	ThrottleAuthenticatedFilesAPIPeriodInSeconds     *int            `param:"throttle_authenticated_files_api_period_in_seconds" doc:"Length of the rate limit period in seconds"`
	ThrottleUnauthenticatedEnabled                   *bool           `param:"throttle_unauthenticated_enabled" alias:"throttle_unauthenticated_web_enabled" doc:"Enable the web rate limit of unauthenticated requests"`
	ThrottleUnauthenticatedRequestsPerPeriod         *int            `param:"throttle_unauthenticated_requests_per_period" alias:"throttle_unauthenticated_web_requests_per_period" doc:"Maximum requests per period"`
	ThrottleUnauthenticatedPeriodInSeconds           *int            `param:"throttle_unauthenticated_period_in_seconds" alias:"throttle_unauthenticated_web_period_in_seconds" doc:"Length of the rate limit period in seconds"`
	ThrottleAuthenticatedWebEnabled                  *bool           `param:"throttle_authenticated_web_enabled" doc:"Enable the web rate limit of authenticated requests"`
	ThrottleAuthenticatedWebRequestsPerPeriod        *int            `param:"throttle_authenticated_web_requests_per_period" doc:"Maximum requests per period"`
	ThrottleAuthenticatedWebPeriodInSeconds          *int            `param:"throttle_authenticated_web_period_in_seconds" doc:"Length of the rate limit period in seconds"`
	ThrottleUnauthenticatedGitHTTPEnabled            *bool           `param:"throttle_unauthenticated_git_http_enabled" doc:"Enable the Git HTTP rate limit of unauthenticated requests"`
	ThrottleUnauthenticatedGitHTTPRequestsPerPeriod  *int            `param:"throttle_unauthenticated_git_http_requests_per_period" doc:"Maximum requests per period"`
	ThrottleUnauthenticatedGitHTTPPeriodInSeconds    *int            `param:"throttle_unauthenticated_git_http_period_in_seconds" doc:"Length of the rate limit period in seconds"`
	ThrottleAuthenticatedGitHTTPEnabled              *bool           `param:"throttle_authenticated_git_http_enabled" doc:"Enable the Git HTTP rate limit of authenticated requests"`
	ThrottleAuthenticatedGitHTTPRequestsPerPeriod    *int            `param:"throttle_authenticated_git_http_requests_per_period" doc:"Maximum requests per period"`
	ThrottleAuthenticatedGitHTTPPeriodInSeconds      *int            `param:"throttle_authenticated_git_http_period_in_seconds" doc:"Length of the rate limit period in seconds"`
	ThrottleAuthenticatedGitLFSEnabled               *bool           `param:"throttle_authenticated_git_lfs_enabled" doc:"Enable the Git LFS rate limit of authenticated requests"`
	ThrottleAuthenticatedGitLFSRequestsPerPeriod     *int            `param:"throttle_authenticated_git_lfs_requests_per_period" doc:"Maximum requests per period"`
	ThrottleAuthenticatedGitLFSPeriodInSeconds       *int            `param:"throttle_authenticated_git_lfs_period_in_seconds" doc:"Length of the rate limit period in seconds"`
	AllowRunnerRegistrationToken                     *bool           `param:"allow_runner_registration_token" doc:"Allow registering runners with a registration token"`
	ValidRunnerRegistrars                            api.Strings     `param:"valid_runner_registrars" doc:"Kinds of places whose registration tokens register runners: project, group"`
	RunnerTokenExpirationInterval                    api.Opt[int]    `param:"runner_token_expiration_interval" doc:"Seconds after which new authentication tokens of instance runners expire; null is never"`
	GroupRunnerTokenExpirationInterval               api.Opt[int]    `param:"group_runner_token_expiration_interval" doc:"Seconds after which new authentication tokens of group runners expire; null is never"`
	ProjectRunnerTokenExpirationInterval             api.Opt[int]    `param:"project_runner_token_expiration_interval" doc:"Seconds after which new authentication tokens of project runners expire; null is never"`
	HousekeepingEnabled                              *bool           `param:"housekeeping_enabled" doc:"Enable housekeeping"`
	HousekeepingOptimizeRepositoryPeriod             *int            `param:"housekeeping_optimize_repository_period" alias:"housekeeping_incremental_repack_period" doc:"Number of pushes after which housekeeping runs"`
	PushEventActivitiesLimit                         *int            `param:"push_event_activities_limit" doc:"Maximum references of a push with an event each"`
	GitPushPipelineLimit                             *int            `param:"git_push_pipeline_limit" doc:"Maximum branches and tags of one push that create pipelines; 0 is any"`
	DefaultCIConfigPath                              api.Opt[string] `param:"default_ci_config_path" doc:"Default CI/CD configuration file of projects"`
	DefaultArtifactsExpireIn                         *string         `param:"default_artifacts_expire_in" doc:"Default expiration time of job artifacts, such as 30 days"`
	MaxArtifactsSize                                 *int            `param:"max_artifacts_size" doc:"Maximum size of job artifacts in MB"`
	MaxYAMLSizeBytes                                 *int            `param:"max_yaml_size_bytes" doc:"Maximum size of a CI/CD configuration file in bytes"`
	KeepLatestArtifact                               *bool           `param:"keep_latest_artifact" doc:"Keep the artifacts of the latest successful pipeline of each reference"`
	ArchiveBuilds                                    api.Opt[string] `param:"archive_builds_in_human_readable" doc:"Age after which jobs are archived and cannot be run again, such as 1 month; at least 1 day, empty is never"`

	Others api.Undeclared // settings that are not stored, and what is none
}

// values returns what was sent by the names of the settings, in their units.
func (p updateSettingsParams) values() map[string]any {
	if p.RepositorySizeLimit != nil {
		bytes := *p.RepositorySizeLimit << 20
		p.RepositorySizeLimit = &bytes
	}
	if p.EnabledGitAccessProtocol != nil && *p.EnabledGitAccessProtocol == "all" {
		p.EnabledGitAccessProtocol = new(string)
	}
	for _, text := range []*api.Opt[string]{&p.CommitEmailHostname, &p.DefaultBranchName, &p.UserDefaultInternalRegex, &p.RateLimitingResponseText, &p.DefaultCIConfigPath} {
		text.Null = text.Null || text.Value == ""
	}
	sent := map[string]any{}
	v := reflect.ValueOf(p)
	for i := range v.NumField() {
		name := v.Type().Field(i).Tag.Get("param")
		if name == "" {
			continue // the others
		}
		switch value := v.Field(i).Interface().(type) {
		case api.Opt[string]:
			if value.Set {
				sent[name] = value.Ptr()
			}
		case api.Opt[int]:
			if value.Set {
				sent[name] = value.Ptr()
			}
		default:
			if !v.Field(i).IsNil() {
				sent[name] = value
			}
		}
	}
	for _, name := range p.Others {
		sent[name] = nil
	}
	return sent
}

// needsOne is the refusal of a call that sends no setting at all.
func (p updateSettingsParams) needsOne() error {
	var names []string
	for f := range reflect.TypeOf(p).Fields() {
		if name := f.Tag.Get("param"); name != "" {
			names = append(names, name)
		}
	}
	return &api.Refusal{Status: http.StatusBadRequest, Text: strings.Join(names, ", ") + " are missing, at least one parameter must be provided"}
}

func (s *Server) updateSettings(ctx context.Context, as authz.Actor, p updateSettingsParams) (settingsEntity, error) {
	changed, err := s.Instance.Update(ctx, as, p.values())
	if errors.Is(err, setting.ErrNothing) {
		err = p.needsOne()
	}
	if err != nil {
		return settingsEntity{}, err
	}
	return newSettingsEntity(changed), nil
}

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
		api.Get("/application/settings", s.getSettings).Doc("Show the settings of the instance").Needs(authz.AdminSettings),
		api.Put("/application/settings", s.updateSettings).Timed().Doc("Change settings of the instance").Needs(authz.AdminSettings),
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
	MinimumPasswordLength                            int      `json:"minimum_password_length"`
	PasswordLowercaseRequired                        bool     `json:"password_lowercase_required"`
	PasswordUppercaseRequired                        bool     `json:"password_uppercase_required"`
	PasswordNumberRequired                           bool     `json:"password_number_required"`
	PasswordSymbolRequired                           bool     `json:"password_symbol_required"`
	RestrictedVisibilityLevels                       []string `json:"restricted_visibility_levels"`
	UserDefaultExternal                              bool     `json:"user_default_external"`
	UserDefaultInternalRegex                         *string  `json:"user_default_internal_regex"`
	UserDefaultsToPrivateProfile                     bool     `json:"user_defaults_to_private_profile"`
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
	HousekeepingEnabled                              bool     `json:"housekeeping_enabled"`
	HousekeepingOptimizeRepositoryPeriod             int      `json:"housekeeping_optimize_repository_period"`
	PushEventActivitiesLimit                         int      `json:"push_event_activities_limit"`
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
	CanCreateGroup                                   *bool           `param:"can_create_group" doc:"New users may create top-level groups"`
	CommitEmailHostname                              api.Opt[string] `param:"commit_email_hostname" doc:"Host of private commit addresses; null is users.noreply.HOST"`
	DefaultBranchName                                api.Opt[string] `param:"default_branch_name" doc:"Name of the first branch of new repositories"`
	DefaultBranchProtection                          *int            `param:"default_branch_protection" values:"0,1,2,3,4" doc:"How default branches of new projects are protected"`
	DefaultGroupVisibility                           *string         `param:"default_group_visibility" values:"private,internal,public" doc:"Visibility of new groups"`
	DefaultProjectCreation                           *int            `param:"default_project_creation" values:"0,1,2,3" doc:"Who creates projects in new groups: 0 nobody, 1 maintainers, 2 developers too, 3 administrators"`
	DefaultProjectVisibility                         *string         `param:"default_project_visibility" values:"private,internal,public" doc:"Visibility of new projects"`
	DefaultProjectsLimit                             *int            `param:"default_projects_limit" doc:"How many personal projects a new user may have"`
	DefaultSnippetVisibility                         *string         `param:"default_snippet_visibility" values:"private,internal,public" doc:"Visibility of new snippets"`
	DelayedGroupDeletion                             *bool           `param:"delayed_group_deletion" doc:"Groups wait before they are deleted"`
	DelayedProjectDeletion                           *bool           `param:"delayed_project_deletion" doc:"Projects wait before they are deleted"`
	DeletionAdjournedPeriod                          *int            `param:"deletion_adjourned_period" doc:"How many days they wait"`
	EmailConfirmationSetting                         *string         `param:"email_confirmation_setting" values:"off,soft,hard" doc:"Whether new users confirm their address"`
	GravatarEnabled                                  *bool           `param:"gravatar_enabled" doc:"Show pictures of gravatar.com"`
	ImportSources                                    api.Strings     `param:"import_sources" doc:"Where projects may be imported from"`
	AllowLocalRequestsFromWebHooksAndServices        *bool           `param:"allow_local_requests_from_web_hooks_and_services" alias:"allow_local_requests_from_hooks_and_services" doc:"Hooks and imports may reach the local network"`
	OutboundLocalRequestsWhitelist                   api.Strings     `param:"outbound_local_requests_whitelist" doc:"Addresses of the local network that may always be reached"`
	MaxAttachmentSize                                *int            `param:"max_attachment_size" doc:"Largest upload in MB"`
	MinimumPasswordLength                            *int            `param:"minimum_password_length" doc:"Fewest characters of a password"`
	PasswordLowercaseRequired                        *bool           `param:"password_lowercase_required" doc:"Passwords need a lower-case letter"`
	PasswordUppercaseRequired                        *bool           `param:"password_uppercase_required" doc:"Passwords need an upper-case letter"`
	PasswordNumberRequired                           *bool           `param:"password_number_required" doc:"Passwords need a digit"`
	PasswordSymbolRequired                           *bool           `param:"password_symbol_required" doc:"Passwords need a symbol"`
	RestrictedVisibilityLevels                       api.Strings     `param:"restricted_visibility_levels" doc:"Visibilities that only administrators may give"`
	UserDefaultExternal                              *bool           `param:"user_default_external" doc:"New users are external"`
	UserDefaultInternalRegex                         api.Opt[string] `param:"user_default_internal_regex" doc:"Addresses of new users who are not external all the same"`
	UserDefaultsToPrivateProfile                     *bool           `param:"user_defaults_to_private_profile" doc:"Profiles of new users are private"`
	DSAKeyRestriction                                *int            `param:"dsa_key_restriction" values:"-1,0,1024,2048,3072" doc:"Fewest bits of DSA keys; 0 allows any, -1 none"`
	ECDSAKeyRestriction                              *int            `param:"ecdsa_key_restriction" values:"-1,0,256,384,521" doc:"Fewest bits of ECDSA keys; 0 allows any, -1 none"`
	ECDSASKKeyRestriction                            *int            `param:"ecdsa_sk_key_restriction" values:"-1,0,256" doc:"Fewest bits of ECDSA_SK keys; 0 allows any, -1 none"`
	ED25519KeyRestriction                            *int            `param:"ed25519_key_restriction" values:"-1,0,256" doc:"Fewest bits of ED25519 keys; 0 allows any, -1 none"`
	ED25519SKKeyRestriction                          *int            `param:"ed25519_sk_key_restriction" values:"-1,0,256" doc:"Fewest bits of ED25519_SK keys; 0 allows any, -1 none"`
	RSAKeyRestriction                                *int            `param:"rsa_key_restriction" values:"-1,0,1024,2048,3072,4096" doc:"Fewest bits of RSA keys; 0 allows any, -1 none"`
	EnabledGitAccessProtocol                         *string         `param:"enabled_git_access_protocol" values:"ssh,http,all" doc:"The one protocol that git may use, or all"`
	LFSEnabled                                       *bool           `param:"lfs_enabled" doc:"Git LFS is on"`
	MaxPersonalAccessTokenLifetime                   api.Opt[int]    `param:"max_personal_access_token_lifetime" doc:"Longest life of a personal access token in days"`
	MaxSSHKeyLifetime                                api.Opt[int]    `param:"max_ssh_key_lifetime" doc:"Longest life of an SSH key in days"`
	PasswordAuthenticationEnabledForGit              *bool           `param:"password_authentication_enabled_for_git" doc:"Passwords work for git over HTTP"`
	PersonalAccessTokenPrefix                        *string         `param:"personal_access_token_prefix" doc:"What new personal access tokens begin with"`
	RequirePersonalAccessTokenExpiry                 *bool           `param:"require_personal_access_token_expiry" doc:"Access tokens end one day"`
	ReceiveMaxInputSize                              api.Opt[int]    `param:"receive_max_input_size" doc:"Largest push in MB"`
	RepositorySizeLimit                              *int64          `param:"repository_size_limit" min:"0" max:"1048576" doc:"Largest repository in MB; 0 allows any"`
	DiffMaxFiles                                     *int            `param:"diff_max_files" doc:"Most files of a diff"`
	DiffMaxLines                                     *int            `param:"diff_max_lines" doc:"Most lines of a diff"`
	DiffMaxPatchBytes                                *int            `param:"diff_max_patch_bytes" doc:"Largest diff of one file in bytes"`
	IssuesCreateLimit                                *int            `param:"issues_create_limit" doc:"Issues that a user may create in a minute"`
	NotesCreateLimit                                 *int            `param:"notes_create_limit" doc:"Notes that a user may create in a minute"`
	NotesCreateLimitAllowlist                        api.Strings     `param:"notes_create_limit_allowlist" doc:"Users without that limit"`
	RawBlobRequestLimit                              *int            `param:"raw_blob_request_limit" doc:"Requests for one raw file in a minute"`
	SearchRateLimit                                  *int            `param:"search_rate_limit" doc:"Searches of a user in a minute"`
	ArchiveRequestLimit                              *int            `param:"archive_request_limit" doc:"Downloads of archives of a project by a user in a minute; 0 allows any number"`
	ArchiveRequestLimitUnauthenticated               *int            `param:"archive_request_limit_unauthenticated" doc:"Downloads of archives of a project from an address in a minute; 0 allows any number"`
	MembersDeleteLimit                               *int            `param:"members_delete_limit" doc:"Members of a place that a user may remove in a minute; 0 allows any number"`
	ProjectImportLimit                               *int            `param:"project_import_limit" doc:"Imports that a user may start in a minute; 0 allows any number"`
	ProjectsAPIRateLimitUnauthenticated              *int            `param:"projects_api_rate_limit_unauthenticated" doc:"Lists of projects from an address in ten minutes; 0 allows any number"`
	SearchRateLimitUnauthenticated                   *int            `param:"search_rate_limit_unauthenticated" doc:"Searches from an address in a minute; 0 allows any number"`
	UsersAPILimitFollowers                           *int            `param:"users_api_limit_followers" doc:"Requests of a caller for followers in a minute; 0 allows any number"`
	UsersAPILimitFollowing                           *int            `param:"users_api_limit_following" doc:"Requests of a caller for whom users follow in a minute; 0 allows any number"`
	UsersAPILimitGPGKey                              *int            `param:"users_api_limit_gpg_key" doc:"Requests of a caller for a GPG key in a minute; 0 allows any number"`
	UsersAPILimitGPGKeys                             *int            `param:"users_api_limit_gpg_keys" doc:"Requests of a caller for GPG keys in a minute; 0 allows any number"`
	UsersAPILimitSSHKey                              *int            `param:"users_api_limit_ssh_key" doc:"Requests of a caller for an SSH key in a minute; 0 allows any number"`
	UsersAPILimitSSHKeys                             *int            `param:"users_api_limit_ssh_keys" doc:"Requests of a caller for SSH keys in a minute; 0 allows any number"`
	UsersAPILimitStatus                              *int            `param:"users_api_limit_status" doc:"Requests of a caller for the status of users in a minute; 0 allows any number"`
	UsersGetByIDLimit                                *int            `param:"users_get_by_id_limit" doc:"Users that a user may look up in ten minutes; 0 allows any number"`
	MaxLoginAttempts                                 api.Opt[int]    `param:"max_login_attempts" doc:"Wrong passwords after which an account is locked; 10 where it is null"`
	FailedLoginAttemptsUnlockPeriodInMinutes         api.Opt[int]    `param:"failed_login_attempts_unlock_period_in_minutes" doc:"For how long it is; 10 where it is null"`
	RateLimitingResponseText                         api.Opt[string] `param:"rate_limiting_response_text" doc:"What throttled callers read"`
	ThrottleUnauthenticatedAPIEnabled                *bool           `param:"throttle_unauthenticated_api_enabled" doc:"Bound the API by callers who are not signed on"`
	ThrottleUnauthenticatedAPIRequestsPerPeriod      *int            `param:"throttle_unauthenticated_api_requests_per_period" doc:"How many requests in a period"`
	ThrottleUnauthenticatedAPIPeriodInSeconds        *int            `param:"throttle_unauthenticated_api_period_in_seconds" doc:"How long a period is"`
	ThrottleAuthenticatedAPIEnabled                  *bool           `param:"throttle_authenticated_api_enabled" doc:"Bound the API by users"`
	ThrottleAuthenticatedAPIRequestsPerPeriod        *int            `param:"throttle_authenticated_api_requests_per_period" doc:"How many requests in a period"`
	ThrottleAuthenticatedAPIPeriodInSeconds          *int            `param:"throttle_authenticated_api_period_in_seconds" doc:"How long a period is"`
	ThrottleUnauthenticatedFilesAPIEnabled           *bool           `param:"throttle_unauthenticated_files_api_enabled" doc:"Bound files of repositories by callers who are not signed on"`
	ThrottleUnauthenticatedFilesAPIRequestsPerPeriod *int            `param:"throttle_unauthenticated_files_api_requests_per_period" doc:"How many requests in a period"`
	ThrottleUnauthenticatedFilesAPIPeriodInSeconds   *int            `param:"throttle_unauthenticated_files_api_period_in_seconds" doc:"How long a period is"`
	ThrottleAuthenticatedFilesAPIEnabled             *bool           `param:"throttle_authenticated_files_api_enabled" doc:"Bound files of repositories by users"`
	ThrottleAuthenticatedFilesAPIRequestsPerPeriod   *int            `param:"throttle_authenticated_files_api_requests_per_period" doc:"How many requests in a period"`
	ThrottleAuthenticatedFilesAPIPeriodInSeconds     *int            `param:"throttle_authenticated_files_api_period_in_seconds" doc:"How long a period is"`
	ThrottleUnauthenticatedEnabled                   *bool           `param:"throttle_unauthenticated_enabled" alias:"throttle_unauthenticated_web_enabled" doc:"Bound pages and git by callers who are not signed on"`
	ThrottleUnauthenticatedRequestsPerPeriod         *int            `param:"throttle_unauthenticated_requests_per_period" alias:"throttle_unauthenticated_web_requests_per_period" doc:"How many requests in a period"`
	ThrottleUnauthenticatedPeriodInSeconds           *int            `param:"throttle_unauthenticated_period_in_seconds" alias:"throttle_unauthenticated_web_period_in_seconds" doc:"How long a period is"`
	ThrottleAuthenticatedWebEnabled                  *bool           `param:"throttle_authenticated_web_enabled" doc:"Bound pages and git by users"`
	ThrottleAuthenticatedWebRequestsPerPeriod        *int            `param:"throttle_authenticated_web_requests_per_period" doc:"How many requests in a period"`
	ThrottleAuthenticatedWebPeriodInSeconds          *int            `param:"throttle_authenticated_web_period_in_seconds" doc:"How long a period is"`
	ThrottleUnauthenticatedGitHTTPEnabled            *bool           `param:"throttle_unauthenticated_git_http_enabled" doc:"Bound git by callers who are not signed on"`
	ThrottleUnauthenticatedGitHTTPRequestsPerPeriod  *int            `param:"throttle_unauthenticated_git_http_requests_per_period" doc:"How many requests in a period"`
	ThrottleUnauthenticatedGitHTTPPeriodInSeconds    *int            `param:"throttle_unauthenticated_git_http_period_in_seconds" doc:"How long a period is"`
	ThrottleAuthenticatedGitHTTPEnabled              *bool           `param:"throttle_authenticated_git_http_enabled" doc:"Bound git by users"`
	ThrottleAuthenticatedGitHTTPRequestsPerPeriod    *int            `param:"throttle_authenticated_git_http_requests_per_period" doc:"How many requests in a period"`
	ThrottleAuthenticatedGitHTTPPeriodInSeconds      *int            `param:"throttle_authenticated_git_http_period_in_seconds" doc:"How long a period is"`
	ThrottleAuthenticatedGitLFSEnabled               *bool           `param:"throttle_authenticated_git_lfs_enabled" doc:"Bound large files of git by users"`
	ThrottleAuthenticatedGitLFSRequestsPerPeriod     *int            `param:"throttle_authenticated_git_lfs_requests_per_period" doc:"How many requests in a period"`
	ThrottleAuthenticatedGitLFSPeriodInSeconds       *int            `param:"throttle_authenticated_git_lfs_period_in_seconds" doc:"How long a period is"`
	HousekeepingEnabled                              *bool           `param:"housekeeping_enabled" doc:"Repositories are tidied in the background"`
	HousekeepingOptimizeRepositoryPeriod             *int            `param:"housekeeping_optimize_repository_period" alias:"housekeeping_incremental_repack_period" doc:"After how many pushes a repository is tidied"`
	PushEventActivitiesLimit                         *int            `param:"push_event_activities_limit" doc:"Refs of one push that become activities of their own"`

	Others api.Undeclared // settings that are not stored, and what is none
}

// values gives what was sent by the names of the settings, in their units.
func (p updateSettingsParams) values() map[string]any {
	if p.RepositorySizeLimit != nil {
		bytes := *p.RepositorySizeLimit << 20
		p.RepositorySizeLimit = &bytes
	}
	if p.EnabledGitAccessProtocol != nil && *p.EnabledGitAccessProtocol == "all" {
		p.EnabledGitAccessProtocol = new(string)
	}
	for _, text := range []*api.Opt[string]{&p.CommitEmailHostname, &p.DefaultBranchName, &p.UserDefaultInternalRegex, &p.RateLimitingResponseText} {
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

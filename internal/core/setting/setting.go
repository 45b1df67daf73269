// Package setting keeps the instance's settings: typed, with the contract's defaults,
// one row for each value that differs from its default.
package setting

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"sync"
	"sync/atomic"
	"time"

	"tenon/internal/base/db"
)

// Settings are the instance's settings by name. Only
// those that something reads are here; each default is the contract's.
type Settings struct {
	// Names, places and people.
	CanCreateGroup           bool    `setting:"can_create_group" default:"true"`
	CommitEmailHostname      *string `setting:"commit_email_hostname" default:"null"` // nil is users.noreply.HOST
	DefaultBranchName        *string `setting:"default_branch_name" default:"null"`   // nil is main
	DefaultBranchProtection  int     `setting:"default_branch_protection" default:"2"`
	DefaultGroupVisibility   string  `setting:"default_group_visibility" default:"\"private\""`
	DefaultProjectCreation   int     `setting:"default_project_creation" default:"2"`
	DefaultProjectVisibility string  `setting:"default_project_visibility" default:"\"private\""`
	DefaultProjectsLimit     int     `setting:"default_projects_limit" default:"100000"`
	DefaultSnippetVisibility string  `setting:"default_snippet_visibility" default:"\"private\""`
	DelayedGroupDeletion     bool    `setting:"delayed_group_deletion" default:"true"`
	DelayedProjectDeletion   bool    `setting:"delayed_project_deletion" default:"false"` // needs the one before
	DeletionAdjournedPeriod  int     `setting:"deletion_adjourned_period" default:"7"`    // days
	EmailConfirmationSetting string  `setting:"email_confirmation_setting" default:"\"off\""`
	GravatarEnabled          bool    `setting:"gravatar_enabled" default:"true"`
	// Ours: the contract allows no source at first.
	ImportSources                             []string `setting:"import_sources" default:"[\"git\"]"`
	AllowLocalRequestsFromWebHooksAndServices bool     `setting:"allow_local_requests_from_web_hooks_and_services" default:"false"`
	OutboundLocalRequestsWhitelist            []string `setting:"outbound_local_requests_whitelist" default:"[]"`

	MaxAttachmentSize            int      `setting:"max_attachment_size" default:"100"`             // MB
	SnippetSizeLimit             int      `setting:"snippet_size_limit" default:"52428800"`         // bytes
	WikiPageMaxContentBytes      int      `setting:"wiki_page_max_content_bytes" default:"5242880"` // bytes
	MinimumPasswordLength        int      `setting:"minimum_password_length" default:"8"`
	PasswordLowercaseRequired    bool     `setting:"password_lowercase_required" default:"false"`
	PasswordUppercaseRequired    bool     `setting:"password_uppercase_required" default:"false"`
	PasswordNumberRequired       bool     `setting:"password_number_required" default:"false"`
	PasswordSymbolRequired       bool     `setting:"password_symbol_required" default:"false"`
	RestrictedVisibilityLevels   []string `setting:"restricted_visibility_levels" default:"[]"`
	UserDefaultExternal          bool     `setting:"user_default_external" default:"false"`
	UserDefaultInternalRegex     *string  `setting:"user_default_internal_regex" default:"null"`
	UserDefaultsToPrivateProfile bool     `setting:"user_defaults_to_private_profile" default:"false"`

	// Approvals of merge requests.
	PreventAuthorApproval      bool `setting:"prevent_merge_requests_author_approval" default:"false"`
	PreventCommittersApproval  bool `setting:"prevent_merge_requests_committers_approval" default:"false"`
	DisableOverridingApprovers bool `setting:"disable_overriding_approvers_per_merge_request" default:"false"`

	// Tokens and transport.
	DSAKeyRestriction                   int    `setting:"dsa_key_restriction" default:"0"` // least bits of SSH keys; 0 is any, -1 forbids the type
	ECDSAKeyRestriction                 int    `setting:"ecdsa_key_restriction" default:"0"`
	ECDSASKKeyRestriction               int    `setting:"ecdsa_sk_key_restriction" default:"0"`
	ED25519KeyRestriction               int    `setting:"ed25519_key_restriction" default:"0"`
	ED25519SKKeyRestriction             int    `setting:"ed25519_sk_key_restriction" default:"0"`
	RSAKeyRestriction                   int    `setting:"rsa_key_restriction" default:"0"`
	EnabledGitAccessProtocol            string `setting:"enabled_git_access_protocol" default:"\"\""`
	LFSEnabled                          bool   `setting:"lfs_enabled" default:"true"`                        // ours: Git LFS at all
	MaxPersonalAccessTokenLifetime      *int   `setting:"max_personal_access_token_lifetime" default:"null"` // days
	MaxSSHKeyLifetime                   *int   `setting:"max_ssh_key_lifetime" default:"null"`               // days
	PasswordAuthenticationEnabledForGit bool   `setting:"password_authentication_enabled_for_git" default:"true"`
	PersonalAccessTokenPrefix           string `setting:"personal_access_token_prefix" default:"\"glpat-\""`
	RequirePersonalAccessTokenExpiry    bool   `setting:"require_personal_access_token_expiry" default:"true"`
	ReceiveMaxInputSize                 *int   `setting:"receive_max_input_size" default:"null"` // MB
	RepositorySizeLimit                 int64  `setting:"repository_size_limit" default:"0"`     // bytes
	// Ours: MB of attached files and large objects; 0 is any number. The last one is of
	// external users, and of those who are no members, in projects of others.
	ProjectStorageLimit      int      `setting:"project_storage_limit" default:"0"`
	UserStorageLimit         int      `setting:"user_storage_limit" default:"0"`
	ExternalUserStorageLimit int      `setting:"external_user_storage_limit" default:"1024"`
	RepositoryStorages       []string `setting:"repository_storages" default:"[\"default\"]"`

	// Diffs and changelogs.
	DiffMaxFiles      int `setting:"diff_max_files" default:"1000"`
	DiffMaxLines      int `setting:"diff_max_lines" default:"50000"`
	DiffMaxPatchBytes int `setting:"diff_max_patch_bytes" default:"204800"`

	// Limits per minute; zero switches one off.
	IssuesCreateLimit                   int      `setting:"issues_create_limit" default:"300"`
	NotesCreateLimit                    int      `setting:"notes_create_limit" default:"300"`
	NotesCreateLimitAllowlist           []string `setting:"notes_create_limit_allowlist" default:"[]"`
	RawBlobRequestLimit                 int      `setting:"raw_blob_request_limit" default:"300"`
	SearchRateLimit                     int      `setting:"search_rate_limit" default:"30"`
	ArchiveRequestLimit                 int      `setting:"archive_request_limit" default:"0"`                   // ours
	ArchiveRequestLimitUnauthenticated  int      `setting:"archive_request_limit_unauthenticated" default:"100"` // ours
	MembersDeleteLimit                  int      `setting:"members_delete_limit" default:"60"`
	ProjectImportLimit                  int      `setting:"project_import_limit" default:"6"`
	ProjectsAPIRateLimitUnauthenticated int      `setting:"projects_api_rate_limit_unauthenticated" default:"400"` // per ten minutes
	SearchRateLimitUnauthenticated      int      `setting:"search_rate_limit_unauthenticated" default:"10"`
	UsersAPILimitFollowers              int      `setting:"users_api_limit_followers" default:"100"`
	UsersAPILimitFollowing              int      `setting:"users_api_limit_following" default:"100"`
	UsersAPILimitGPGKey                 int      `setting:"users_api_limit_gpg_key" default:"120"`
	UsersAPILimitGPGKeys                int      `setting:"users_api_limit_gpg_keys" default:"120"`
	UsersAPILimitSSHKey                 int      `setting:"users_api_limit_ssh_key" default:"120"`
	UsersAPILimitSSHKeys                int      `setting:"users_api_limit_ssh_keys" default:"120"`
	UsersAPILimitStatus                 int      `setting:"users_api_limit_status" default:"240"`
	UsersGetByIDLimit                   int      `setting:"users_get_by_id_limit" default:"300"` // per ten minutes

	// Sign-on; nil is ten attempts and ten minutes.
	MaxLoginAttempts                         *int `setting:"max_login_attempts" default:"null"`
	FailedLoginAttemptsUnlockPeriodInMinutes *int `setting:"failed_login_attempts_unlock_period_in_minutes" default:"null"`
	SessionExpireDelay                       int  `setting:"session_expire_delay" default:"10080"` // minutes without a request

	// Throttles of whole kinds of requests.
	RateLimitingResponseText                         *string `setting:"rate_limiting_response_text" default:"null"` // nil is "Retry later"
	ThrottleUnauthenticatedAPIEnabled                bool    `setting:"throttle_unauthenticated_api_enabled" default:"false"`
	ThrottleUnauthenticatedAPIRequestsPerPeriod      int     `setting:"throttle_unauthenticated_api_requests_per_period" default:"3600"`
	ThrottleUnauthenticatedAPIPeriodInSeconds        int     `setting:"throttle_unauthenticated_api_period_in_seconds" default:"3600"`
	ThrottleAuthenticatedAPIEnabled                  bool    `setting:"throttle_authenticated_api_enabled" default:"false"`
	ThrottleAuthenticatedAPIRequestsPerPeriod        int     `setting:"throttle_authenticated_api_requests_per_period" default:"7200"`
	ThrottleAuthenticatedAPIPeriodInSeconds          int     `setting:"throttle_authenticated_api_period_in_seconds" default:"3600"`
	ThrottleUnauthenticatedFilesAPIEnabled           bool    `setting:"throttle_unauthenticated_files_api_enabled" default:"false"`
	ThrottleUnauthenticatedFilesAPIRequestsPerPeriod int     `setting:"throttle_unauthenticated_files_api_requests_per_period" default:"125"`
	ThrottleUnauthenticatedFilesAPIPeriodInSeconds   int     `setting:"throttle_unauthenticated_files_api_period_in_seconds" default:"15"`
	ThrottleAuthenticatedFilesAPIEnabled             bool    `setting:"throttle_authenticated_files_api_enabled" default:"false"`
	ThrottleAuthenticatedFilesAPIRequestsPerPeriod   int     `setting:"throttle_authenticated_files_api_requests_per_period" default:"500"`
	ThrottleAuthenticatedFilesAPIPeriodInSeconds     int     `setting:"throttle_authenticated_files_api_period_in_seconds" default:"15"`
	ThrottleUnauthenticatedEnabled                   bool    `setting:"throttle_unauthenticated_enabled" default:"false"`
	ThrottleUnauthenticatedRequestsPerPeriod         int     `setting:"throttle_unauthenticated_requests_per_period" default:"3600"`
	ThrottleUnauthenticatedPeriodInSeconds           int     `setting:"throttle_unauthenticated_period_in_seconds" default:"3600"`
	ThrottleAuthenticatedWebEnabled                  bool    `setting:"throttle_authenticated_web_enabled" default:"false"`
	ThrottleAuthenticatedWebRequestsPerPeriod        int     `setting:"throttle_authenticated_web_requests_per_period" default:"7200"`
	ThrottleAuthenticatedWebPeriodInSeconds          int     `setting:"throttle_authenticated_web_period_in_seconds" default:"3600"`
	ThrottleUnauthenticatedGitHTTPEnabled            bool    `setting:"throttle_unauthenticated_git_http_enabled" default:"false"`
	ThrottleUnauthenticatedGitHTTPRequestsPerPeriod  int     `setting:"throttle_unauthenticated_git_http_requests_per_period" default:"3600"`
	ThrottleUnauthenticatedGitHTTPPeriodInSeconds    int     `setting:"throttle_unauthenticated_git_http_period_in_seconds" default:"3600"`
	ThrottleAuthenticatedGitHTTPEnabled              bool    `setting:"throttle_authenticated_git_http_enabled" default:"false"`
	ThrottleAuthenticatedGitHTTPRequestsPerPeriod    int     `setting:"throttle_authenticated_git_http_requests_per_period" default:"3600"`
	ThrottleAuthenticatedGitHTTPPeriodInSeconds      int     `setting:"throttle_authenticated_git_http_period_in_seconds" default:"3600"`
	ThrottleAuthenticatedGitLFSEnabled               bool    `setting:"throttle_authenticated_git_lfs_enabled" default:"false"`
	ThrottleAuthenticatedGitLFSRequestsPerPeriod     int     `setting:"throttle_authenticated_git_lfs_requests_per_period" default:"1000"`
	ThrottleAuthenticatedGitLFSPeriodInSeconds       int     `setting:"throttle_authenticated_git_lfs_period_in_seconds" default:"60"`

	// Runners; the intervals are seconds, nil is never.
	AllowRunnerRegistrationToken         bool     `setting:"allow_runner_registration_token" default:"true"`
	ValidRunnerRegistrars                []string `setting:"valid_runner_registrars" default:"[\"project\",\"group\"]"`
	RunnerTokenExpirationInterval        *int     `setting:"runner_token_expiration_interval" default:"null"`
	GroupRunnerTokenExpirationInterval   *int     `setting:"group_runner_token_expiration_interval" default:"null"`
	ProjectRunnerTokenExpirationInterval *int     `setting:"project_runner_token_expiration_interval" default:"null"`

	// Housekeeping: after every how many pushes a repository is looked at.
	HousekeepingEnabled                  bool `setting:"housekeeping_enabled" default:"true"`
	HousekeepingOptimizeRepositoryPeriod int  `setting:"housekeeping_optimize_repository_period" default:"10"`

	PushEventActivitiesLimit int `setting:"push_event_activities_limit" default:"3"`

	// CI/CD.
	GitPushPipelineLimit     int     `setting:"git_push_pipeline_limit" default:"4"` // branches and tags of one push; 0 is any
	DefaultCIConfigPath      *string `setting:"default_ci_config_path" default:"null"`
	DefaultArtifactsExpireIn string  `setting:"default_artifacts_expire_in" default:"\"30 days\""`
	MaxArtifactsSize         int     `setting:"max_artifacts_size" default:"100"`      // MB
	MaxYAMLSizeBytes         int     `setting:"max_yaml_size_bytes" default:"2097152"` // of one file of a configuration
	KeepLatestArtifact       bool    `setting:"keep_latest_artifact" default:"true"`
	ArchiveBuilds            *string `setting:"archive_builds_in_human_readable" default:"null"` // age of jobs that are not run again; "" is none
}

// Branch gives the name a new repository's first branch gets.
func (s *Settings) Branch() string {
	if s.DefaultBranchName == nil || *s.DefaultBranchName == "" {
		return "main"
	}
	return *s.DefaultBranchName
}

// Store reads and writes the settings. It is safe for concurrent use.
type Store struct {
	db      *db.DB
	now     func() time.Time
	current atomic.Pointer[Settings]
	loading sync.Mutex // what was read earlier comes into force earlier
}

// New builds the store; Load must be called before Current.
func New(d *db.DB, now func() time.Time) *Store {
	s := &Store{db: d, now: now}
	defaults := Defaults()
	s.current.Store(&defaults)
	return s
}

// Defaults gives the contract's defaults.
func Defaults() Settings {
	var s Settings
	v := reflect.ValueOf(&s).Elem()
	for i := range v.NumField() {
		field := v.Type().Field(i)
		if err := json.Unmarshal([]byte(field.Tag.Get("default")), v.Field(i).Addr().Interface()); err != nil {
			panic(fmt.Sprintf("setting %s: bad default: %v", field.Name, err))
		}
	}
	return s
}

// Current gives the settings in force. The result is shared: do not change it.
func (s *Store) Current() *Settings { return s.current.Load() }

type row struct {
	Name  string `db:"name"`
	Value string `db:"value"`
}

// Open reads the stored values over the defaults and puts them in force.
func (s *Store) Open(ctx context.Context) error {
	s.loading.Lock()
	defer s.loading.Unlock()
	next, err := s.read(ctx)
	if err != nil {
		return err
	}
	s.current.Store(next)
	return nil
}

// read gives the stored values over the defaults.
func (s *Store) read(ctx context.Context) (*Settings, error) {
	rows, err := db.Select[row](ctx, s.db, "SELECT name, value FROM settings ORDER BY name")
	if err != nil {
		return nil, fmt.Errorf("load settings: %w", err)
	}
	next := Defaults()
	v := reflect.ValueOf(&next).Elem()
	fields := make(map[string]reflect.Value, v.NumField())
	for i := range v.NumField() {
		fields[v.Type().Field(i).Tag.Get("setting")] = v.Field(i)
	}
	for _, r := range rows {
		field, ok := fields[r.Name]
		if !ok {
			continue // a setting of a newer version
		}
		if err := json.Unmarshal([]byte(r.Value), field.Addr().Interface()); err != nil {
			return nil, fmt.Errorf("setting %s: %w", r.Name, err)
		}
	}
	return &next, nil
}

// Set stores one value by its API name and puts it in force once the transaction is
// committed. An unknown name or a value of the wrong type is Invalid. It asks for no
// permission: the caller did.
func (s *Store) Set(ctx context.Context, name string, value any) error {
	probe := Defaults()
	if err := probe.set(name, value); err != nil {
		return err
	}
	return s.change(ctx, func(ctx context.Context) error { return s.put(ctx, name, value) })
}

// change runs fn in a transaction and puts in force what was committed. Where that fails the
// old values are in force until the next start or the next change, and the caller gets the error.
func (s *Store) change(ctx context.Context, fn func(ctx context.Context) error) error {
	outer := ctx // the transaction's own ends with it
	var failed error
	err := s.db.InTx(ctx, func(ctx context.Context) error {
		if err := fn(ctx); err != nil {
			return err
		}
		s.db.AfterCommit(ctx, func() { failed = s.Open(context.WithoutCancel(outer)) })
		return nil
	})
	if err == nil && failed != nil {
		err = fmt.Errorf("settings are stored, and not in force before the next change or start: %w", failed)
	}
	return err
}

// put stores one value that fits, in the transaction of ctx.
func (s *Store) put(ctx context.Context, name string, value any) error {
	text, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("encode setting %s: %w", name, err)
	}
	_, err = db.InsertRow(ctx, s.db, "settings", db.Values{
		"name": name, "value": string(text), "updated_at": s.now(),
	}, "ON CONFLICT (name) DO UPDATE SET value = excluded.value, updated_at = excluded.updated_at")
	if err != nil {
		return fmt.Errorf("store setting %s: %w", name, err)
	}
	return nil
}

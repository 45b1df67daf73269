package setting

import (
	"fmt"
	"regexp"
	"slices"
	"time"
	"unicode/utf8"

	"tenon/internal/base/errs"
	"tenon/internal/base/gitstore"
	"tenon/internal/base/pattern"
	"tenon/internal/core/ciconfig"
)

// ArchiveAge is how old jobs are that are not run again; ok is false where none is too old.
func (s *Settings) ArchiveAge() (age time.Duration, ok bool) {
	if s.ArchiveBuilds == nil || len(*s.ArchiveBuilds) > 255 {
		return 0, false
	}
	age, ok = ciconfig.ParseDuration(*s.ArchiveBuilds)
	return age, ok && age >= 24*time.Hour
}

// levels are the visibilities that may be restricted.
var levels = []string{"private", "internal", "public"}

// sources are the places that projects can be imported from, by the contract.
var sources = []string{"github", "bitbucket", "bitbucket_server", "fogbugz", "git", "gitlab_project", "gitea", "manifest"}

// hostText holds what the commits of users may name as the host of their addresses.
var hostText = pattern.New(`\A[a-zA-Z0-9_.-]{1,253}\z`)

var prefixText = regexp.MustCompile(`\A[a-zA-Z0-9_+=/@:.-]*\z`)

// problems lists what is wrong with the settings.
func (s *Settings) problems() []errs.Field {
	var all []errs.Field
	wrong := func(name, message string, broken bool) {
		if broken {
			all = append(all, errs.Field{Name: name, Messages: []string{message}})
		}
	}
	for _, n := range s.numbers() {
		if n.value != nil {
			wrong(n.name, n.problem(), n.problem() != "")
		}
	}
	for _, v := range []struct{ name, level string }{
		{"default_group_visibility", s.DefaultGroupVisibility},
		{"default_project_visibility", s.DefaultProjectVisibility},
		{"default_snippet_visibility", s.DefaultSnippetVisibility},
	} {
		wrong(v.name, "cannot be set to a restricted visibility level", slices.Contains(s.RestrictedVisibilityLevels, v.level))
	}
	for _, level := range s.RestrictedVisibilityLevels {
		wrong("restricted_visibility_levels", fmt.Sprintf("'%s' is not a valid visibility level", level), !slices.Contains(levels, level))
	}
	for _, source := range s.ImportSources {
		wrong("import_sources", fmt.Sprintf("'%s' is not a import source", source), !slices.Contains(sources, source))
	}
	wrong("commit_email_hostname", "is invalid", s.CommitEmailHostname != nil && !hostText().MatchString(*s.CommitEmailHostname))
	wrong("default_branch_name", "is not a valid branch name", s.DefaultBranchName != nil && !gitstore.ValidBranchName(*s.DefaultBranchName))
	wrong("notes_create_limit_allowlist", "is too long (maximum is 100 entries)", len(s.NotesCreateLimitAllowlist) > 100)
	wrong("outbound_local_requests_whitelist", "is too long (maximum is 1000 entries)", len(s.OutboundLocalRequestsWhitelist) > 1000)
	wrong("outbound_local_requests_whitelist", "is too long (maximum is 255 characters)",
		slices.ContainsFunc(s.OutboundLocalRequestsWhitelist, func(e string) bool { return utf8.RuneCountInString(e) > 255 }))
	wrong("personal_access_token_prefix", "is too long (maximum is 20 characters)", utf8.RuneCountInString(s.PersonalAccessTokenPrefix) > 20)
	wrong("personal_access_token_prefix", "can contain only letters of the Base64 alphabet (RFC4648) with the addition of '@', ':' and '.'",
		!prefixText.MatchString(s.PersonalAccessTokenPrefix))
	wrong("allowed_key_types", "can't be blank", !slices.ContainsFunc([]int{
		s.DSAKeyRestriction, s.ECDSAKeyRestriction, s.ECDSASKKeyRestriction, s.ED25519KeyRestriction, s.ED25519SKKeyRestriction, s.RSAKeyRestriction,
	}, func(bits int) bool { return bits >= 0 }))
	wrong("rate_limiting_response_text", "is too long (maximum is 255 characters)",
		s.RateLimitingResponseText != nil && utf8.RuneCountInString(*s.RateLimitingResponseText) > 255)
	if s.ArchiveBuilds != nil && *s.ArchiveBuilds != "" {
		_, ok := s.ArchiveAge()
		wrong("archive_builds_in_seconds", "must be at least 1 day", !ok)
	}
	for _, kind := range s.ValidRunnerRegistrars {
		wrong("valid_runner_registrars", "is not included in the list", kind != "project" && kind != "group")
	}
	if s.UserDefaultInternalRegex != nil {
		_, err := regexp.Compile(*s.UserDefaultInternalRegex)
		wrong("user_default_internal_regex", "is not a valid regular expression", err != nil)
	}
	return all
}

// maxMegabytes is the largest of sizes, which still fits when it is counted in bytes.
const maxMegabytes = 1 << 20

// maxTexts is the largest of sizes in bytes of what is read into memory as a whole.
const maxTexts = 100 << 20

// number is a setting with bounds; most 0 is none.
type number struct {
	name        string
	value       *int
	least, most int
}

func (n number) problem() string {
	switch {
	case *n.value < n.least && n.least == 1:
		return "must be greater than 0"
	case *n.value < n.least:
		return fmt.Sprintf("must be greater than or equal to %d", n.least)
	case n.most != 0 && *n.value > n.most:
		return fmt.Sprintf("must be less than or equal to %d", n.most)
	}
	return ""
}

// Seconds that the authentication tokens of runners are good for, as settings may say.
const (
	leastTokenLife = 2 * 60 * 60
	mostTokenLife  = 10 * 365 * 24 * 60 * 60
)

func (s *Settings) numbers() []number {
	size := int(s.RepositorySizeLimit)
	return []number{
		{"default_projects_limit", &s.DefaultProjectsLimit, 0, 0},
		{"deletion_adjourned_period", &s.DeletionAdjournedPeriod, 1, 90},
		{"diff_max_files", &s.DiffMaxFiles, 1000, 3000},
		{"diff_max_lines", &s.DiffMaxLines, 50_000, 100_000},
		{"diff_max_patch_bytes", &s.DiffMaxPatchBytes, 204_800, 512_000},
		{"housekeeping_optimize_repository_period", &s.HousekeepingOptimizeRepositoryPeriod, 1, 0},
		{"issues_create_limit", &s.IssuesCreateLimit, 0, 0},
		{"max_attachment_size", &s.MaxAttachmentSize, 1, maxMegabytes},
		{"max_personal_access_token_lifetime", s.MaxPersonalAccessTokenLifetime, 1, 365},
		{"max_ssh_key_lifetime", s.MaxSSHKeyLifetime, 1, 365},
		{"minimum_password_length", &s.MinimumPasswordLength, 8, 128},
		{"notes_create_limit", &s.NotesCreateLimit, 0, 0},
		{"push_event_activities_limit", &s.PushEventActivitiesLimit, 0, 0},
		{"git_push_pipeline_limit", &s.GitPushPipelineLimit, 0, 0},
		{"max_artifacts_size", &s.MaxArtifactsSize, 1, maxMegabytes},
		{"max_yaml_size_bytes", &s.MaxYAMLSizeBytes, 1, maxTexts},
		{"raw_blob_request_limit", &s.RawBlobRequestLimit, 0, 0},
		{"receive_max_input_size", s.ReceiveMaxInputSize, 1, maxMegabytes},
		{"repository_size_limit", &size, 0, 0},
		{"project_storage_limit", &s.ProjectStorageLimit, 0, maxMegabytes},
		{"user_storage_limit", &s.UserStorageLimit, 0, maxMegabytes},
		{"external_user_storage_limit", &s.ExternalUserStorageLimit, 0, maxMegabytes},
		{"snippet_size_limit", &s.SnippetSizeLimit, 1, maxTexts},
		{"wiki_page_max_content_bytes", &s.WikiPageMaxContentBytes, 1024, maxTexts},
		{"runner_token_expiration_interval", s.RunnerTokenExpirationInterval, leastTokenLife, mostTokenLife},
		{"group_runner_token_expiration_interval", s.GroupRunnerTokenExpirationInterval, leastTokenLife, mostTokenLife},
		{"project_runner_token_expiration_interval", s.ProjectRunnerTokenExpirationInterval, leastTokenLife, mostTokenLife},
		{"search_rate_limit", &s.SearchRateLimit, 0, 0},
		{"archive_request_limit", &s.ArchiveRequestLimit, 0, 0},
		{"archive_request_limit_unauthenticated", &s.ArchiveRequestLimitUnauthenticated, 0, 0},
		{"members_delete_limit", &s.MembersDeleteLimit, 0, 0},
		{"project_import_limit", &s.ProjectImportLimit, 0, 0},
		{"projects_api_rate_limit_unauthenticated", &s.ProjectsAPIRateLimitUnauthenticated, 0, 0},
		{"search_rate_limit_unauthenticated", &s.SearchRateLimitUnauthenticated, 0, 0},
		{"users_api_limit_followers", &s.UsersAPILimitFollowers, 0, 0},
		{"users_api_limit_following", &s.UsersAPILimitFollowing, 0, 0},
		{"users_api_limit_gpg_key", &s.UsersAPILimitGPGKey, 0, 0},
		{"users_api_limit_gpg_keys", &s.UsersAPILimitGPGKeys, 0, 0},
		{"users_api_limit_ssh_key", &s.UsersAPILimitSSHKey, 0, 0},
		{"users_api_limit_ssh_keys", &s.UsersAPILimitSSHKeys, 0, 0},
		{"users_api_limit_status", &s.UsersAPILimitStatus, 0, 0},
		{"users_get_by_id_limit", &s.UsersGetByIDLimit, 0, 0},
		{"max_login_attempts", s.MaxLoginAttempts, 1, 0},
		{"failed_login_attempts_unlock_period_in_minutes", s.FailedLoginAttemptsUnlockPeriodInMinutes, 1, 0},
		{"session_expire_delay", &s.SessionExpireDelay, 1, 365 * 24 * 60},
		{"throttle_unauthenticated_api_requests_per_period", &s.ThrottleUnauthenticatedAPIRequestsPerPeriod, 1, 0},
		{"throttle_unauthenticated_api_period_in_seconds", &s.ThrottleUnauthenticatedAPIPeriodInSeconds, 1, 0},
		{"throttle_authenticated_api_requests_per_period", &s.ThrottleAuthenticatedAPIRequestsPerPeriod, 1, 0},
		{"throttle_authenticated_api_period_in_seconds", &s.ThrottleAuthenticatedAPIPeriodInSeconds, 1, 0},
		{"throttle_unauthenticated_files_api_requests_per_period", &s.ThrottleUnauthenticatedFilesAPIRequestsPerPeriod, 1, 0},
		{"throttle_unauthenticated_files_api_period_in_seconds", &s.ThrottleUnauthenticatedFilesAPIPeriodInSeconds, 1, 0},
		{"throttle_authenticated_files_api_requests_per_period", &s.ThrottleAuthenticatedFilesAPIRequestsPerPeriod, 1, 0},
		{"throttle_authenticated_files_api_period_in_seconds", &s.ThrottleAuthenticatedFilesAPIPeriodInSeconds, 1, 0},
		{"throttle_unauthenticated_requests_per_period", &s.ThrottleUnauthenticatedRequestsPerPeriod, 1, 0},
		{"throttle_unauthenticated_period_in_seconds", &s.ThrottleUnauthenticatedPeriodInSeconds, 1, 0},
		{"throttle_authenticated_web_requests_per_period", &s.ThrottleAuthenticatedWebRequestsPerPeriod, 1, 0},
		{"throttle_authenticated_web_period_in_seconds", &s.ThrottleAuthenticatedWebPeriodInSeconds, 1, 0},
		{"throttle_unauthenticated_git_http_requests_per_period", &s.ThrottleUnauthenticatedGitHTTPRequestsPerPeriod, 1, 0},
		{"throttle_unauthenticated_git_http_period_in_seconds", &s.ThrottleUnauthenticatedGitHTTPPeriodInSeconds, 1, 0},
		{"throttle_authenticated_git_http_requests_per_period", &s.ThrottleAuthenticatedGitHTTPRequestsPerPeriod, 1, 0},
		{"throttle_authenticated_git_http_period_in_seconds", &s.ThrottleAuthenticatedGitHTTPPeriodInSeconds, 1, 0},
		{"throttle_authenticated_git_lfs_requests_per_period", &s.ThrottleAuthenticatedGitLFSRequestsPerPeriod, 1, 0},
		{"throttle_authenticated_git_lfs_period_in_seconds", &s.ThrottleAuthenticatedGitLFSPeriodInSeconds, 1, 0},
	}
}

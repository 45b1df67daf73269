package limit

import (
	"slices"
	"strings"
	"time"

	"tenon/internal/core/authz"
	"tenon/internal/core/setting"
)

// Class is a kind of operation with a limit of its own.
type Class string

// The classes whose counters belong to the caller alone.
const (
	NotesCreate  Class = "notes_create"
	Search       Class = "search_rate_limit"
	UsersByID    Class = "users_get_by_id"
	ProjectsList Class = "projects_api_unauthenticated" // projects_api for callers who are known

	AutocompleteUsers    Class = "autocomplete_users_unauthenticated" // autocomplete_users for callers who are known
	IssuesCreate         Class = "issues_create"
	UserFollowers        Class = "user_followers"
	UserFollowing        Class = "user_following"
	UserStatus           Class = "user_status"
	UserSSHKeys          Class = "user_ssh_keys"
	UserSSHKey           Class = "user_ssh_key"
	UserGPGKeys          Class = "user_gpg_keys"
	UserGPGKey           Class = "user_gpg_key"
	UserEmails           Class = "user_email_lookup"
	UserProjects         Class = "user_projects_api"
	UserContributed      Class = "user_contributed_projects_api"
	UserStarred          Class = "user_starred_projects_api"
	ProjectGet           Class = "project_api"
	ProjectMembers       Class = "project_members_api"
	ProjectInvitedGroups Class = "project_invited_groups_api"
	ProjectImport        Class = "project_import"
	GroupImport          Class = "group_import"
	BulkImport           Class = "bulk_import"
	ProjectExport        Class = "project_export"
	GroupExport          Class = "group_export"
	RelationExport       Class = "relation_export"
	GroupsList           Class = "groups_api"
	GroupGet             Class = "group_api"
	GroupProjects        Class = "group_projects_api"
	GroupSharedGroups    Class = "group_shared_groups_api"
	GroupInvitedGroups   Class = "group_invited_groups_api"
	GroupArchive         Class = "group_archive_unarchive_api"
	LargeCommits         Class = "large_commits"
	Pipelines            Class = "pipelines_created_per_user"
)

// The classes whose counters belong to what is asked for: CheckIn takes them.
const (
	Archive       Class = "project_repositories_archive"   // caller and project
	Changelog     Class = "project_repositories_changelog" // caller and project
	MembersDelete Class = "members_delete"                 // caller and project or group

	ProjectExportDownload Class = "project_download_export"     // caller and project
	GroupExportDownload   Class = "group_download_export"       // caller and group
	ShellCommands         Class = "gitlab_shell_operation"      // caller, project and command
	RawBlob               Class = "raw_blob"                    // project and path, for all callers
	LargeBlob             Class = "large_blob_download"         // project, for all callers
	ProjectJobs           Class = "project_jobs_api"            // project, for all callers
	PipelinesOfCommit     Class = "pipelines_create"            // caller, project and commit
	DownstreamPipelines   Class = "downstream_pipeline_trigger" // caller, project and commit
	WebhookTest           Class = "web_hook_test"               // caller and hook
	WebhookResend         Class = "web_hook_event_resend"       // caller and hook
	JobRequests           Class = "runner_jobs_request_api"     // token of a runner
	JobEndpoints          Class = "runner_jobs_api"             // token of a job
	JobLogs               Class = "runner_jobs_patch_trace_api" // token of a job
	SignIn                Class = "user_sign_in"                // name of a user, from wherever it comes
)

const (
	minute = time.Minute
	longer = 10 * time.Minute // of what people do again and again
)

// LargeBody is the size in bytes above which a commit of the API is of LargeCommits, and
// LargeFile that above which a blob is of LargeBlob.
const (
	LargeBody = 20 << 20
	LargeFile = 10 << 20
)

// rule is what a class means.
type rule struct {
	every  time.Duration
	most   func(s *setting.Settings, as authz.Actor) int // 0 is no limit
	known  Class                                         // the name of the limit for callers who are known; "" is the class
	shared bool                                          // counted for all callers together
	text   string                                        // "" has the standard words
}

// saying has a rule answer with words of its own.
func (r rule) saying(text string) rule {
	r.text = text
	return r
}

// together has a rule count for all callers together.
func (r rule) together() rule {
	r.shared = true
	return r
}

// per is the rule of a setting that holds for each caller.
func per(every time.Duration, most func(s *setting.Settings) int) rule {
	return rule{every: every, most: func(s *setting.Settings, _ authz.Actor) int { return most(s) }}
}

// fixed is a limit that no setting changes.
func fixed(n int) func(s *setting.Settings) int { return func(*setting.Settings) int { return n } }

const tooManyPipelines = "Too many pipelines were created. Try again later."

// rules is the one table of classes.
var rules = map[Class]rule{
	NotesCreate: {every: minute, most: func(s *setting.Settings, as authz.Actor) int {
		if slices.ContainsFunc(s.NotesCreateLimitAllowlist, func(name string) bool { return strings.EqualFold(name, as.Username) }) {
			return 0
		}
		return s.NotesCreateLimit
	}},
	Search: {every: minute, most: func(s *setting.Settings, as authz.Actor) int {
		return choose(as.Known(), s.SearchRateLimit, s.SearchRateLimitUnauthenticated)
	}},
	UsersByID: {every: longer, most: func(s *setting.Settings, as authz.Actor) int {
		return choose(as.Admin || as.Auditor, 0, s.UsersGetByIDLimit)
	}},
	ProjectsList: {every: longer, known: "projects_api", most: func(s *setting.Settings, as authz.Actor) int {
		return choose(as.Known(), s.ProjectsAPILimit, s.ProjectsAPIRateLimitUnauthenticated)
	}},
	AutocompleteUsers: {every: minute, known: "autocomplete_users", most: func(s *setting.Settings, as authz.Actor) int {
		return choose(as.Known(), s.AutocompleteUsersLimit, s.AutocompleteUsersUnauthenticatedLimit)
	}},
	Archive: {every: minute, text: "This archive has been requested too many times. Try again later.", most: func(s *setting.Settings, as authz.Actor) int {
		return choose(as.Known(), s.ArchiveRequestLimit, s.ArchiveRequestLimitUnauthenticated)
	}},

	IssuesCreate:         per(minute, func(s *setting.Settings) int { return s.IssuesCreateLimit }),
	UserFollowers:        per(minute, func(s *setting.Settings) int { return s.UsersAPILimitFollowers }),
	UserFollowing:        per(minute, func(s *setting.Settings) int { return s.UsersAPILimitFollowing }),
	UserStatus:           per(minute, func(s *setting.Settings) int { return s.UsersAPILimitStatus }),
	UserSSHKeys:          per(minute, func(s *setting.Settings) int { return s.UsersAPILimitSSHKeys }),
	UserSSHKey:           per(minute, func(s *setting.Settings) int { return s.UsersAPILimitSSHKey }),
	UserGPGKeys:          per(minute, func(s *setting.Settings) int { return s.UsersAPILimitGPGKeys }),
	UserGPGKey:           per(minute, func(s *setting.Settings) int { return s.UsersAPILimitGPGKey }),
	UserEmails:           per(minute, func(s *setting.Settings) int { return s.UserEmailLookupLimit }),
	UserProjects:         per(minute, func(s *setting.Settings) int { return s.UserProjectsAPILimit }),
	UserContributed:      per(minute, func(s *setting.Settings) int { return s.UserContributedProjectsAPILimit }),
	UserStarred:          per(minute, func(s *setting.Settings) int { return s.UserStarredProjectsAPILimit }),
	ProjectGet:           per(minute, func(s *setting.Settings) int { return s.ProjectAPILimit }),
	ProjectMembers:       per(minute, func(s *setting.Settings) int { return s.ProjectMembersAPILimit }),
	ProjectInvitedGroups: per(minute, func(s *setting.Settings) int { return s.ProjectInvitedGroupsAPILimit }),
	ProjectImport:        per(minute, func(s *setting.Settings) int { return s.ProjectImportLimit }),
	BulkImport:           per(minute, fixed(6)),
	GroupImport:          per(minute, func(s *setting.Settings) int { return s.GroupImportLimit }),
	ProjectExport:        per(minute, func(s *setting.Settings) int { return s.ProjectExportLimit }),
	RelationExport:       per(minute, func(s *setting.Settings) int { return s.RelationExportLimit }),
	GroupExport:          per(minute, func(s *setting.Settings) int { return s.GroupExportLimit }),
	GroupsList:           per(minute, func(s *setting.Settings) int { return s.GroupsAPILimit }),
	GroupGet:             per(minute, func(s *setting.Settings) int { return s.GroupAPILimit }),
	GroupProjects:        per(longer, func(s *setting.Settings) int { return s.GroupProjectsAPILimit }),
	GroupSharedGroups:    per(minute, func(s *setting.Settings) int { return s.GroupSharedGroupsAPILimit }),
	GroupInvitedGroups:   per(minute, func(s *setting.Settings) int { return s.GroupInvitedGroupsAPILimit }),
	GroupArchive:         per(minute, func(s *setting.Settings) int { return s.GroupArchiveUnarchiveAPILimit }),
	LargeCommits:         per(30*time.Second, func(s *setting.Settings) int { return s.LargeCommitRequestLimit }),
	Pipelines:            per(minute, func(s *setting.Settings) int { return s.PipelineLimitPerUser }).saying(tooManyPipelines),
	Changelog: per(minute, func(s *setting.Settings) int { return s.ChangelogRequestLimit }).
		saying("This changelog has been requested too many times. Try again later."),
	MembersDelete:         per(minute, func(s *setting.Settings) int { return s.MembersDeleteLimit }),
	ProjectExportDownload: per(minute, func(s *setting.Settings) int { return s.ProjectDownloadExportLimit }),
	GroupExportDownload:   per(minute, func(s *setting.Settings) int { return s.GroupDownloadExportLimit }),
	ShellCommands:         per(minute, func(s *setting.Settings) int { return s.GitlabShellOperationLimit }),
	RawBlob:               per(minute, func(s *setting.Settings) int { return s.RawBlobRequestLimit }).together(),
	LargeBlob:             per(minute, func(s *setting.Settings) int { return s.LargeBlobRequestLimit }).together(),
	ProjectJobs:           per(minute, func(s *setting.Settings) int { return s.ProjectJobsAPIRateLimit }).together(),
	PipelinesOfCommit:     per(minute, func(s *setting.Settings) int { return s.PipelineLimitPerProjectUserSHA }).saying(tooManyPipelines),
	DownstreamPipelines:   per(minute, func(s *setting.Settings) int { return s.DownstreamPipelineTriggerLimitPerProjectUserSHA }).saying(tooManyPipelines),
	WebhookTest:           per(minute, fixed(5)),
	WebhookResend:         per(minute, fixed(5)),
	JobRequests:           per(minute, func(s *setting.Settings) int { return s.RunnerJobsRequestAPILimit }).together(),
	JobEndpoints:          per(minute, func(s *setting.Settings) int { return s.RunnerJobsEndpointsAPILimit }).together(),
	JobLogs:               per(minute, func(s *setting.Settings) int { return s.RunnerJobsPatchTraceAPILimit }).together(),
	SignIn:                per(longer, func(s *setting.Settings) int { return s.UserSignInLimit }).together(),
}

func choose(first bool, a, b int) int {
	if first {
		return a
	}
	return b
}

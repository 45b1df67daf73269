// Package limit says how often callers may do things: the limits of single operations,
// the throttles of everything, and who keeps guessing passwords. The numbers come from
// the settings of the moment.
package limit

import (
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"tenon/internal/base/errs"
	"tenon/internal/base/ratelimit"
	"tenon/internal/core/authz"
	"tenon/internal/core/setting"
)

// Class is a kind of operation with a limit of its own.
type Class string

// The classes whose counters belong to the caller alone.
const (
	NotesCreate   Class = "notes_create"
	IssuesCreate  Class = "issues_create"
	Search        Class = "search_rate_limit"
	UsersByID     Class = "users_get_by_id"
	ProjectsList  Class = "projects_api_unauthenticated"
	UserFollowers Class = "user_followers"
	UserFollowing Class = "user_following"
	UserStatus    Class = "user_status"
	UserSSHKeys   Class = "user_ssh_keys"
	UserSSHKey    Class = "user_ssh_key"
	UserGPGKeys   Class = "user_gpg_keys"
	UserGPGKey    Class = "user_gpg_key"
	ProjectImport Class = "project_import"
	LargeCommits  Class = "large_commits"
	Pipelines     Class = "pipelines_created_per_user"
)

// The classes whose counters belong to what is asked for: CheckIn takes them.
const (
	Archive       Class = "project_repositories_archive"   // caller and project
	Changelog     Class = "project_repositories_changelog" // caller and project
	MembersDelete Class = "members_delete"                 // caller and project or group
	ShellCommands Class = "gitlab_shell_operation"         // caller, project and command
	RawBlob       Class = "raw_blob"                       // project and path, for all callers
	LargeBlob     Class = "large_blob_download"            // project, for all callers

	PipelinesOfCommit   Class = "pipelines_create"            // caller, project and commit
	DownstreamPipelines Class = "downstream_pipeline_trigger" // caller, project and commit
)

// longer is the window of what people do again and again.
const longer = 10 * time.Minute

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
	shared bool                                          // counted for everybody together
	text   string                                        // "" has the standard words
}

const tooManyPipelines = "Too many pipelines were created. Try again later."

// rules is the one table of classes.
var rules = map[Class]rule{
	NotesCreate: {every: time.Minute, most: func(s *setting.Settings, as authz.Actor) int {
		if slices.ContainsFunc(s.NotesCreateLimitAllowlist, func(name string) bool { return strings.EqualFold(name, as.Username) }) {
			return 0
		}
		return s.NotesCreateLimit
	}},
	IssuesCreate: {every: time.Minute, most: func(s *setting.Settings, _ authz.Actor) int { return s.IssuesCreateLimit }},
	Search: {every: time.Minute, most: func(s *setting.Settings, as authz.Actor) int {
		return choose(as.Known(), s.SearchRateLimit, s.SearchRateLimitUnauthenticated)
	}},
	UsersByID: {every: longer, most: func(s *setting.Settings, as authz.Actor) int {
		return choose(as.Admin || as.Auditor, 0, s.UsersGetByIDLimit)
	}},
	ProjectsList: {every: longer, most: func(s *setting.Settings, as authz.Actor) int {
		return choose(as.Known(), 0, s.ProjectsAPIRateLimitUnauthenticated)
	}},
	UserFollowers: {every: time.Minute, most: func(s *setting.Settings, _ authz.Actor) int { return s.UsersAPILimitFollowers }},
	UserFollowing: {every: time.Minute, most: func(s *setting.Settings, _ authz.Actor) int { return s.UsersAPILimitFollowing }},
	UserStatus:    {every: time.Minute, most: func(s *setting.Settings, _ authz.Actor) int { return s.UsersAPILimitStatus }},
	UserSSHKeys:   {every: time.Minute, most: func(s *setting.Settings, _ authz.Actor) int { return s.UsersAPILimitSSHKeys }},
	UserSSHKey:    {every: time.Minute, most: func(s *setting.Settings, _ authz.Actor) int { return s.UsersAPILimitSSHKey }},
	UserGPGKeys:   {every: time.Minute, most: func(s *setting.Settings, _ authz.Actor) int { return s.UsersAPILimitGPGKeys }},
	UserGPGKey:    {every: time.Minute, most: func(s *setting.Settings, _ authz.Actor) int { return s.UsersAPILimitGPGKey }},
	ProjectImport: {every: time.Minute, most: func(s *setting.Settings, _ authz.Actor) int { return s.ProjectImportLimit }},
	LargeCommits:  {every: 30 * time.Second, most: fixed(3)},

	Archive: {every: time.Minute, text: "This archive has been requested too many times. Try again later.", most: func(s *setting.Settings, as authz.Actor) int {
		return choose(as.Known(), s.ArchiveRequestLimit, s.ArchiveRequestLimitUnauthenticated)
	}},
	Changelog:     {every: time.Minute, text: "This changelog has been requested too many times. Try again later.", most: fixed(5)},
	MembersDelete: {every: time.Minute, most: func(s *setting.Settings, _ authz.Actor) int { return s.MembersDeleteLimit }},
	ShellCommands: {every: time.Minute, most: func(s *setting.Settings, _ authz.Actor) int { return s.GitlabShellOperationLimit }},
	RawBlob:       {every: time.Minute, shared: true, most: func(s *setting.Settings, _ authz.Actor) int { return s.RawBlobRequestLimit }},
	LargeBlob:     {every: time.Minute, shared: true, most: fixed(5)},

	Pipelines: {every: time.Minute, text: tooManyPipelines, most: func(s *setting.Settings, _ authz.Actor) int { return s.PipelineLimitPerUser }},
	PipelinesOfCommit: {every: time.Minute, text: tooManyPipelines, most: func(s *setting.Settings, _ authz.Actor) int {
		return s.PipelineLimitPerProjectUserSHA
	}},
	DownstreamPipelines: {every: time.Minute, text: tooManyPipelines, most: func(s *setting.Settings, _ authz.Actor) int {
		return s.DownstreamPipelineTriggerLimitPerProjectUserSHA
	}},
}

func fixed(n int) func(*setting.Settings, authz.Actor) int {
	return func(*setting.Settings, authz.Actor) int { return n }
}

func choose(first bool, a, b int) int {
	if first {
		return a
	}
	return b
}

// Service judges by the settings in force. A zero one limits nothing. It is safe for
// concurrent use. Its counters are of this process and start again when it does.
type Service struct {
	Deps

	counter *ratelimit.Counter
	bans    *ratelimit.Bans

	enforced atomic.Bool
}

// Deps is what a Service is made of.
type Deps struct {
	Settings *setting.Store
	Now      func() time.Time
	Refused  func(class string) `wire:"optional"` // is told the class of each refusal
	Off      bool               // limits nothing before Enforce
}

// New builds the service.
func New(d Deps) *Service {
	if d.Refused == nil {
		d.Refused = func(string) {}
	}
	s := &Service{Deps: d, counter: ratelimit.New(d.Now), bans: ratelimit.NewBans(d.Now)}
	s.enforced.Store(!d.Off)
	return s
}

// Enforce has a service that was made with Off limit what callers do from now on.
func (s *Service) Enforce() { s.enforced.Store(true) }

func (s *Service) off() bool { return !s.enforced.Load() }

// Check counts a call of the class for the caller. Who made too many gets TooMany, which
// wraps a *ratelimit.Exceeded. A class that is not there has no limit.
func (s *Service) Check(class Class, as authz.Actor) error { return s.check(class, as, 0, "") }

// CheckIn is Check for what is asked for in a project; text names it where one project
// has many. Ask after the permission check: the answer must not tell of hidden projects.
func (s *Service) CheckIn(class Class, as authz.Actor, project int64, text string) error {
	return s.check(class, as, project, text)
}

// CheckAt is CheckIn for a project or a group.
func (s *Service) CheckAt(class Class, as authz.Actor, at authz.Place) error {
	if at.Group {
		return s.check(class, as, at.ID, "group")
	}
	return s.check(class, as, at.ID, "")
}

func (s *Service) check(class Class, as authz.Actor, what int64, text string) error {
	if s.off() {
		return nil
	}
	r := rules[class]
	if r.most == nil {
		return nil
	}
	most := r.most(s.Settings.Current(), as)
	if most <= 0 {
		return nil
	}
	key := ratelimit.Key{What: what, Text: text}
	if !r.shared {
		caller(&key, as)
	}
	used := s.counter.Add(ratelimit.Limit{Name: string(class), Most: most, Every: r.every}, key)
	if !used.Exceeded() {
		return nil
	}
	s.Refused(string(class))
	return &errs.Error{Kind: errs.TooMany, Message: r.text, Err: &ratelimit.Exceeded{Usage: used, After: r.every}}
}

// caller puts into a key who calls: a user, a deploy key or token, or an address.
func caller(k *ratelimit.Key, as authz.Actor) {
	switch {
	case as.UserID != 0:
		k.Who = int64(as.UserID)
	case as.Deploy.TokenID != 0:
		k.Who, k.Text = as.Deploy.TokenID, "deploy token "+k.Text
	case as.Deploy.KeyID != 0:
		k.Who, k.Text = as.Deploy.KeyID, "deploy key "+k.Text
	default:
		k.From = ratelimit.NetworkOf(as.Address)
	}
}

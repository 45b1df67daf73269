// Package core builds the services of the product, in the order in which they need each
// other, for every transport to share.
package core

import (
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"time"

	"tenon/internal/base/blob"
	"tenon/internal/base/db"
	"tenon/internal/base/event"
	"tenon/internal/base/gitcmd"
	"tenon/internal/base/job"
	"tenon/internal/base/secret"
	"tenon/internal/base/spool"
	"tenon/internal/core/accesstoken"
	"tenon/internal/core/account"
	"tenon/internal/core/activity"
	"tenon/internal/core/appearance"
	"tenon/internal/core/approval"
	"tenon/internal/core/attribute"
	"tenon/internal/core/audit"
	"tenon/internal/core/authz"
	"tenon/internal/core/avatar"
	"tenon/internal/core/award"
	"tenon/internal/core/board"
	"tenon/internal/core/broadcast"
	"tenon/internal/core/ci"
	"tenon/internal/core/deploy"
	"tenon/internal/core/deploykey"
	"tenon/internal/core/draftnote"
	"tenon/internal/core/epic"
	"tenon/internal/core/externalauth"
	"tenon/internal/core/gitimport"
	"tenon/internal/core/gpgkey"
	"tenon/internal/core/hookevent"
	"tenon/internal/core/idtoken"
	"tenon/internal/core/importexport"
	"tenon/internal/core/integration"
	"tenon/internal/core/integration/kind"
	"tenon/internal/core/issue"
	"tenon/internal/core/iteration"
	"tenon/internal/core/jobtoken"
	"tenon/internal/core/label"
	"tenon/internal/core/lfs"
	"tenon/internal/core/limit"
	"tenon/internal/core/live"
	"tenon/internal/core/mergerequest"
	"tenon/internal/core/metricimage"
	"tenon/internal/core/milestone"
	"tenon/internal/core/namespace"
	"tenon/internal/core/note"
	"tenon/internal/core/noteable"
	"tenon/internal/core/notify"
	"tenon/internal/core/payload"
	"tenon/internal/core/planlimit"
	"tenon/internal/core/project"
	"tenon/internal/core/protection"
	"tenon/internal/core/pushrule"
	"tenon/internal/core/quickaction"
	"tenon/internal/core/quota"
	"tenon/internal/core/reference"
	"tenon/internal/core/release"
	"tenon/internal/core/repo"
	"tenon/internal/core/resourceevent"
	"tenon/internal/core/runner"
	"tenon/internal/core/schedule"
	"tenon/internal/core/search"
	"tenon/internal/core/securefile"
	"tenon/internal/core/serviceaccount"
	"tenon/internal/core/servicehook"
	"tenon/internal/core/session"
	"tenon/internal/core/setting"
	"tenon/internal/core/signature"
	"tenon/internal/core/snippet"
	"tenon/internal/core/sshkey"
	"tenon/internal/core/statuscheck"
	"tenon/internal/core/subscription"
	"tenon/internal/core/suggestion"
	"tenon/internal/core/systemnote"
	"tenon/internal/core/timelog"
	"tenon/internal/core/todo"
	"tenon/internal/core/token"
	"tenon/internal/core/trigger"
	"tenon/internal/core/upload"
	"tenon/internal/core/usage"
	"tenon/internal/core/variable"
	"tenon/internal/core/weburl"
	"tenon/internal/core/wiki"
	"tenon/internal/core/workitem"
)

// Deps is what Services are made of. All of it is required unless a field says otherwise.
type Deps struct {
	DB       *db.DB
	Git      *gitcmd.Git
	Bus      *event.Bus
	Jobs     job.Enqueuer
	Queues   usage.Queues
	Objects  *blob.Store
	Archives *spool.Cache // where archives are kept
	Packs    *spool.Cache // where answers to fetches are kept
	Box      *secret.Box
	Hasher   *secret.Hasher
	Log      *slog.Logger
	Now      func() time.Time

	BaseURL   string // external URL
	SSH       string // host and port of git over SSH as clients see it; "" where it is off
	Fetches   repo.FetchLimits
	Revision  string // of the program
	MaxImport int64  // bytes that one import may bring, and its large files as much again
	Scratch   string // folder for files that a job makes and removes

	Remote         importexport.RemoteImports `wire:"optional"`
	NoDebian       bool                       // the server has no Debian distributions
	SigningKeyBits int                        // of the keys of Debian distributions; zero is the default

	// RateLimits counts what callers ask; without it only sizes and connections are
	// bounded. Refused is told the class of each refusal.
	RateLimits bool
	Refused    func(class string) `wire:"optional"`

	Mail notify.Out // without a sender no mail is sent
}

// Services are the subjects of the product. Transports call them and nothing else. The order
// of the fields is the one in which they react to an event, open, settle and start, and in
// which they take care of what a departing user leaves.
type Services struct {
	URLs       *weburl.Site
	Policy     *authz.Policy
	Settings   *setting.Store
	Kinds      *noteable.Kinds // of what users talk about
	Instance   *setting.Service
	Limits     *limit.Service
	Broadcasts *broadcast.Service
	Appearance *appearance.Service
	Plans      *planlimit.Service

	// Accounts, and what users and programs sign on with. Tokens of a departing user go first,
	// so that they are of no use however long the rest takes. These react to the end of a
	// place first, so that what becomes of each key and token is recorded before that end.
	Accounts        *account.Service
	Tokens          *token.Service
	Sessions        *session.Service
	Keys            *sshkey.Service
	GPGKeys         *gpgkey.Service
	GitImports      *gitimport.Service
	DeployKeys      *deploykey.Service
	BotTokens       *accesstoken.Service
	ServiceAccounts *serviceaccount.Service
	Runners         *runner.Service
	Triggers        *trigger.Service

	// What only records comes before everything that reacts to an event with a change of its
	// own, whose events are recorded in their turn.
	SystemNotes *systemnote.Service
	Events      *resourceevent.Service
	Activity    *activity.Recorder
	Audit       *audit.Service

	// Projects of a departing user go before everything else, so that what is in them
	// needs no other end.
	Projects   *project.Service
	Namespaces *namespace.Service
	Attributes *attribute.Service
	Avatars    *avatar.Service
	Quota      *quota.Service

	PushRules   *pushrule.Service
	Protections *protection.Service
	Repos       *repo.Service
	LFS         *lfs.Service
	Signatures  *signature.Service
	Uploads     *upload.Service

	Variables   *variable.Service
	SecureFiles *securefile.Service
	IDTokens    *idtoken.Service
	JobTokens   *jobtoken.Service
	CI          *ci.Service
	Schedules   *schedule.Service

	References *reference.Service
	Labels     *label.Service
	Milestones *milestone.Service
	Iterations *iteration.Service
	Boards     *board.Service
	Times      *timelog.Service
	Issues     *issue.Service
	// MetricImages are those of incidents.
	MetricImages  *metricimage.Service
	Epics         *epic.Service
	WorkItems     *workitem.Service
	MergeRequests *mergerequest.Service
	Approvals     *approval.Service
	Payloads      *payload.Service
	StatusChecks  *statuscheck.Service
	Integrations  *integration.Service
	Snippets      *snippet.Service
	Wikis         *wiki.Service

	Awards        *award.Service
	Commands      *quickaction.Service
	Commits       *note.Commits
	Notes         *note.Service
	Drafts        *draftnote.Service
	Suggestions   *suggestion.Service
	Subscriptions *subscription.Service
	Todos         *todo.Service
	Notifications *notify.Service
	Search        *search.Service
	Live          *live.Service
	HookEvents    *hookevent.Service
	ServiceHooks  *servicehook.Service

	subjects []any // see Part
}

// New builds all services from what depends on nothing upwards, those of more subjects last. A
// dependency that is missing is an error that names it.
func New(d Deps, more ...Subject) (*Services, error) {
	base, err := url.Parse(d.BaseURL)
	if err != nil {
		return nil, fmt.Errorf("external URL %q: %w", d.BaseURL, err)
	}
	var c check
	need(&c, d)
	if err := c.err(); err != nil {
		return nil, err
	}
	s := &Services{Policy: authz.New(d.DB, d.Now), Settings: setting.New(d.DB, d.Now).Sealed(d.Box), Kinds: &noteable.Kinds{}}
	s.URLs = weburl.New(base, d.SSH).Cloned(func() string { return s.Settings.Current().CloneRoot() })
	s.Policy.Everywhere = func(address string) bool { return s.Settings.Current().AllowsEverywhere(address) }
	s.Policy.CloseProjects = func() bool { return s.Settings.Current().EnforceCIInboundJobTokenScopeEnabled }
	s.Limits = limit.New(need(&c, limit.Deps{Settings: s.Settings, Now: d.Now, Refused: d.Refused, Off: !d.RateLimits}))
	s.people(&c, d)
	s.code(&c, d)
	s.planning(&c, d)
	s.talk(&c, d)
	s.reactions(&c, d)
	s.finding(&c, d)
	s.add(&Build{d, s, &c}, more)
	s.connect(&c)
	return s, errors.Join(c.err(), s.Kinds.Check())
}

// people builds accounts, keys and groups.
func (s *Services) people(c *check, d Deps) {
	s.Plans = planlimit.New(need(c, planlimit.Deps{DB: d.DB, Policy: s.Policy, Bus: d.Bus, Now: d.Now}))
	s.Instance = setting.NewService(need(c, setting.Deps{Store: s.Settings, Policy: s.Policy, Bus: d.Bus, Integrations: kind.Slugs()}))
	s.Attributes = attribute.New(need(c, attribute.Deps{DB: d.DB, Policy: s.Policy, Now: d.Now}))
	s.Namespaces = namespace.New(need(c, namespace.Deps{
		DB: d.DB, Policy: s.Policy, Bus: d.Bus, Settings: s.Settings, Attributes: s.Attributes, Limits: s.Limits, Now: d.Now, Log: d.Log,
	}))
	s.Accounts = account.New(need(c, account.Deps{
		DB: d.DB, Policy: s.Policy, Bus: d.Bus, Settings: s.Settings, Limits: s.Limits, Places: s.Namespaces, Attributes: s.Attributes, Jobs: d.Jobs,
		Hasher: d.Hasher, Now: d.Now, Log: d.Log, URLs: s.URLs,
	}))
	s.Sessions = session.New(need(c, session.Deps{DB: d.DB, Policy: s.Policy, Accounts: s.Accounts, Settings: s.Settings, Now: d.Now, Log: d.Log}))
	s.Tokens = token.New(need(c, token.Deps{
		DB: d.DB, Policy: s.Policy, Bus: d.Bus, Settings: s.Settings, Accounts: s.Accounts, Box: d.Box, Now: d.Now, Log: d.Log,
	}))
	s.Keys = sshkey.New(need(c, sshkey.Deps{
		DB: d.DB, Policy: s.Policy, Bus: d.Bus, Settings: s.Settings, Accounts: s.Accounts, Now: d.Now, Log: d.Log,
	}))
	s.GPGKeys = gpgkey.New(need(c, gpgkey.Deps{DB: d.DB, Policy: s.Policy, Bus: d.Bus, Accounts: s.Accounts, Now: d.Now}))
	s.BotTokens = accesstoken.New(need(c, accesstoken.Deps{
		DB: d.DB, Policy: s.Policy, Bus: d.Bus, Accounts: s.Accounts, Tokens: s.Tokens, Namespaces: s.Namespaces, Settings: s.Settings, Now: d.Now,
	}))
	s.ServiceAccounts = serviceaccount.New(need(c, serviceaccount.Deps{Policy: s.Policy, Accounts: s.Accounts, Tokens: s.Tokens, Jobs: d.Jobs}))
}

// code builds projects and their repositories.
func (s *Services) code(c *check, d Deps) {
	outbound := s.outbound()
	labels := externalauth.New(need(c, externalauth.Deps{DB: d.DB, Settings: s.Settings, Accounts: s.Accounts, Outbound: outbound, Now: d.Now, Log: d.Log}))
	s.Policy.External = labels
	s.Projects = project.New(need(c, project.Deps{
		Limits: s.Limits, DB: d.DB, Policy: s.Policy, Bus: d.Bus, Accounts: s.Accounts, Attributes: s.Attributes, Namespaces: s.Namespaces, Settings: s.Settings, Now: d.Now,
		Jobs: d.Jobs, Outbound: outbound, Box: d.Box,
	}))
	s.DeployKeys = deploykey.New(need(c, deploykey.Deps{
		DB: d.DB, Policy: s.Policy, Bus: d.Bus, Accounts: s.Accounts, Keys: s.Keys, Projects: s.Projects, Now: d.Now,
	}))
	s.PushRules = pushrule.New(need(c, pushrule.Deps{DB: d.DB, Policy: s.Policy, Bus: d.Bus, Now: d.Now}))
	s.Protections = protection.New(need(c, protection.Deps{DB: d.DB, Policy: s.Policy, Bus: d.Bus, Settings: s.Settings, Now: d.Now}))
	s.Runners = runner.New(need(c, runner.Deps{
		DB: d.DB, Policy: s.Policy, Bus: d.Bus, Settings: s.Settings, Plans: s.Plans, Namespaces: s.Namespaces, Projects: s.Projects, Box: d.Box, Now: d.Now, Log: d.Log,
	}))
	s.Variables = variable.New(need(c, variable.Deps{DB: d.DB, Policy: s.Policy, Bus: d.Bus, Box: d.Box, Now: d.Now}))
	s.Triggers = trigger.New(need(c, trigger.Deps{DB: d.DB, Policy: s.Policy, Bus: d.Bus, Settings: s.Settings, Box: d.Box, Now: d.Now, Log: d.Log}))
	s.IDTokens = idtoken.New(need(c, idtoken.Deps{DB: d.DB, Box: d.Box, Now: d.Now}))
	s.JobTokens = jobtoken.New(need(c, jobtoken.Deps{DB: d.DB, Policy: s.Policy, Bus: d.Bus, Projects: s.Projects, Namespaces: s.Namespaces, Now: d.Now}))
	s.SecureFiles = securefile.New(need(c, securefile.Deps{DB: d.DB, Policy: s.Policy, Bus: d.Bus, Objects: d.Objects, Box: d.Box, Now: d.Now, Log: d.Log}))
	s.Quota = quota.New(need(c, quota.Deps{DB: d.DB, Policy: s.Policy, Settings: s.Settings}))
	s.LFS = lfs.New(need(c, lfs.Deps{
		DB: d.DB, Policy: s.Policy, Quota: s.Quota, Settings: s.Settings, Accounts: s.Accounts, Tokens: s.Tokens, Keys: s.Keys, Objects: d.Objects,
		Signer: d.Box.Signer(), Log: d.Log, Now: d.Now,
	}))
	s.Avatars = avatar.New(need(c, avatar.Deps{
		DB: d.DB, Policy: s.Policy, Accounts: s.Accounts, Namespaces: s.Namespaces, Projects: s.Projects,
		Objects: d.Objects, Log: d.Log, Now: d.Now,
	}))
	s.Uploads = upload.New(need(c, upload.Deps{
		DB: d.DB, Policy: s.Policy, Bus: d.Bus, Settings: s.Settings, Projects: s.Projects, Objects: d.Objects,
		Quota: s.Quota, Log: d.Log, Now: d.Now,
	}))
	s.Broadcasts = broadcast.New(need(c, broadcast.Deps{DB: d.DB, Policy: s.Policy, Bus: d.Bus, Now: d.Now}))
	s.Appearance = appearance.New(need(c, appearance.Deps{DB: d.DB, Policy: s.Policy, Bus: d.Bus, Objects: d.Objects, Log: d.Log, Now: d.Now}))
	s.Repos = repo.New(need(c, repo.Deps{
		DB: d.DB, Policy: s.Policy, Bus: d.Bus, Git: d.Git, Settings: s.Settings, Limits: s.Limits, Projects: s.Projects,
		Accounts: s.Accounts, Tokens: s.Tokens, Keys: s.DeployKeys, LFS: s.LFS, Archives: d.Archives, Packs: d.Packs, Fetches: d.Fetches, Quota: s.Quota,
		Jobs: d.Jobs, PushRules: s.PushRules, Protections: s.Protections, Broadcasts: s.Broadcasts,
		Log: d.Log, Now: d.Now, URLs: s.URLs,
	}))
	s.GitImports = gitimport.New(need(c, gitimport.Deps{
		DB: d.DB, Projects: s.Projects, Repos: s.Repos, Accounts: s.Accounts, LFS: s.LFS, Quota: s.Quota,
		Outbound: outbound, Box: d.Box, Max: d.MaxImport, Log: d.Log,
	}))
	s.Signatures = signature.New(need(c, signature.Deps{
		Accounts: s.Accounts, Repos: s.Repos, SSHKeys: s.Keys, PGPKeys: s.GPGKeys, Now: d.Now,
	}))
	s.Integrations = integration.New(need(c, integration.Deps{DB: d.DB, Policy: s.Policy, Bus: d.Bus, Projects: s.Projects, Settings: s.Settings, Outbound: outbound, Box: d.Box, Jobs: d.Jobs, Now: d.Now}))
	s.CI = ci.New(need(c, ci.Deps{
		DB: d.DB, Policy: s.Policy, Bus: d.Bus, Settings: s.Settings, Limits: s.Limits, Accounts: s.Accounts, Namespaces: s.Namespaces, Projects: s.Projects, Repos: s.Repos,
		Plans: s.Plans, Protections: s.Protections, Integrations: s.Integrations,
		Runners: s.Runners, Variables: s.Variables, Triggers: s.Triggers, IDTokens: s.IDTokens, Tokens: s.Tokens, Objects: d.Objects, Jobs: d.Jobs, Box: d.Box, Outbound: outbound, URLs: s.URLs, Now: d.Now,
		Log: d.Log, Revision: d.Revision,
	}))
	s.Schedules = schedule.New(need(c, schedule.Deps{
		DB: d.DB, Policy: s.Policy, Bus: d.Bus, Plans: s.Plans, Accounts: s.Accounts, Projects: s.Projects, CI: s.CI, Jobs: d.Jobs, Box: d.Box, Now: d.Now, Log: d.Log,
	}))
}

// planning builds issues, merge requests and what belongs to them.
func (s *Services) planning(c *check, d Deps) {
	s.References = reference.New(need(c, reference.Deps{
		DB: d.DB, Policy: s.Policy, Settings: s.Settings, Accounts: s.Accounts, Groups: s.Namespaces, Projects: s.Projects, Repos: s.Repos, URLs: s.URLs,
	}))
	s.Labels = label.New(need(c, label.Deps{DB: d.DB, Policy: s.Policy, Bus: d.Bus, Kinds: s.Kinds, Now: d.Now, URLs: s.URLs}))
	s.Milestones = milestone.New(need(c, milestone.Deps{DB: d.DB, Policy: s.Policy, Bus: d.Bus, Namespaces: s.Namespaces, Now: d.Now, URLs: s.URLs}))
	s.Times = timelog.New(need(c, timelog.Deps{DB: d.DB, Policy: s.Policy, Settings: s.Settings, Now: d.Now}))
	s.Iterations = iteration.New(need(c, iteration.Deps{DB: d.DB, Policy: s.Policy, Bus: d.Bus, Now: d.Now}))
	s.Boards = board.New(need(c, board.Deps{
		DB: d.DB, Policy: s.Policy, Bus: d.Bus, Labels: s.Labels, Milestones: s.Milestones, Projects: s.Projects, Groups: s.Namespaces, Now: d.Now,
	}))
	s.Issues = issue.New(need(c, issue.Deps{
		DB: d.DB, Policy: s.Policy, Bus: d.Bus, Accounts: s.Accounts, Labels: s.Labels, Milestones: s.Milestones, Iterations: s.Iterations, Projects: s.Projects, Times: s.Times,
		Limits: s.Limits, Now: d.Now, URLs: s.URLs,
	}))
	s.MetricImages = metricimage.New(need(c, metricimage.Deps{
		DB: d.DB, Policy: s.Policy, Issues: s.Issues, Projects: s.Projects, Uploads: s.Uploads, Now: d.Now,
	}))
	s.MergeRequests = mergerequest.New(need(c, mergerequest.Deps{
		Limits: s.Limits, DB: d.DB, Policy: s.Policy, Bus: d.Bus, Accounts: s.Accounts, Projects: s.Projects, Protections: s.Protections, Repos: s.Repos,
		Labels: s.Labels, Milestones: s.Milestones, Issues: s.Issues, Times: s.Times, CI: s.CI, References: s.References, Settings: s.Settings, Jobs: d.Jobs, Log: d.Log, Now: d.Now, URLs: s.URLs,
	}))
	s.Approvals = approval.New(need(c, approval.Deps{
		DB: d.DB, Policy: s.Policy, Bus: d.Bus, Accounts: s.Accounts, MergeRequests: s.MergeRequests, Protections: s.Protections, Settings: s.Settings, Now: d.Now,
	}))
	s.Snippets = snippet.New(need(c, snippet.Deps{
		DB: d.DB, Policy: s.Policy, Bus: d.Bus, Jobs: d.Jobs, Settings: s.Settings, Projects: s.Projects, Repos: s.Repos, URLs: s.URLs, Now: d.Now,
	}))
	s.Wikis = wiki.New(need(c, wiki.Deps{
		DB: d.DB, Policy: s.Policy, Bus: d.Bus, Jobs: d.Jobs, Settings: s.Settings, Projects: s.Projects, Namespaces: s.Namespaces,
		Repos: s.Repos, References: s.References, Now: d.Now,
	}))
	s.Epics = epic.New(need(c, epic.Deps{
		Limits: s.Limits, DB: d.DB, Policy: s.Policy, Bus: d.Bus, Labels: s.Labels, Issues: s.Issues, Projects: s.Projects, Namespaces: s.Namespaces,
		Now: d.Now, URLs: s.URLs,
	}))
}

// talk builds what is said about them, and who is told.
func (s *Services) talk(c *check, d Deps) {
	s.Commits = &note.Commits{DB: d.DB, Repos: s.Repos, Projects: s.Projects, Accounts: s.Accounts, URLs: s.URLs}
	for _, things := range parts[noteable.Provider](s) {
		s.Kinds.Add(things)
	}
	s.Awards = award.New(need(c, award.Deps{DB: d.DB, Policy: s.Policy, Bus: d.Bus, Kinds: s.Kinds, Now: d.Now}))
	s.Subscriptions = subscription.New(need(c, subscription.Deps{DB: d.DB, Policy: s.Policy, Labels: s.Labels, Kinds: s.Kinds, Now: d.Now}))
	s.Commands = quickaction.New(need(c, quickaction.Deps{
		Times: s.Times, Policy: s.Policy, Accounts: s.Accounts, Projects: s.Projects, Issues: s.Issues, MergeRequests: s.MergeRequests, Epics: s.Epics, Milestones: s.Milestones,
		Iterations: s.Iterations, Boards: s.Boards, References: s.References, Awards: s.Awards, Subscriptions: s.Subscriptions, Repos: s.Repos, Now: d.Now,
	}))
	s.Notes = note.New(need(c, note.Deps{
		DB: d.DB, Policy: s.Policy, Bus: d.Bus, Accounts: s.Accounts, Awards: s.Awards, Jobs: d.Jobs, Projects: s.Projects, Repos: s.Repos, Limits: s.Limits, Now: d.Now, Commands: s.Commands,
		Texts: reference.NewReader(s.URLs), Kinds: s.Kinds,
	}))
	s.Payloads = payload.New(need(c, payload.Deps{
		DB: d.DB, Accounts: s.Accounts, Namespaces: s.Namespaces, Projects: s.Projects, Repos: s.Repos, Protections: s.Protections, Issues: s.Issues,
		MergeRequests: s.MergeRequests, Snippets: s.Snippets, Wikis: s.Wikis, CI: s.CI, Runners: s.Runners, Notes: s.Notes, Times: s.Times, URLs: s.URLs,
		Now: d.Now,
	}))
	s.StatusChecks = statuscheck.New(need(c, statuscheck.Deps{
		DB: d.DB, Policy: s.Policy, Bus: d.Bus, MergeRequests: s.MergeRequests, Payloads: s.Payloads,
		Outbound: s.outbound(), Settings: s.Settings, Box: d.Box, Jobs: d.Jobs, Now: d.Now, URLs: s.URLs,
	}))
	s.Drafts = draftnote.New(need(c, draftnote.Deps{DB: d.DB, Notes: s.Notes, MergeRequests: s.MergeRequests, Now: d.Now}))
	s.Suggestions = suggestion.New(need(c, suggestion.Deps{
		DB: d.DB, Accounts: s.Accounts, Projects: s.Projects, MergeRequests: s.MergeRequests, Repos: s.Repos, Notes: s.Notes,
	}))
	s.Todos = todo.New(need(c, todo.Deps{
		DB: d.DB, Policy: s.Policy, Subscriptions: s.Subscriptions, Approvals: s.Approvals,
		Namespaces: s.Namespaces, Texts: reference.NewReader(s.URLs), Kinds: s.Kinds, Now: d.Now,
	}))
	s.Commands.Register(s.Todos.Commands()...)
	s.Commands.Register(s.Approvals.Commands()...)
	s.WorkItems = workitem.New(need(c, workitem.Deps{
		DB: d.DB, Issues: s.Issues, Epics: s.Epics, Namespaces: s.Namespaces, Notes: s.Notes, Awards: s.Awards,
		Subscriptions: s.Subscriptions, Todos: s.Todos,
	}))
	s.Notifications = notify.New(need(c, notify.Deps{
		DB: d.DB, Policy: s.Policy, Kinds: s.Kinds, Accounts: s.Accounts, Projects: s.Projects,
		Repos: s.Repos, CI: s.CI, Namespaces: s.Namespaces, Notes: s.Notes, Subscriptions: s.Subscriptions, Todos: s.Todos, References: s.References, Settings: s.Settings, Appearance: s.Appearance,
		URLs: s.URLs, Signer: d.Box.Signer(), Jobs: d.Jobs, Log: d.Log, Now: d.Now, Out: d.Mail,
	}))
}

// finding builds what only reads.
func (s *Services) finding(c *check, d Deps) {
	s.Search = search.New(need(c, search.Deps{
		Limits: s.Limits, DB: d.DB, Policy: s.Policy, Accounts: s.Accounts, Projects: s.Projects, Issues: s.Issues, MergeRequests: s.MergeRequests,
		Milestones: s.Milestones, Notes: s.Notes, Snippets: s.Snippets, Wikis: s.Wikis, Repos: s.Repos,
		Kinds: s.Kinds,
	}))
}

// reactions builds what only reacts to events.
func (s *Services) reactions(c *check, d Deps) {
	s.SystemNotes = systemnote.New(need(c, systemnote.Deps{
		Times: s.Times, Notes: s.Notes, Kinds: s.Kinds, Users: s.Accounts, References: s.References, Now: d.Now,
		Code: systemnote.Code{Accounts: s.Accounts, Projects: s.Projects, Repos: s.Repos, Jobs: d.Jobs},
	}))
	s.Events = resourceevent.New(need(c, resourceevent.Deps{DB: d.DB, Policy: s.Policy, Notes: s.Notes, MergeRequests: s.MergeRequests}))
	s.Activity = activity.New(need(c, activity.Deps{
		DB: d.DB, Policy: s.Policy, Settings: s.Settings, Kinds: s.Kinds, Notes: s.Notes, Wikis: s.Wikis, Now: d.Now,
	}))
	s.Audit = audit.New(need(c, audit.Deps{DB: d.DB, Policy: s.Policy, Signer: d.Box.Signer(), Log: d.Log, Now: d.Now}))
	s.HookEvents = hookevent.New(need(c, hookevent.Deps{
		DB: d.DB, Settings: s.Settings, Accounts: s.Accounts, Projects: s.Projects, Payloads: s.Payloads, Jobs: d.Jobs, Log: d.Log, Now: d.Now,
	}))
	s.ServiceHooks = servicehook.New(need(c, servicehook.Deps{
		DB: d.DB, Settings: s.Settings, Integrations: s.Integrations, Outbound: s.outbound(), Accounts: s.Accounts, Projects: s.Projects, Repos: s.Repos, CI: s.CI,
		Appearance: s.Appearance, Sender: d.Mail.Sender, URLs: s.URLs, Jobs: d.Jobs, Log: d.Log,
	}))
	s.Live = live.New(need(c, live.Deps{DB: d.DB, Log: d.Log}))
}

// connect returns services what they need of those that are above them.
func (s *Services) connect(c *check) {
	connect(c, s.Namespaces, namespace.Above{Accounts: s.Accounts})
	connect(c, s.Accounts, account.Above{Executors: parts[account.Executor](s)})
	connect(c, s.Projects, project.Above{Repositories: s.Repos, Heads: s.Repos, LargeFiles: s.LFS, Attached: s.Repos, Uploads: s.Uploads, Emptiers: parts[project.Emptier](s)})
	connect(c, s.Protections, protection.Above{Collaborators: s.MergeRequests})
	connect(c, s.Repos, repo.Above{MergeRequests: s.MergeRequests})
	connect(c, s.References, reference.Above{Finders: parts[reference.Finder](s)})
	connect(c, s.Times, timelog.Above{Issues: s.Issues, MergeRequests: s.MergeRequests})
	connect(c, s.Issues, issue.Above{
		MergeRequests: s.MergeRequests, Epics: s.Epics, Subscriptions: s.Subscriptions, Commands: s.Commands, Discussions: s.Notes,
	})
	connect(c, s.Payloads, payload.Above{Deployments: Part[*deploy.Service](s), Releases: Part[*release.Service](s)})
	connect(c, s.HookEvents, hookevent.Above{Recipients: parts[payload.Recipient](s)})
	connect(c, s.Epics, epic.Above{Commands: s.Commands})
	connect(c, s.MergeRequests, mergerequest.Above{
		Deployments:   Part[*deploy.Service](s),
		Subscriptions: s.Subscriptions, Approvals: s.Approvals, Commands: s.Commands, Requirements: []mergerequest.Requirement{s.Approvals, s.StatusChecks},
	})
	c.connected(s)
}

package mergerequest

import (
	"log/slog"
	"sync"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/base/event"
	"tenon/internal/base/job"
	"tenon/internal/core/account"
	"tenon/internal/core/authz"
	"tenon/internal/core/ci"
	"tenon/internal/core/label"
	"tenon/internal/core/milestone"
	"tenon/internal/core/project"
	"tenon/internal/core/protection"
	"tenon/internal/core/reference"
	"tenon/internal/core/repo"
	"tenon/internal/core/setting"
	"tenon/internal/core/timelog"
	"tenon/internal/core/weburl"
)

// Deps are what the service is built on.
type Deps struct {
	DB          *db.DB
	Policy      *authz.Policy
	Bus         *event.Bus
	Accounts    *account.Service
	Projects    *project.Service
	Repos       *repo.Service
	Protections *protection.Service
	Labels      *label.Service
	Milestones  *milestone.Service
	Issues      Issues
	Times       *timelog.Service
	CI          *ci.Service
	References  *reference.Service
	Settings    *setting.Store
	Jobs        job.Enqueuer
	Log         *slog.Logger
	Now         func() time.Time
	URLs        *weburl.Site // stands in commit messages
}

// Service reads, changes and merges merge requests. It is safe for concurrent use.
type Service struct {
	db          *db.DB
	policy      *authz.Policy
	bus         *event.Bus
	accounts    *account.Service
	projects    *project.Service
	repos       *repo.Service
	protections *protection.Service
	labels      *label.Service
	milestones  *milestone.Service
	issues      Issues
	times       *timelog.Service
	ci          *ci.Service
	references  *reference.Service
	reader      reference.Reader
	settings    *setting.Store
	log         *slog.Logger
	now         func() time.Time
	urls        *weburl.Site
	columns     string // of MergeRequest, under the alias m
	jobs        job.Enqueuer

	above Above

	merging sync.Map          // ID of each request whose merge runs in this process
	lanes   [64]chan struct{} // merges into one target branch follow one another
	tracks  [16]chan struct{} // so do the jobs of the train of one branch

	tried sync.Map // trials to the time when they were made last, of the last seconds

	expiring sync.Mutex
	expired  string // the day of the last OwnerExpiry, YYYY-MM-DD
}

// New builds the service.
func New(d Deps) *Service {
	s := &Service{
		db: d.DB, policy: d.Policy, bus: d.Bus, accounts: d.Accounts, projects: d.Projects, repos: d.Repos, protections: d.Protections,
		labels: d.Labels, milestones: d.Milestones, issues: d.Issues, times: d.Times, ci: d.CI, references: d.References, settings: d.Settings, jobs: d.Jobs, log: d.Log, now: d.Now, urls: d.URLs,
		columns: db.Columns[MergeRequest]("m"),
	}
	s.reader = reference.NewReader(d.URLs)
	for i := range s.lanes {
		s.lanes[i] = make(chan struct{}, 1)
	}
	for i := range s.tracks {
		s.tracks[i] = make(chan struct{}, 1)
	}
	return s
}

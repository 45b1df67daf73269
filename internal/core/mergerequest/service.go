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
	"tenon/internal/core/limit"
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
	URLs        *weburl.Site // is in commit messages
	Limits      *limit.Service
}

// Service reads, changes and merges merge requests. It is safe for concurrent use.
type Service struct {
	Deps

	reader reference.Reader

	columns string // of MergeRequest, under the alias m

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
	s := &Service{Deps: d, columns: db.Columns[MergeRequest]("m")}
	s.reader = reference.NewReader(d.URLs)
	for i := range s.lanes {
		s.lanes[i] = make(chan struct{}, 1)
	}
	for i := range s.tracks {
		s.tracks[i] = make(chan struct{}, 1)
	}
	return s
}

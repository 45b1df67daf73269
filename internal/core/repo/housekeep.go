package repo

import (
	"context"
	"fmt"
	"sync"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/base/gitcmd"
	"tenon/internal/base/gitstore"
	"tenon/internal/base/job"
	"tenon/internal/core/authz"
	"tenon/internal/core/project"
)

// Housekeeping is the job that keeps a repository fast.
type Housekeeping struct {
	ProjectID  project.ID `json:"project_id"`
	AttachedID AttachedID `json:"attached_id,omitempty"` // of the repository of a wiki or snippet instead
}

// Kind names the job.
func (Housekeeping) Kind() string { return "repository_housekeeping" }

// pushes counts the pushes to each repository since the server was started. The zero value
// is ready.
type pushes[K comparable] struct {
	mu    sync.Mutex
	count map[K]int
}

// next reports whether a repository is due: at the first push and each time so many
// pushes have come since.
func (p *pushes[K]) next(id K, every int) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.count == nil {
		p.count = make(map[K]int)
	}
	n, seen := p.count[id]
	if seen && n < every {
		p.count[id] = n + 1
		return false
	}
	p.count[id] = 1
	return true
}

// Due reports whether a push that has just happened is one after which the repository
// is to be looked at, as the settings say. It counts the call as the push.
func (s *Service) Due(id project.ID) bool {
	settings := s.Settings.Current()
	return settings.HousekeepingEnabled && s.pushes.next(id, settings.HousekeepingOptimizeRepositoryPeriod)
}

// What a repository may hold before it is tidied.
const (
	looseObjects = 200     // files of a small repository
	looseEvery   = 4 << 10 // bytes of packs for which a large one may hold one more
	looseMost    = 1000
	fewPacks     = 8       // packs
	bitmapFrom   = 1 << 20 // bytes of packs that are worth a bitmap
)

// loose is how many loose objects a repository may hold before it is tidied: the more the larger it
// is, for tidying takes longer then.
func loose(s gitstore.Storage) int {
	return int(min(looseMost, looseObjects+s.PackBytes/looseEvery))
}

// RequestEvery is the least time between two requests for housekeeping.
const RequestEvery = time.Hour

// RequestHousekeeping has the repository of a project tidied in the background; Conflict
// where that was asked for within the hour.
func (s *Service) RequestHousekeeping(ctx context.Context, as authz.Actor, p *project.Project) error {
	if err := s.Policy.Require(ctx, as, authz.AdminProject, p.Subject()); err != nil {
		return err
	}
	now := s.Now()
	return s.DB.InTx(ctx, func(ctx context.Context) error {
		noted, err := s.DB.Exec(ctx, `INSERT INTO housekeeping_requests (project_id, requested_at) VALUES (?, ?)
			ON CONFLICT (project_id) DO UPDATE SET requested_at = excluded.requested_at WHERE housekeeping_requests.requested_at <= ?`,
			p.ID, db.At(now), db.At(now.Add(-RequestEvery)))
		if err != nil {
			return fmt.Errorf("note request for housekeeping: %w", err)
		}
		if noted == 0 {
			return errs.New(errs.Conflict, fmt.Sprintf("Somebody already triggered housekeeping for this resource in the past %.0f minutes",
				RequestEvery.Minutes()))
		}
		return s.Jobs.Enqueue(ctx, Housekeeping{ProjectID: p.ID})
	})
}

// RegisterJobs says how repositories are filled, measured and kept in order.
func (s *Service) RegisterJobs(r *job.Registry) {
	job.Register(r, s.Housekeep, job.On(job.Maintenance), job.Unique(), job.Low(), job.Attempts(3), job.Timeout(time.Hour))
	job.Register(r, s.Measure, job.Unique(), job.Low(), job.Attempts(3), job.Timeout(10*time.Minute))
	job.Register(r, s.FillTemplate, job.Attempts(5), job.Timeout(5*time.Minute))
	job.Register(r, s.FillFork, job.Attempts(5), job.Timeout(time.Hour))
	job.Register(r, s.LeavePool, job.On(job.Maintenance))
	job.Register(r, s.SweepPools, job.On(job.Maintenance), job.Unique(), job.Low())
	job.Every(r, 24*time.Hour, PoolSweep{})
	job.Register(r, s.CheckDue, job.On(job.Maintenance), job.Unique(), job.Low(), job.Attempts(1), job.Timeout(time.Hour))
	job.Every(r, 24*time.Hour, RepositoryCheck{})
	job.Register(r, s.SweepAll, job.On(job.Maintenance), job.Unique(), job.Low(), job.Timeout(time.Hour))
	job.Every(r, 24*time.Hour, Sweep{})
	job.Register(r, s.SweepAttached, job.On(job.Maintenance), job.Unique(), job.Low(), job.Timeout(time.Hour))
}

// Housekeep packs a repository where it has become slow to read: all of
// it where a large one has no bitmap, else what came since. It asks for no permission,
// may run beside reads and pushes, and does nothing where there is nothing to do.
func (s *Service) Housekeep(ctx context.Context, args Housekeeping) error {
	err := s.housekeep(ctx, args)
	if err == nil || ctx.Err() != nil {
		return err
	}
	if gone, missing := s.deleted(ctx, args); missing == nil && gone {
		return nil // while it was looked at
	}
	return fmt.Errorf("housekeeping: %w", err)
}

// deleted reports whether the project, wiki or snippet of a repository was deleted.
func (s *Service) deleted(ctx context.Context, args Housekeeping) (bool, error) {
	query, id := "SELECT COUNT(*) FROM projects WHERE id = ?", any(args.ProjectID)
	if args.AttachedID != "" {
		query, id = "SELECT COUNT(*) FROM attached_repositories WHERE name = ?", args.AttachedID
	}
	n, err := db.Get[int64](ctx, s.DB, query, id)
	return n == 0, err
}

func (s *Service) housekeep(ctx context.Context, args Housekeeping) error {
	path := diskPath(args.ProjectID)
	if args.AttachedID != "" {
		path = attachedPath(args.AttachedID)
	}
	r := s.Git.Repo(path)
	if !r.Exists() {
		return nil
	}
	state, err := r.Storage(ctx)
	if err != nil {
		return err
	}
	full := state.PackBytes >= bitmapFrom && !state.Bitmap && !state.Borrows // what borrows has no bitmap
	if !full && state.Loose < loose(state) && state.Packs < fewPacks {
		return nil
	}
	if err := r.Maintain(ctx, gitcmd.Maintenance{Full: full}); err != nil {
		return err
	}
	if args.AttachedID != "" {
		return s.measureAttached(ctx, args.AttachedID, r)
	}
	return s.remeasure(ctx, args.ProjectID, r)
}

// Package importexport moves projects and groups between servers, as archives. What they consist of is described by the packages that own
// the rows and files, see tree; this package names none of them.
package importexport

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"

	"tenon/internal/base/blob"
	"tenon/internal/base/db"
	"tenon/internal/base/event"
	"tenon/internal/base/job"
	"tenon/internal/base/safehttp"
	"tenon/internal/base/secret"
	"tenon/internal/core/account"
	"tenon/internal/core/authz"
	"tenon/internal/core/limit"
	"tenon/internal/core/namespace"
	"tenon/internal/core/project"
	"tenon/internal/core/setting"
	"tenon/internal/core/tree"
	"tenon/internal/core/weburl"
)

// Deps is what a Service is made of.
type Deps struct {
	DB         *db.DB
	Policy     *authz.Policy
	Accounts   *account.Service
	Namespaces *namespace.Service
	Projects   *project.Service
	Settings   *setting.Store
	Limits     *limit.Service
	Objects    *blob.Store
	Outbound   *safehttp.Dialer
	Remote     RemoteImports
	Box        *secret.Box
	Jobs       job.Enqueuer
	Mailer     Mailer
	URLs       *weburl.Site
	Scratch    string // folder of this server for files that a job makes and removes
	Revision   string // of the program
	Log        *slog.Logger
	Now        func() time.Time
	Waits      Waits

	// Providers and Carriers return the services that describe what moves. They are called once.
	Providers func() []tree.Provider
	Carriers  func() []tree.Carrier
	Takers    func() []tree.Taker
}

// Waits bounds how long other servers are waited for. New fills in what is zero.
type Waits struct {
	Answer time.Duration // an answer of a source that is no file
	Pace   safehttp.Pace // the least speed of files and repositories
}

// Mailer sends the mail about an export, in the transaction that ends it.
type Mailer interface {
	// ProjectExported is about an export of a project for a user; failure is "" where the archive can be downloaded.
	ProjectExported(ctx context.Context, p project.ID, user authz.UserID, failure string) error

	// GroupExported is ProjectExported for a group.
	GroupExported(ctx context.Context, g namespace.ID, user authz.UserID, failure string) error
}

// Service exports projects and groups, and imports projects.
type Service struct {
	Deps

	catalogues func() (map[tree.Trees]*tree.Catalogue, error)
	running    sync.Map // IDs of exports, and names of runs of relations, that run in this process
	importing  sync.Map // IDs of imports that run in this process
	filling    project.Running
}

// New builds the service.
func New(d Deps) *Service {
	d.Waits.Answer = cmp.Or(d.Waits.Answer, sourceWithin)
	if d.Waits.Pace.Window == 0 {
		d.Waits.Pace = safehttp.Pace{Floor: atLeast, Window: slowest}
	}
	s := &Service{Deps: d}
	s.catalogues = sync.OnceValues(func() (map[tree.Trees]*tree.Catalogue, error) {
		out := map[tree.Trees]*tree.Catalogue{}
		for _, of := range []tree.Trees{tree.Projects, tree.Groups} {
			all, err := tree.Collect(of, d.Providers()...)
			if err != nil {
				return nil, err
			}
			out[of] = all
		}
		return out, nil
	})
	return s
}

// Catalogue returns the relations that move with a project or with a group.
func (s *Service) Catalogue(of tree.Trees) (*tree.Catalogue, error) {
	all, err := s.catalogues()
	return all[of], err
}

// Open checks the catalogue, and removes what jobs of an earlier process left in the scratch folder.
func (s *Service) Open(context.Context) error {
	if _, err := s.catalogues(); err != nil {
		return fmt.Errorf("relations of projects and groups: %w", err)
	}
	if err := os.RemoveAll(s.Scratch); err != nil {
		return fmt.Errorf("clear scratch folder: %w", err)
	}
	if err := os.MkdirAll(s.Scratch, 0o700); err != nil {
		return fmt.Errorf("make scratch folder: %w", err)
	}
	return nil
}

// Subscribe registers what ends the import of a project that is being deleted, with the requests and git processes that it runs. Other servers
// notice when they store their progress.
func (s *Service) Subscribe(b *event.Bus) {
	s.filling.Subscribe(s.DB, b, "running imports of archives", tree.ErrStop)
}

// RegisterJobs says how projects and groups are exported, and has archives deleted that have expired.
func (s *Service) RegisterJobs(r *job.Registry) {
	job.Register(r, s.run, job.On(job.Moving), job.Unique(), job.Timeout(longest+time.Minute))
	job.Register(r, s.runImport, job.On(job.Moving), job.Unique(), job.Timeout(longest+time.Minute))
	job.Register(r, s.runGroupImport, job.On(job.Moving), job.Unique(), job.Timeout(longest+time.Minute))
	job.Register(r, s.runEntity, job.On(job.Moving), job.Unique(), job.Timeout(longest+time.Minute))
	job.Register(r, s.runRelations, job.On(job.Moving), job.Unique(), job.Timeout(longest+time.Minute))
	job.Register(r, s.Sweep, job.On(job.Maintenance), job.Unique(), job.Low(), job.Timeout(time.Hour))
	job.Every(r, time.Hour, Sweep{})
}

// Package gitimport fills the repositories of new projects from other git servers.
package gitimport

import (
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/base/event"
	"tenon/internal/base/gitcmd"
	"tenon/internal/base/job"
	"tenon/internal/base/safehttp"
	"tenon/internal/base/secret"
	"tenon/internal/core/account"
	"tenon/internal/core/lfs"
	"tenon/internal/core/project"
	"tenon/internal/core/quota"
	"tenon/internal/core/repo"
)

// Deps are what the service is built on.
type Deps struct {
	DB       *db.DB
	Projects *project.Service
	Repos    *repo.Service
	Accounts *account.Service
	LFS      *lfs.Service
	Quota    *quota.Service
	Outbound *safehttp.Dialer // reaches what is imported
	Box      *secret.Box      // opens the credentials of imports
	Max      int64            // bytes that one import may bring, and its large files as much again
	Limits   Limits
	Log      *slog.Logger
}

// Service imports repositories.
type Service struct {
	Deps

	importing project.Running
}

// New builds the service.
func New(d Deps) *Service {
	d.Limits = d.Limits.orDefault()
	return &Service{Deps: d}
}

// Subscribe registers what ends the import of a project, with the git processes that it runs.
func (s *Service) Subscribe(b *event.Bus) {
	s.importing.Subscribe(s.DB, b, "running imports", errCancelled)
}

// Limits bound how long an import may hold a worker.
type Limits struct {
	Listing time.Duration // for the references that the server has; 1 minute where zero
	Whole   time.Duration // for everything; 2 hours where zero
	Pace    safehttp.Pace // of what the server sends; 5,000 bytes a second over 2 minutes where zero
}

func (l Limits) orDefault() Limits {
	l.Listing, l.Whole = cmp.Or(l.Listing, time.Minute), cmp.Or(l.Whole, 2*time.Hour)
	l.Pace.Floor, l.Pace.Window = cmp.Or(l.Pace.Floor, 5000), cmp.Or(l.Pace.Window, 2*time.Minute)
	return l
}

// Timeout is how long the job of an import may take by default.
const Timeout = 2*time.Hour + 5*time.Minute

// Why an import ends before its time.
var (
	errCancelled = errors.New("the project is being deleted")
	errListing   = errors.New("the server did not list its references in time")
	errWhole     = errors.New("the import took too long")
)

// RegisterJobs says how repositories are imported.
func (s *Service) RegisterJobs(r *job.Registry) {
	job.Register(r, s.Import, job.On(job.Outbound), job.Unique(), job.Timeout(Timeout))
}

// Import fills the repository of a new project from another server. What a crash left
// undone, another run does. A failure is the end: from then on people may push, and
// nothing may take their references away.
func (s *Service) Import(ctx context.Context, args project.Import) error {
	whole, end, ok := s.importing.Begin(ctx, args.ProjectID)
	if !ok {
		return nil
	}
	defer end()
	whole, cancel := context.WithTimeoutCause(whole, s.Limits.Whole, errWhole)
	defer cancel()
	defer s.Repos.LockFilling(args.ProjectID)()
	args, wanted, err := s.Projects.Source(ctx, args)
	if err != nil || !wanted {
		return err
	}
	all, err := s.Projects.Load(ctx, []project.ID{args.ProjectID})
	if err != nil {
		return err
	}
	p := all[args.ProjectID]
	if p == nil || !p.Filling() {
		return nil
	}
	if err := s.Projects.RecordImport(ctx, p.ID, project.ImportStarted, ""); err != nil {
		return err
	}
	err = s.importFrom(whole, p, args)
	if err == nil || errors.Is(ctx.Err(), context.Canceled) { // the server stops: the next start goes on
		return err
	}
	if cause := context.Cause(whole); cause != nil {
		err = errors.Join(cause, err)
	}
	noted := s.Projects.RecordImport(context.WithoutCancel(ctx), p.ID, project.ImportFailed, s.importFailure(err))
	if errors.Is(err, errCancelled) {
		return noted
	}
	err = fmt.Errorf("import: %w", err)
	if noted != nil { // still being filled
		return errors.Join(err, noted)
	}
	return job.Permanent(err)
}

func (s *Service) importFrom(ctx context.Context, p *project.Project, args project.Import) (err error) {
	remote, err := s.remote(args)
	if err != nil {
		return err
	}
	at, err := s.Outbound.CheckURL(args.URL)
	if err != nil {
		return err
	}
	r, err := s.Repos.Open(ctx, p)
	if err != nil {
		return err
	}
	limit, err := s.Quota.RepositoryLimit(ctx, p.ID)
	if err != nil {
		return err
	}
	most := s.Max
	if limit > 0 {
		most = min(most, limit+importTalk)
	}
	tunnel, err := s.Outbound.Open(at, most, s.Limits.Pace)
	if err != nil {
		return err
	}
	defer func() {
		err = errors.Join(tunnel.Blocked(), err, tunnel.Close())
		if most < s.Max && errors.Is(err, safehttp.ErrTooMuch) {
			err = errFull(limit)
		}
		if errs.Is(err, errs.TooLarge) { // what came would take the room for ever
			err = errors.Join(err, s.Repos.Clear(context.WithoutCancel(ctx), p))
		}
	}()
	remote.Proxy, remote.Stall = tunnel.Address(), s.Limits.Pace.Stall()
	head, err := s.remoteHead(ctx, r, remote)
	if err != nil {
		return err
	}
	if err := r.FetchAll(ctx, remote); err != nil {
		return err
	}
	if err := s.fits(ctx, r, p, limit); err != nil {
		return err
	}
	note, err := s.importLFS(ctx, p, r, at, remote.Authorization)
	if err != nil {
		return err
	}
	return s.Repos.Filled(ctx, p, r, head, note)
}

func (s *Service) remoteHead(ctx context.Context, r *gitcmd.Repo, remote gitcmd.Remote) (string, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, s.Limits.Listing, errListing)
	defer cancel()
	return r.RemoteHead(ctx, remote)
}

// importTalk is how many bytes an import may take for what is no object.
const importTalk = 4 << 20

// fits returns TooLarge where an imported repository has more bytes than its limit.
func (s *Service) fits(ctx context.Context, r *gitcmd.Repo, p *project.Project, limit int64) error {
	if limit <= 0 {
		return nil
	}
	bytes, err := r.Size(ctx)
	if err != nil {
		return fmt.Errorf("measure import: %w", err)
	}
	if bytes > limit {
		return errFull(limit)
	}
	// Large objects count against what is recorded.
	return s.Projects.RecordMeasure(ctx, p.ID, project.Measure{Size: bytes})
}

// errFull is the error of an import that brings more than the repository may take.
func errFull(limit int64) error {
	return errs.New(errs.TooLarge, fmt.Sprintf("The repository is larger than %s, the limit of the project (repository_size_limit).", quota.Bytes(limit)))
}

// remote opens the sealed credentials.
func (s *Service) remote(args project.Import) (gitcmd.Remote, error) {
	m := gitcmd.Remote{URL: args.URL}
	if args.Sealed == "" {
		return m, nil
	}
	text, err := s.Box.Open(project.ImportSecret(args.ProjectID), args.Sealed)
	if err != nil {
		return m, fmt.Errorf("credentials of import: %w", err)
	}
	u, err := url.Parse("http://" + text + "@host")
	if err != nil {
		return m, errors.New("credentials of import cannot be read")
	}
	password, _ := u.User.Password()
	m.Authorization = "Basic " + base64.StdEncoding.EncodeToString([]byte(u.User.Username()+":"+password))
	return m, nil
}

func (s *Service) tooSlow() string {
	return fmt.Sprintf("The server sends too slowly: less than %d bytes a second.", s.Limits.Pace.Floor)
}

// importFailure says in words that may be shown why an import failed.
func (s *Service) importFailure(err error) string {
	if blocked, ok := errors.AsType[*safehttp.BlockedError](err); ok {
		return "Import url " + blocked.Error()
	}
	if full, ok := errors.AsType[*errs.Error](err); ok && full.Kind == errs.TooLarge {
		return full.Message
	}
	switch {
	case errors.Is(err, safehttp.ErrTooMuch):
		return "The repository is too large."
	case errors.Is(err, errCancelled):
		return project.ImportCancelled
	case errors.Is(err, safehttp.ErrTooSlow):
		return s.tooSlow()
	case errors.Is(err, errListing):
		return "The server did not list its branches and tags in time."
	case errors.Is(err, errWhole), errors.Is(err, context.DeadlineExceeded):
		return "The import took too long."
	}
	failed, ok := errors.AsType[*gitcmd.Error](err)
	if !ok {
		return "The repository could not be imported."
	}
	for _, known := range []struct{ said, reason string }{
		{"Operation too slow", s.tooSlow()},
		{"Timeout was reached", s.tooSlow()},
		{"Authentication failed", "The server asks for a user name and a password, or does not accept those given."},
		{"could not read Username", "The server asks for a user name and a password, or does not accept those given."},
		{"error: 403", "The server asks for a user name and a password, or does not accept those given."},
		{"not found", "There is no git repository at the address."},
		{"not valid: is this a git repository", "There is no git repository at the address."},
		{"error: 30", "The address leads to another one, which has to be given instead."},
		{"redirect", "The address leads to another one, which has to be given instead."},
		{"fsck error", "The repository has objects that are broken."},
		{"mismatched algorithms", "The repository has objects of another format."},
	} {
		if strings.Contains(failed.Stderr, known.said) {
			return known.reason
		}
	}
	return "The repository could not be fetched."
}

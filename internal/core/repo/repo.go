// Package repo holds the git repositories of projects, and those of wikis and snippets:
// reading them, judging what is pushed, and moving references so that the database and git
// agree after a crash. Rules that protect branches and tags are package protection's; those
// of a wiki or snippet are its package's, see [Attached].
package repo

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/base/event"
	"tenon/internal/base/gitcmd"
	"tenon/internal/base/gitstore"
	"tenon/internal/base/intx"
	"tenon/internal/base/job"
	"tenon/internal/base/lastuse"
	"tenon/internal/base/lru"
	"tenon/internal/base/spool"
	"tenon/internal/core/account"
	"tenon/internal/core/authz"
	"tenon/internal/core/broadcast"
	"tenon/internal/core/deploykey"
	"tenon/internal/core/lfs"
	"tenon/internal/core/limit"
	"tenon/internal/core/project"
	"tenon/internal/core/protection"
	"tenon/internal/core/pushrule"
	"tenon/internal/core/quota"
	"tenon/internal/core/setting"
	"tenon/internal/core/token"
	"tenon/internal/core/weburl"
)

// Deps are what the service is built on.
type Deps struct {
	DB          *db.DB
	Policy      *authz.Policy
	Bus         *event.Bus
	Git         *gitcmd.Git
	Settings    *setting.Store
	Limits      *limit.Service
	Projects    *project.Service
	Accounts    *account.Service
	Tokens      *token.Service
	Keys        *deploykey.Service // whose pushes are those of a user
	LFS         *lfs.Service
	Quota       *quota.Service
	Protections *protection.Service
	Broadcasts  *broadcast.Service `wire:"optional"` // nil shows none
	Archives    *spool.Cache       // where archives are kept
	Packs       *spool.Cache       // where answers to those who fetch are kept
	Fetches     FetchLimits

	Jobs      job.Enqueuer
	PushRules *pushrule.Service // what pushed commits must look like

	Log  *slog.Logger
	Now  func() time.Time
	URLs *weburl.Site

	ArchiveLarge int64 // bytes of large objects that any archive may hold, however small the project; 0 is 1 GiB
}

// Service reads and changes repositories.
type Service struct {
	Deps

	fetches  *gate
	receives *gate
	streams  *gate

	languages *lru.Cache // of folders

	downloads downloads

	above Above

	made    sync.Map           // project.ID and AttachedID of repositories known to exist on disk
	locks   locks[lockKey]     // one commit through the API at a time on a branch
	writing locks[AttachedID]  // one change at a time of a wiki or snippet
	notices notices            // what those who push read besides
	pushes  pushes[project.ID] // which repositories are due for housekeeping
	changes pushes[AttachedID] // the same of wikis and snippets
	moving  sync.Map           // id of each intention whose references move in this process
	sizes   sizes              // of repositories that have a limit

	asked, worked atomic.Uint64 // requests of those who fetch, and those of them that git worked on

	counted  lastuse.Counts[fetchDay] // fetches that are not written down yet
	flushing lastuse.Loop
}

// MergeRequests is what repositories need of merge requests, which are above them.
type MergeRequests interface {
	// PushHint returns the lines that a person who pushed these branches reads, such as
	// where to open a merge request.
	PushHint(ctx context.Context, as authz.Actor, p *project.Project, branches []string) (string, error)
	// PushOptions does what the options of a push ask for after its references have
	// moved, and returns what the person who pushed is warned of.
	PushOptions(ctx context.Context, as authz.Actor, p *project.Project, changes []RefChange, options []string) (string, error)
	// Requested returns the branches of a project that open merge requests come from or go
	// to.
	Requested(ctx context.Context, id project.ID) (map[string]bool, error)
}

// Above is what is above repositories.
type Above struct {
	MergeRequests MergeRequests
}

// Connect gives the service what is above it, once and before the first use.
func (s *Service) Connect(a Above) { s.above = a }

// New builds the service. Call Connect before the first use.
func New(d Deps) *Service {
	d.ArchiveLarge = cmp.Or(d.ArchiveLarge, 1<<30)
	return &Service{
		Deps: d, fetches: newGate(d.Fetches), receives: newGate(pushLimits), streams: newGate(streamLimits), languages: lru.New(languageCache),
	}
}

// diskPath returns a repository's place below the root of its storage. It is derived from
// the project's id alone, so that renames and transfers move nothing.
func diskPath(id project.ID) string {
	sum := sha256.Sum256([]byte(strconv.FormatInt(int64(id), 10)))
	name := hex.EncodeToString(sum[:])
	return filepath.Join("@hashed", name[:2], name[2:4], name+".git")
}

// DiskPath returns the repository's place below the root of its storage, without the
// ending. It requires ReadStorage.
func (s *Service) DiskPath(ctx context.Context, as authz.Actor, p *project.Project) (string, error) {
	if err := s.Policy.Require(ctx, as, authz.ReadStorage, p.Subject()); err != nil {
		return "", err
	}
	return strings.TrimSuffix(diskPath(p.ID), ".git"), nil
}

// Open returns the repository of a project. One that a crash kept from being made is made
// now.
func (s *Service) Open(ctx context.Context, p *project.Project) (*gitcmd.Repo, error) {
	intx.MustNot(ctx, "a repository is opened")
	r := s.Git.Repo(diskPath(p.ID))
	if _, ok := s.made.Load(p.ID); ok {
		return r, nil
	}
	if !r.Exists() {
		// An import, a fork and a reader of the new project may all come here at once.
		if err := r.Init(ctx, s.firstBranch(p)); err != nil && !errors.Is(err, gitstore.ErrExists) {
			return nil, fmt.Errorf("make repository: %w", err)
		}
	}
	s.made.Store(p.ID, struct{}{})
	return r, nil
}

// firstBranch is the branch that HEAD of a new repository names.
func (s *Service) firstBranch(p *project.Project) string {
	if p.DefaultBranch != nil && *p.DefaultBranch != "" {
		return *p.DefaultBranch
	}
	if name := p.InitialBranch(); name != "" {
		return name
	}
	return s.Settings.Current().Branch()
}

// Create makes the repository of a new project, with a first commit where asked for.
func (s *Service) Create(ctx context.Context, p *project.Project, opts project.CreateOptions) error {
	r, err := s.Open(ctx, p)
	if err != nil {
		return err
	}
	if opts.DefaultBranch != "" {
		head, err := gitstore.BranchRef(opts.DefaultBranch)
		if err != nil {
			return fmt.Errorf("first branch: %w", err)
		}
		if err := r.SetHead(ctx, head); err != nil {
			return fmt.Errorf("first branch: %w", err)
		}
	}
	if !opts.Readme || p.DefaultBranch != nil {
		return nil
	}
	if err := s.writeReadme(ctx, opts.By, p, opts.DefaultBranch); err != nil {
		return err
	}
	return s.Measure(ctx, Measuring{p.ID}) // so that the answer names the README
}

// Remove deletes the repository.
func (s *Service) Remove(ctx context.Context, p *project.Project) error {
	defer s.locks.lock(fillLock(p.ID))()
	s.made.Delete(p.ID)
	s.sizes.forget(p.ID)
	if err := s.Git.Repo(diskPath(p.ID)).Remove(ctx); err != nil {
		return fmt.Errorf("remove repository: %w", err)
	}
	return s.quitPool(ctx, p.ID)
}

// Clear removes what the repository holds, where its filling failed. It asks for no permission and is for core.
func (s *Service) Clear(ctx context.Context, p *project.Project) error {
	s.made.Delete(p.ID)
	if err := s.Git.Repo(diskPath(p.ID)).Remove(ctx); err != nil {
		return fmt.Errorf("clear repository: %w", err)
	}
	return nil
}

// Empty reports whether the repository has no branch.
func (s *Service) Empty(ctx context.Context, p *project.Project) (bool, error) {
	if p.DefaultBranch != nil {
		return false, nil
	}
	r, err := s.Open(ctx, p)
	if err != nil {
		return false, err
	}
	refs, err := r.Refs(ctx, gitstore.Branches)
	if err != nil {
		return false, fmt.Errorf("list branches: %w", err)
	}
	return len(refs) == 0, nil
}

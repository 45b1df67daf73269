package project

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/base/event"
	"tenon/internal/base/job"
	"tenon/internal/base/safehttp"
	"tenon/internal/base/secret"
	"tenon/internal/core/account"
	"tenon/internal/core/attribute"
	"tenon/internal/core/authz"
	"tenon/internal/core/limit"
	"tenon/internal/core/namespace"
	"tenon/internal/core/setting"
)

// Repositories makes and removes the git repositories of projects. The package repo
// implements it.
type Repositories interface {
	// Create makes the repository of a new project. It is called after the project's
	// row is committed and may be called again for the same project.
	Create(ctx context.Context, p *Project, opts CreateOptions) error
	// Remove deletes the repository; one that is gone already is no error.
	Remove(ctx context.Context, p *Project) error
}

// Heads knows the branches of repositories and makes another one the default. The package
// repo implements it.
type Heads interface {
	// HasBranch reports whether the project's repository has a branch.
	HasBranch(ctx context.Context, p *Project, branch string) (bool, error)
	// SetHead points HEAD of the project's repository to a branch; NotFound where there
	// is no such branch.
	SetHead(ctx context.Context, p *Project, branch string) error
}

// CreateOptions says what a new repository starts with.
type CreateOptions struct {
	By            authz.Actor
	DefaultBranch string // name of the branch that HEAD points to
	Readme        bool   // start with a README.md and the commit "Initial commit"
	ObjectFormat  string // sha1 or sha256
}

// Deps are what the service is built on.
type Deps struct {
	DB         *db.DB
	Policy     *authz.Policy
	Bus        *event.Bus
	Accounts   *account.Service
	Attributes *attribute.Service
	Namespaces *namespace.Service
	Settings   *setting.Store
	Now        func() time.Time
	Jobs       job.Enqueuer
	Outbound   *safehttp.Dialer // checks addresses to import from
	Box        *secret.Box      // seals the credentials of imports until they run
	Imports    ImportCaps
	Limits     *limit.Service
}

// Service reads and changes projects.
type Service struct {
	Deps

	above Above
}

// Above is what projects need of packages that are above this one.
type Above struct {
	Repositories Repositories
	Heads        Heads
	LargeFiles   LargeFiles
	Attached     Attached
	Uploads      Uploads
	Emptiers     []Emptier
}

// Emptier deletes what a group or project that is being deleted has much of, in transactions of a bounded size. What is left goes
// with the group or project, in one. The package webhook implements it.
type Emptier interface {
	Empty(ctx context.Context, of authz.NamespaceID) error
}

// Connect gives the service what is above it, once and before the first use.
func (s *Service) Connect(a Above) { s.above = a }

// New builds the service. Call Connect before the first use.
func New(d Deps) *Service {
	d.Imports = ImportCaps{Running: cmp.Or(d.Imports.Running, 8), PerUser: cmp.Or(d.Imports.PerUser, 2)}
	return &Service{Deps: d}
}

// CountIssues adds to the number of open issues, and to that of those which are not
// confidential, in the transaction that changes them. It asks for no permission.
func (s *Service) CountIssues(ctx context.Context, id ID, all, public int64) error {
	if all == 0 && public == 0 {
		return nil
	}
	if _, err := s.DB.Exec(ctx, `UPDATE projects SET open_issues_count = open_issues_count + ?,
		public_open_issues_count = public_open_issues_count + ? WHERE id = ?`, all, public, id); err != nil {
		return fmt.Errorf("count open issues: %w", err)
	}
	return nil
}

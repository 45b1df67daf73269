package project

import (
	"context"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/core/authz"
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

// CreateOptions says what a new repository starts with.
type CreateOptions struct {
	By            authz.Actor
	DefaultBranch string // name of the branch that HEAD points to
	Readme        bool   // start with a README.md and the commit "Initial commit"
	ObjectFormat  string // sha1 or sha256
}

// Deps are what the service is built on.
type Deps struct {
	DB     *db.DB
	Policy *authz.Policy
	Now    func() time.Time
}

// Service reads and changes projects.
type Service struct {
	db     *db.DB
	policy *authz.Policy
	now    func() time.Time

	// Repositories is set once by the application before the first call.
	Repositories Repositories
}

// New builds the service.
func New(deps Deps) *Service {
	return &Service{db: deps.DB, policy: deps.Policy, now: deps.Now}
}

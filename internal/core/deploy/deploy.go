// Package deploy keeps the environments of projects, and what was deployed to them.
package deploy

import (
	"context"
	"log/slog"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/base/event"
	"tenon/internal/base/job"
	"tenon/internal/core/account"
	"tenon/internal/core/authz"
	"tenon/internal/core/ci"
	"tenon/internal/core/namespace"
	"tenon/internal/core/project"
	"tenon/internal/core/protection"
	"tenon/internal/core/repo"
)

// Deps is what a Service is made of.
type Deps struct {
	DB          *db.DB
	Policy      *authz.Policy
	Bus         *event.Bus
	Accounts    *account.Service
	Namespaces  *namespace.Service
	Projects    *project.Service
	Repos       *repo.Service
	CI          *ci.Service
	Protections *protection.Service
	Jobs        job.Enqueuer
	Now         func() time.Time
	Log         *slog.Logger
}

// Service reads and changes environments and deployments. It is safe for concurrent use.
type Service struct {
	Deps
}

// New builds the service.
func New(d Deps) *Service {
	return &Service{Deps: d}
}

// subject is the project for the abilities of environments.
func subject(p *project.Project) authz.Subject { return p.SubjectIn("environments") }

// reading is the ability to read the environments and deployments of a project.
func reading(p *project.Project) authz.Ability {
	if p.Settings().PublicJobs {
		return authz.ReadEnvironment
	}
	return authz.ReadPrivateEnvironment
}

// readable requires the right to read environments and deployments of a project.
func (s *Service) readable(ctx context.Context, as authz.Actor, p *project.Project) error {
	return s.Policy.Require(ctx, as, reading(p), subject(p))
}

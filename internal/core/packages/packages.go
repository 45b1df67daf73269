// Package packages keeps the packages of projects, and the Debian distributions of projects and groups.
package packages

import (
	"context"
	"log/slog"
	"time"

	"tenon/internal/base/blob"
	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/base/event"
	"tenon/internal/base/job"
	"tenon/internal/base/lru"
	"tenon/internal/base/secret"
	"tenon/internal/core/account"
	"tenon/internal/core/authz"
	"tenon/internal/core/ci"
	"tenon/internal/core/planlimit"
	"tenon/internal/core/project"
	"tenon/internal/core/quota"
	"tenon/internal/core/setting"
)

// The refusals that transports word otherwise than the rest of their kind.
const (
	CodeOff     errs.Code = "no package registry"  // NotFound: the place has none
	CodeInvalid errs.Code = "parameter is invalid" // Invalid: the message names the parameter
)

// Deps is what a Service is made of.
type Deps struct {
	DB       *db.DB
	Policy   *authz.Policy
	Bus      *event.Bus
	Accounts *account.Service
	Projects *project.Service
	CI       *ci.Service
	Quota    *quota.Service
	Plans    *planlimit.Service
	Objects  *blob.Store
	Box      *secret.Box
	Jobs     job.Enqueuer
	Mailer   Mailer
	Settings *setting.Store
	Now      func() time.Time
	Log      *slog.Logger

	NoDebian bool   // the server has no Debian distributions
	Email    string // address in the user ids of signing keys
	KeyBits  int    // of signing keys; zero is 4096
}

// Mailer sends mail in the transaction of its reason.
type Mailer interface {
	// PackageRefused is about a package that a user uploaded and that could not be published; failure begins with the name of the file.
	PackageRefused(ctx context.Context, p project.ID, user authz.UserID, failure string) error
}

// Service keeps packages. It is safe for concurrent use.
type Service struct {
	Deps

	texts *lru.Cache // of Release files, by releaseKey
}

const textBytes = 8 << 20 // of Release files in memory

// New builds the service.
func New(d Deps) *Service {
	return &Service{Deps: d, texts: lru.New(textBytes)}
}

// public is the access level of a registry that anybody may read, where the instance allows it.
const public = "public"

// opens reports whether the instance allows projects to open their registry to anybody.
func (s *Service) opens() bool { return s.Settings.Current().PackageRegistryAllowAnyoneToPullOption }

// access returns the access level of the registry of a project; disabled is none.
func (s *Service) access(p *project.Project) string {
	if !p.Settings().PackagesEnabled {
		return "disabled"
	}
	level := p.Access("package_registry")
	if level == public && !s.opens() {
		return "enabled"
	}
	return level
}

// subject is a project for the abilities on packages: one with a public registry is open to all, whatever its visibility.
func (s *Service) subject(p *project.Project) authz.Subject {
	of := p.Subject()
	if s.access(p) == public {
		of.Visibility = authz.Public
	}
	return of
}

// Project finds a project whose packages the actor may know of. Those who may not see a private project find it if its registry is public.
func (s *Service) Project(ctx context.Context, as authz.Actor, ref string) (*project.Project, error) {
	return s.Projects.FindAs(ctx, as, ref, s.subject)
}

// openTo returns the least visibility of projects and groups whose packages an actor reads without being a member: external users are no more to
// internal ones than members are to private ones.
func openTo(as authz.Actor) authz.Visibility {
	if as.External {
		return authz.Public
	}
	return authz.Internal
}

// MayRead requires the right to read the packages of a project or group.
func (s *Service) MayRead(ctx context.Context, as authz.Actor, at authz.Place) error {
	if at.Group {
		if at.Subject.Visibility < openTo(as) {
			return s.Policy.Require(ctx, as, authz.ReadPrivateGroupPackage, at.Subject)
		}
		return s.Policy.Require(ctx, as, authz.ReadGroupPackage, at.Subject)
	}
	p := project.Of(at)
	of, ability := s.subject(p), authz.ReadPackage
	switch s.access(p) {
	case "disabled":
		return errs.Coded(errs.NotFound, CodeOff, "")
	case "private":
		ability = authz.ReadPrivatePackage
	}
	if of.Visibility < openTo(as) {
		ability = authz.ReadPrivatePackage
	}
	return s.Policy.Require(ctx, as, ability, of)
}

// Require requires an ability in a project or group that has a registry.
func (s *Service) Require(ctx context.Context, as authz.Actor, ability authz.Ability, at authz.Place) error {
	if at.Group {
		return s.Policy.Require(ctx, as, ability, at.Subject)
	}
	p := project.Of(at)
	if s.access(p) == "disabled" {
		return errs.Coded(errs.NotFound, CodeOff, "")
	}
	return s.Policy.Require(ctx, as, ability, s.subject(p))
}

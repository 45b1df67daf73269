// Package ci runs pipelines: it makes them from the configuration of a commit, gives their jobs to
// runners, and keeps logs, artifacts and what other systems report of a commit.
package ci

import (
	"context"
	"log/slog"
	"time"

	"golang.org/x/sync/semaphore"

	"tenon/internal/base/blob"
	"tenon/internal/base/db"
	"tenon/internal/base/event"
	"tenon/internal/base/job"
	"tenon/internal/base/lastuse"
	"tenon/internal/base/safehttp"
	"tenon/internal/base/secret"
	"tenon/internal/core/account"
	"tenon/internal/core/authz"
	"tenon/internal/core/idtoken"
	"tenon/internal/core/namespace"
	"tenon/internal/core/project"
	"tenon/internal/core/protection"
	"tenon/internal/core/repo"
	"tenon/internal/core/runner"
	"tenon/internal/core/setting"
	"tenon/internal/core/token"
	"tenon/internal/core/trigger"
	"tenon/internal/core/variable"
	"tenon/internal/core/weburl"
)

// Deps is what a Service is made of.
type Deps struct {
	DB          *db.DB
	Policy      *authz.Policy
	Bus         *event.Bus
	Settings    *setting.Store
	Accounts    *account.Service
	Namespaces  *namespace.Service
	Projects    *project.Service
	Repos       *repo.Service
	Protections *protection.Service
	Runners     *runner.Service
	Variables   *variable.Service
	Triggers    *trigger.Service
	IDTokens    *idtoken.Service
	Tokens      *token.Service
	Objects     *blob.Store
	Jobs        job.Enqueuer
	Box         *secret.Box
	Outbound    *safehttp.Dialer
	URLs        *weburl.Site
	Now         func() time.Time
	Log         *slog.Logger
	Revision    string // of the program
}

// Service runs pipelines. It is safe for concurrent use.
type Service struct {
	db          *db.DB
	policy      *authz.Policy
	bus         *event.Bus
	settings    *setting.Store
	accounts    *account.Service
	namespaces  *namespace.Service
	projects    *project.Service
	repos       *repo.Service
	protections *protection.Service
	runners     *runner.Service
	variables   *variable.Service
	triggers    *trigger.Service
	idTokenKeys *idtoken.Service
	tokens      *token.Service
	revision    string
	objects     *blob.Store
	jobs        job.Enqueuer
	box         *secret.Box
	outbound    *safehttp.Dialer
	urls        *weburl.Site
	now         func() time.Time
	log         *slog.Logger

	waiting  waiting
	peers    *peers
	handouts handouts
	watched  lastuse.Times[StatusID] // logs that users read
	reading  *semaphore.Weighted     // of test reports, which take memory
	pollFor  time.Duration           // how long a runner waits
}

// New builds the service.
func New(d Deps) *Service {
	s := &Service{
		db: d.DB, policy: d.Policy, bus: d.Bus, settings: d.Settings, accounts: d.Accounts, namespaces: d.Namespaces, projects: d.Projects, repos: d.Repos, protections: d.Protections,
		runners: d.Runners, variables: d.Variables, triggers: d.Triggers, idTokenKeys: d.IDTokens, tokens: d.Tokens, revision: d.Revision, objects: d.Objects, jobs: d.Jobs, box: d.Box, outbound: d.Outbound, urls: d.URLs, now: d.Now, log: d.Log,
		pollFor: pollFor, peers: newPeers(), handouts: newHandouts(), reading: semaphore.NewWeighted(reportsAtOnce),
	}
	return s
}

// readable requires the right to read the project's pipelines, which takes more where
// the project does not publish its jobs.
func (s *Service) readable(p *project.Project) authz.Ability {
	if p.Settings().PublicJobs {
		return authz.ReadPipeline
	}
	return authz.ReadPrivatePipeline
}

// MayRead reports whether the actor may read the pipelines of a project.
func (s *Service) MayRead(ctx context.Context, as authz.Actor, p *project.Project) (bool, error) {
	return s.policy.Can(ctx, as, s.readable(p), p.Subject())
}

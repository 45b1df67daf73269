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
	"tenon/internal/core/limit"
	"tenon/internal/core/namespace"
	"tenon/internal/core/planlimit"
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

// Integrations gives jobs the variables of integrations of their project.
type Integrations interface {
	// JobVariables returns those for jobs of any branch or tag, and those for protected ones as well where protected says so.
	JobVariables(ctx context.Context, p *project.Project, protected bool) ([]Variable, error)
}

// Deps is what a Service is made of.
type Deps struct {
	DB          *db.DB
	Policy      *authz.Policy
	Bus         *event.Bus
	Plans       *planlimit.Service
	Settings    *setting.Store
	Limits      *limit.Service
	Accounts    *account.Service
	Namespaces  *namespace.Service
	Projects    *project.Service
	Repos       *repo.Service
	Protections *protection.Service
	Runners     *runner.Service
	Variables   *variable.Service
	Triggers    *trigger.Service
	// Integrations is asked where the project has integrations that give variables.
	Integrations Integrations
	IDTokens     *idtoken.Service
	Tokens       *token.Service
	Objects      *blob.Store
	Jobs         job.Enqueuer
	Box          *secret.Box
	Outbound     *safehttp.Dialer
	URLs         *weburl.Site
	Now          func() time.Time
	Log          *slog.Logger
	Revision     string // of the program
}

// Service runs pipelines. It is safe for concurrent use.
type Service struct {
	Deps

	waiting  waiting
	peers    *peers
	handouts handouts
	watched  lastuse.Times[StatusID] // logs that users read
	reading  *semaphore.Weighted     // of test reports, which take memory
	pollFor  time.Duration           // how long a runner waits
}

// New builds the service.
func New(d Deps) *Service {
	s := &Service{Deps: d, pollFor: pollFor, peers: newPeers(), handouts: newHandouts(), reading: semaphore.NewWeighted(reportsAtOnce)}
	return s
}

// readable requires the right to read the project's pipelines, which takes more where
// the project does not publish its jobs.
func readable(p *project.Project) authz.Ability {
	if p.Settings().PublicJobs {
		return authz.ReadPipeline
	}
	return authz.ReadPrivatePipeline
}

// MayRead reports whether the actor may read the pipelines of a project.
func (s *Service) MayRead(ctx context.Context, as authz.Actor, p *project.Project) (bool, error) {
	return s.Policy.Can(ctx, as, readable(p), p.Subject())
}

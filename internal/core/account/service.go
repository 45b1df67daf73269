package account

import (
	"context"
	"log/slog"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/base/event"
	"tenon/internal/base/job"
	"tenon/internal/base/lastuse"
	"tenon/internal/base/secret"
	"tenon/internal/core/attribute"
	"tenon/internal/core/authz"
	"tenon/internal/core/limit"
	"tenon/internal/core/setting"
	"tenon/internal/core/weburl"
)

// Places makes and renames the namespace that belongs to a person.
type Places interface {
	// CreatePersonal makes the namespace in the transaction of ctx, with its route and
	// with the owner as its member. A path that is taken is db.ErrDuplicate.
	CreatePersonal(ctx context.Context, owner authz.UserID, path, name string) (authz.NamespaceID, error)
	// Rename gives it another path and name in the transaction of ctx. The old path
	// leads to the new one. A path that is taken is db.ErrDuplicate.
	Rename(ctx context.Context, id authz.NamespaceID, path, name string) error
	// Uproot removes it in the transaction of ctx; everything in it must be gone.
	Uproot(ctx context.Context, id authz.NamespaceID) error
	// Indispensable reports, and holds for the transaction of ctx, whether a group has no
	// owner to stay but the user.
	Indispensable(ctx context.Context, user authz.UserID) (bool, error)
}

// Deps is what a Service is made of.
type Deps struct {
	DB         *db.DB
	Policy     *authz.Policy
	Bus        *event.Bus
	Settings   *setting.Store
	Limits     *limit.Service
	Places     Places
	Attributes *attribute.Service
	Hasher     *secret.Hasher
	Now        func() time.Time
	Log        *slog.Logger // nil discards

	URLs *weburl.Site // private addresses end in users.noreply.<its host>

	Jobs job.Enqueuer
}

// Service keeps users. It is safe for concurrent use.
type Service struct {
	Deps

	turns    turns
	people   *summaryCache
	active   lastuse.Times[authz.UserID]
	flushing lastuse.Loop
	watchers []func(authz.UserID)

	above Above
}

// Above is what is above accounts.
type Above struct {
	Executors []Executor // who takes care of what departing users leave, in this order
}

// New builds the service. Call Start to have the activity of users written down.
func New(d Deps) *Service {
	if d.Log == nil {
		d.Log = slog.New(slog.DiscardHandler)
	}
	return &Service{Deps: d, people: newSummaryCache()}
}

// Connect gives the service what is above it, once and before the first use.
func (s *Service) Connect(a Above) { s.above = a }

// Watch has a function called after each commit of a change of a user. It is called once
// for each function, before the first use.
func (s *Service) Watch(changed func(id authz.UserID)) { s.watchers = append(s.watchers, changed) }

// Executors returns those that Connect was given.
func (s *Service) Executors() []Executor { return s.above.Executors }

// CommitHost is the host name of private commit addresses.
func (s *Service) CommitHost() string {
	if name := s.Settings.Current().CommitEmailHostname; name != nil && *name != "" {
		return *name
	}
	return "users.noreply." + s.URLs.Host()
}

// Find returns a user with the whole profile. The actor must be signed in; which fields
// it may see is said at the entities.
func (s *Service) Find(ctx context.Context, as authz.Actor, id authz.UserID) (*User, error) {
	if err := s.mayRead(ctx, as); err != nil {
		return nil, err
	}
	return s.load(ctx, "u.id = ?", id)
}

// ByUsername is Find by username, without regard to case.
func (s *Service) ByUsername(ctx context.Context, as authz.Actor, username string) (*User, error) {
	if err := s.mayRead(ctx, as); err != nil {
		return nil, err
	}
	return s.load(ctx, "u.username_fold = ?", db.Fold(username))
}

// Current returns the actor's own account.
func (s *Service) Current(ctx context.Context, as authz.Actor) (*User, error) {
	if err := s.Policy.Require(ctx, as, authz.ReadOwnUser, authz.Subject{}); err != nil {
		return nil, err
	}
	return s.load(ctx, "u.id = ?", as.UserID)
}

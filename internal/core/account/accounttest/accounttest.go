// Package accounttest has services of users and of their tokens over a database with a first administrator, for the
// tests of both.
package accounttest

import (
	"context"
	"errors"
	"net/url"
	"slices"
	"sync"
	"testing"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/base/event"
	"tenon/internal/base/job"
	"tenon/internal/base/secret"
	"tenon/internal/core/account"
	"tenon/internal/core/attribute"
	"tenon/internal/core/authz"
	"tenon/internal/core/limit"
	"tenon/internal/core/namespace"
	"tenon/internal/core/setting"
	"tenon/internal/core/token"
	"tenon/internal/core/weburl"
)

// RootToken is the token of the first administrator.
const RootToken = "a-token-for-root-of-tests"

// World is the service of users with what it is made of.
type World struct {
	*account.Service
	account.Deps // of the service

	T          *testing.T
	Tokens     *token.Service
	Namespaces *namespace.Service
	Root       authz.Actor
	Enqueue    job.EnqueuerFunc // takes the jobs; nil panics

	mu     sync.Mutex
	now    time.Time
	events []any
}

// New furnishes an empty database. Its clock is at half past ten of 4 May 2026.
func New(t *testing.T, d *db.DB) *World {
	t.Helper()
	w := &World{T: t, now: time.Date(2026, 5, 4, 10, 30, 0, 0, time.UTC)}
	bus := &event.Bus{}
	policy := authz.New(d, w.clock)
	settings := setting.New(d, w.clock)
	w.Namespaces = namespace.New(namespace.Deps{Limits: &limit.Service{}, DB: d, Policy: policy, Bus: bus, Settings: settings, Now: w.clock})
	w.Deps = account.Deps{
		DB: d, Policy: policy, Bus: bus, Settings: settings, Limits: &limit.Service{}, Hasher: secret.NewWeakHasher(), Now: w.clock,
		Attributes: attribute.New(attribute.Deps{DB: d, Policy: policy, Now: w.clock}),
		Places:     w.Namespaces, URLs: weburl.New(&url.URL{Scheme: "https", Host: "tenon.example"}, ""),
		Jobs: job.EnqueuerFunc(func(ctx context.Context, args job.Args, o ...job.Option) error { return w.Enqueue(ctx, args, o...) }),
	}
	Record(w, account.UserCreated{})
	Record(w, account.UserStateChanged{})
	Record(w, account.UserRemoved{})
	Record(w, account.UserUpdated{})
	Record(w, token.Created{})
	Record(w, token.Revoked{})
	w.Service = account.New(w.Deps)
	w.Tokens = token.New(token.Deps{DB: d, Policy: policy, Bus: bus, Settings: settings, Accounts: w.Service, Now: w.clock})
	w.Connect(account.Above{Executors: []account.Executor{w.Tokens}})
	if made, err := w.Tokens.EnsureRoot(t.Context(), token.RootInput{Password: "root's own password", Token: RootToken}); err != nil || !made {
		t.Fatalf("EnsureRoot: got %v, %v, want true", made, err)
	}
	var err error
	if w.Root, _, err = w.Tokens.Authenticate(t.Context(), RootToken); err != nil {
		t.Fatalf("authenticate root: %v", err)
	}
	return w
}

// Record has Events include those of the type of an event.
func Record[E event.Event](w *World, _ E) {
	event.On(w.Bus, "test", func(_ context.Context, e E) error {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.events = append(w.events, e)
		return nil
	})
}

func (w *World) clock() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.now
}

// Pass moves the clock.
func (w *World) Pass(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.now = w.now.Add(d)
}

// Events returns what was published since Forget.
func (w *World) Events() []any {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.events)
}

// Forget drops the events so far.
func (w *World) Forget() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.events = nil
}

// User makes a user and returns it as an actor.
func (w *World) User(name string, change ...func(*account.Input)) (*account.User, authz.Actor) {
	w.T.Helper()
	in := account.Input{Email: name + "@example.com", Username: name, Name: name, ForceRandomPassword: true}
	for _, c := range change {
		c(&in)
	}
	u, err := w.Create(w.T.Context(), w.Root, in)
	if err != nil {
		w.T.Fatalf("create %s: %v", name, err)
	}
	return u, u.Actor()
}

// Token makes a token of a user, with all of the API in its scope unless another is named, and returns it with its secret.
func (w *World) Token(id authz.UserID, name string, scopes ...authz.Scope) (*token.Token, string) {
	w.T.Helper()
	if len(scopes) == 0 {
		scopes = authz.Scopes{authz.ScopeAPI}
	}
	made, key, err := w.Tokens.Create(w.T.Context(), w.Root, id, token.Input{Name: name, Scopes: scopes})
	if err != nil {
		w.T.Fatalf("create token %s: %v", name, err)
	}
	return made, key
}

// WantError compares kind and text of a refusal.
func WantError(t *testing.T, err error, kind errs.Kind, text string) {
	t.Helper()
	var e *errs.Error
	if !errors.As(err, &e) {
		t.Fatalf("got error %v, want %v %q", err, kind, text)
	}
	if e.Kind != kind || e.Error() != text {
		t.Errorf("got %v %q, want %v %q", e.Kind, e.Error(), kind, text)
	}
}

// SameList compares two lists of texts.
func SameList(t *testing.T, what string, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: got %q, want %q", what, got, want)
	}
}

package account_test

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
	"tenon/internal/core/namespace"
	"tenon/internal/core/setting"
	"tenon/internal/core/token"
	"tenon/internal/core/weburl"
)

const rootToken = "a-token-for-root-of-tests"

// house is a service over a fresh database with its first administrator.
type house struct {
	*account.Service
	account.Deps // of the service
	tokens       *token.Service
	t            *testing.T
	d            *db.DB
	places       *namespace.Service
	root         authz.Actor
	jobs         job.EnqueuerFunc // nil panics

	mu     sync.Mutex
	now    time.Time
	events []any
}

func newHouse(t *testing.T, d *db.DB) *house {
	t.Helper()
	h := &house{t: t, d: d, now: time.Date(2026, 5, 4, 10, 30, 0, 0, time.UTC)}
	bus := &event.Bus{}
	record(bus, h, account.UserCreated{})
	record(bus, h, account.UserStateChanged{})
	record(bus, h, account.UserRemoved{})
	record(bus, h, account.UserUpdated{})
	record(bus, h, token.Created{})
	record(bus, h, token.Revoked{})
	policy := authz.New(d, h.clock)
	settings := setting.New(d, h.clock)
	h.places = namespace.New(namespace.Deps{DB: d, Policy: policy, Bus: bus, Settings: settings, Now: h.clock})
	h.Deps = account.Deps{
		DB: d, Policy: policy, Bus: bus, Settings: settings, Hasher: secret.NewWeakHasher(), Now: h.clock,
		Attributes: attribute.New(attribute.Deps{DB: d, Policy: policy, Now: h.clock}),
		Places:     h.places, URLs: weburl.New(&url.URL{Scheme: "https", Host: "tenon.example"}, ""),
		Jobs: job.EnqueuerFunc(func(ctx context.Context, args job.Args, o ...job.Option) error { return h.jobs(ctx, args, o...) }),
	}
	h.Service = account.New(h.Deps)
	h.tokens = token.New(token.Deps{DB: d, Policy: policy, Bus: bus, Settings: settings, Accounts: h.Service, Now: h.clock})
	h.Connect(h.tokens.Depart)
	if made, err := h.tokens.EnsureRoot(t.Context(), token.RootInput{Password: "root's own password", Token: rootToken}); err != nil || !made {
		t.Fatalf("EnsureRoot: got %v, %v, want true", made, err)
	}
	var err error
	if h.root, _, err = h.tokens.Authenticate(t.Context(), rootToken); err != nil {
		t.Fatalf("authenticate root: %v", err)
	}
	return h
}

func record[E event.Event](bus *event.Bus, h *house, _ E) {
	event.On(bus, "test", func(_ context.Context, e E) error {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.events = append(h.events, e)
		return nil
	})
}

func (h *house) clock() time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.now
}

func (h *house) pass(d time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.now = h.now.Add(d)
}

// user makes a person and gives it as an actor.
func (h *house) user(name string, change ...func(*account.Input)) (*account.User, authz.Actor) {
	h.t.Helper()
	in := account.Input{Email: name + "@example.com", Username: name, Name: name, ForceRandomPassword: true}
	for _, c := range change {
		c(&in)
	}
	u, err := h.Create(h.t.Context(), h.root, in)
	if err != nil {
		h.t.Fatalf("create %s: %v", name, err)
	}
	return u, u.Actor()
}

// token makes a token of a user and gives it with its secret.
func (h *house) token(id authz.UserID, name string) (*token.Token, string) {
	h.t.Helper()
	made, key, err := h.tokens.Create(h.t.Context(), h.root, id, token.Input{Name: name, Scopes: authz.Scopes{authz.ScopeAPI}})
	if err != nil {
		h.t.Fatalf("create token %s: %v", name, err)
	}
	return made, key
}

// wantErr compares kind and text of a refusal.
func wantErr(t *testing.T, err error, kind errs.Kind, text string) {
	t.Helper()
	var e *errs.Error
	if !errors.As(err, &e) {
		t.Fatalf("got error %v, want %v %q", err, kind, text)
	}
	if e.Kind != kind || e.Error() != text {
		t.Errorf("got %v %q, want %v %q", e.Kind, e.Error(), kind, text)
	}
}

func usernames(users []*account.User) []string {
	out := make([]string, len(users))
	for i, u := range users {
		out[i] = u.Username
	}
	return out
}

func sameList(t *testing.T, what string, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: got %q, want %q", what, got, want)
	}
}

func ptr[T any](v T) *T { return &v }

package serviceaccount_test

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/base/db/dbtest"
	"tenon/internal/base/errs"
	"tenon/internal/base/event"
	"tenon/internal/base/job"
	"tenon/internal/base/page"
	"tenon/internal/base/secret"
	"tenon/internal/core/account"
	"tenon/internal/core/authz"
	"tenon/internal/core/limit"
	"tenon/internal/core/namespace"
	"tenon/internal/core/serviceaccount"
	"tenon/internal/core/setting"
	"tenon/internal/core/token"
	"tenon/internal/core/weburl"
)

// fixture is the service on one database, with a clock that stands still.
type fixture struct {
	*serviceaccount.Service
	t        *testing.T
	db       *db.DB
	users    *account.Service
	tokens   *token.Service
	spaces   *namespace.Service
	settings *setting.Store
	queue    []job.Args
	now      time.Time
}

func each(t *testing.T, fn func(t *testing.T, f *fixture)) {
	t.Helper()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		f := &fixture{t: t, db: d, now: time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)}
		now := func() time.Time { return f.now }
		bus, policy := &event.Bus{}, authz.New(d, now)
		f.settings = setting.New(d, now)
		queue := job.EnqueuerFunc(func(_ context.Context, args job.Args, _ ...job.Option) error {
			f.queue = append(f.queue, args)
			return nil
		})
		f.spaces = namespace.New(namespace.Deps{Limits: &limit.Service{}, DB: d, Policy: policy, Bus: bus, Settings: f.settings, Now: now})
		f.users = account.New(account.Deps{
			Limits: &limit.Service{}, DB: d, Policy: policy, Bus: bus, Settings: f.settings, Places: f.spaces, Now: now,
			Hasher: secret.NewWeakHasher(), URLs: weburl.New(&url.URL{Scheme: "https", Host: "example.com"}, ""), Jobs: queue,
		})
		f.tokens = token.New(token.Deps{DB: d, Policy: policy, Bus: bus, Settings: f.settings, Accounts: f.users, Now: now})
		f.Service = serviceaccount.New(serviceaccount.Deps{Policy: policy, Accounts: f.users, Tokens: f.tokens, Jobs: queue})
		f.spaces.Subscribe(bus)
		f.Subscribe(bus)
		fn(t, f)
	})
}

func (f *fixture) user(name string) authz.Actor {
	f.t.Helper()
	u, err := f.users.Create(context.Background(), authz.System(), account.Input{
		Username: name, Name: name, Email: name + "@example.com", ForceRandomPassword: true, SkipConfirmation: true,
	})
	if err != nil {
		f.t.Fatal(err)
	}
	return u.Actor()
}

// group makes a private group; what it returns is the place for any actor.
func (f *fixture) group(as authz.Actor, path string, parent *authz.NamespaceID) authz.Place {
	f.t.Helper()
	v := authz.Private
	in := namespace.GroupInput{ParentID: parent, GroupChanges: namespace.GroupChanges{Name: &path, Path: &path, Visibility: &v}}
	g, err := f.spaces.Create(context.Background(), as, in)
	if err != nil {
		f.t.Fatal(err)
	}
	p := g.Place()
	p.Subject.Known = false
	return p
}

func (f *fixture) make(as authz.Actor, at authz.Place, in account.ServiceInput) *account.ServiceUser {
	f.t.Helper()
	u, err := f.Create(context.Background(), as, at, in)
	if err != nil {
		f.t.Fatal(err)
	}
	return u
}

func (f *fixture) set(values map[string]any) {
	f.t.Helper()
	for name, value := range values {
		if err := f.settings.Set(context.Background(), name, value); err != nil {
			f.t.Fatal(err)
		}
	}
}

func wantError(t *testing.T, err error, kind errs.Kind, text string) {
	t.Helper()
	var e *errs.Error
	if !errors.As(err, &e) || e.Kind != kind || e.Error() != text {
		t.Errorf("got error %v, want %s: %q", err, kind, text)
	}
}

func admin(id authz.UserID) authz.Actor {
	return authz.Actor{UserID: id, Username: "root", Admin: true}
}

// TestService_Create makes accounts of the instance and of a group.
func TestService_Create(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, f *fixture) {
		ctx := context.Background()
		ann, eve := f.user("ann"), f.user("eve")
		root := admin(ann.UserID)
		g := f.group(ann, "team", nil)
		below := f.group(ann, "sub", &g.Namespace)

		made := f.make(ann, g, account.ServiceInput{})
		prefix := fmt.Sprintf("service_account_group_%d_", g.Namespace)
		if made.Name != "Service account user" || !strings.HasPrefix(made.Username, prefix) || len(made.Username) != len(prefix)+32 {
			t.Errorf("got %+v", made)
		}
		if made.Email != made.Username+"@noreply.example.com" || made.Unconfirmed != nil {
			t.Errorf("got addresses %q, %v", made.Email, made.Unconfirmed)
		}
		u, err := f.users.Find(ctx, ann, made.ID)
		if err != nil || u.Type != account.ServiceAccount || !u.External || u.CanCreateGroup || u.ProjectsLimit != 0 || !u.Actor().Bot {
			t.Errorf("got %+v, %v", u, err)
		}
		quick := f.make(root, authz.Place{}, account.ServiceInput{Email: "quick@example.org"})
		if quick.Email != "quick@example.org" || quick.Unconfirmed != nil {
			t.Errorf("where no address is confirmed: got %+v", quick)
		}
		f.set(map[string]any{"email_confirmation_setting": "hard"})
		mine := f.make(root, authz.Place{}, account.ServiceInput{Name: "CI", Username: "ci", Email: "CI@example.org"})
		if mine.Name != "CI" || mine.Username != "ci" || !strings.HasSuffix(mine.Email, "@noreply.example.com") || mine.Unconfirmed == nil || *mine.Unconfirmed != "ci@example.org" {
			t.Errorf("an account with an address of its own: got %+v", mine)
		}
		for _, c := range []struct {
			as   authz.Actor
			at   authz.Place
			in   account.ServiceInput
			kind errs.Kind
			text string
		}{
			{eve, g, account.ServiceInput{}, errs.NotFound, "Group not found"},
			{ann, authz.Place{}, account.ServiceInput{}, errs.Forbidden, ""},
			{ann, below, account.ServiceInput{}, errs.BadRequest, "Service accounts belong to top-level groups"},
			{root, below, account.ServiceInput{}, errs.BadRequest, "Service accounts belong to top-level groups"},
			{ann, g, account.ServiceInput{Username: "CI"}, errs.BadRequest, "Username has already been taken"},
			{ann, g, account.ServiceInput{Email: "eve@example.com"}, errs.BadRequest, "Email has already been taken"},
			{ann, g, account.ServiceInput{Email: "nobody"}, errs.BadRequest, "Email is invalid"},
			{ann, g, account.ServiceInput{Username: "team"}, errs.BadRequest, "A user, alias, or group already exists with that username."},
		} {
			if _, err := f.Create(ctx, c.as, c.at, c.in); c.kind == errs.Forbidden {
				if !errs.Is(err, errs.Forbidden) {
					t.Errorf("%s makes one of the instance: got %v", c.as.Username, err)
				}
			} else {
				wantError(t, err, c.kind, c.text)
			}
		}
		if _, err := f.Create(ctx, ann, g, account.ServiceInput{Name: strings.Repeat("x", 256)}); !errs.Is(err, errs.BadRequest) {
			t.Errorf("a long name: got %v", err)
		}
		list := func(as authz.Actor, at authz.Place, filter account.ServiceFilter) []authz.UserID {
			t.Helper()
			filter.Range = page.Range{Limit: 20}
			l, err := f.List(ctx, as, at, filter)
			if err != nil {
				t.Fatal(err)
			}
			var ids []authz.UserID
			for _, u := range l.Items {
				ids = append(ids, u.ID)
			}
			return ids
		}
		second := f.make(ann, g, account.ServiceInput{Username: "aaa"})
		if got := list(ann, g, account.ServiceFilter{}); !slices.Equal(got, []authz.UserID{second.ID, made.ID}) {
			t.Errorf("newest first: got %v", got)
		}
		if got := list(ann, g, account.ServiceFilter{OrderBy: "username", Asc: true}); !slices.Equal(got, []authz.UserID{second.ID, made.ID}) {
			t.Errorf("by username: got %v", got)
		}
		if got := list(root, authz.Place{}, account.ServiceFilter{}); !slices.Equal(got, []authz.UserID{mine.ID, quick.ID}) {
			t.Errorf("of the instance: got %v", got)
		}
		if _, err := f.List(ctx, eve, g, account.ServiceFilter{}); !errs.Is(err, errs.NotFound) {
			t.Errorf("a stranger lists: got %v", err)
		}
	})
}

// TestService_Create_invited checks that no owner receives an invitation of another person by creating an account with its address.
func TestService_Create_invited(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, f *fixture) {
		ctx := context.Background()
		ann, eve := f.user("ann"), f.user("eve")
		f.set(map[string]any{"email_confirmation_setting": "off"})
		secret, own := f.group(ann, "secret", nil), f.group(eve, "own", nil)
		if err := f.spaces.Invite(ctx, ann, secret, namespace.InvitationInput{Email: "new@example.org", Level: authz.Developer}); err != nil {
			t.Fatal(err)
		}
		made := f.make(eve, own, account.ServiceInput{Email: "new@example.org"})
		email := "later@example.org"
		if _, err := f.Update(ctx, eve, own, made.ID, account.ServiceChanges{Email: &email}); err != nil {
			t.Fatal(err)
		}
		n, err := db.Get[int](ctx, f.db, "SELECT COUNT(*) FROM members WHERE namespace_id = ?", secret.Namespace)
		if err != nil || n != 1 {
			t.Errorf("the group has %d members, want its owner alone: %v", n, err)
		}
	})
}

// TestService_tokens is the life of a token, which only who looks after its account may make, and what the settings say about its end.
func TestService_tokens(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, f *fixture) {
		ctx := context.Background()
		ann, eve := f.user("ann"), f.user("eve")
		root := admin(ann.UserID)
		g, other := f.group(ann, "team", nil), f.group(eve, "others", nil)
		u := f.make(ann, g, account.ServiceInput{Username: "robot"})
		in := token.Input{Name: "ci", Scopes: authz.Scopes{authz.ScopeAPI}}

		kept, key, err := f.CreateToken(ctx, ann, g, u.ID, in)
		if err != nil || kept.ExpiresOn == nil || *kept.ExpiresOn != "2027-05-01" {
			t.Fatalf("got %+v, %v", kept, err)
		}
		if as, _, err := f.tokens.Authenticate(ctx, key); err != nil || as.UserID != u.ID || !as.Bot || !as.External {
			t.Errorf("signs on as %+v, %v", as, err)
		}
		if _, err := f.users.AuthenticatePassword(ctx, "robot", "", "127.0.0.1"); err == nil {
			t.Error("a service account signs on with a password")
		}
		_, _, err = f.CreateToken(ctx, eve, other, u.ID, in)
		wantError(t, err, errs.NotFound, "User not found")
		_, _, err = f.CreateToken(ctx, ann, g, eve.UserID, in)
		wantError(t, err, errs.NotFound, "User not found")
		_, _, err = f.CreateToken(ctx, ann, g, u.ID, token.Input{Name: "root", Scopes: authz.Scopes{authz.ScopeSudo}})
		wantError(t, err, errs.Unprocessable, "Scopes can only contain available scopes")
		if _, err := f.ListTokens(ctx, eve, g, u.ID, token.Filter{}); !errs.Is(err, errs.NotFound) {
			t.Errorf("a stranger lists tokens: got %v", err)
		}

		next, newKey, err := f.RotateToken(ctx, ann, g, u.ID, kept.ID, nil)
		if err != nil || *next.ExpiresOn != "2026-05-08" {
			t.Fatalf("got %+v, %v", next, err)
		}
		if _, _, err := f.tokens.Authenticate(ctx, key); !errs.Is(err, errs.Unauthorized) {
			t.Errorf("the old token signs on: %v", err)
		}
		if err := f.RevokeToken(ctx, ann, g, u.ID, next.ID); err != nil {
			t.Fatal(err)
		}
		if _, _, err := f.tokens.Authenticate(ctx, newKey); !errs.Is(err, errs.Unauthorized) {
			t.Errorf("a revoked token signs on: %v", err)
		}
		if err := f.RevokeToken(ctx, ann, g, u.ID, next.ID); !errs.Is(err, errs.BadRequest) {
			t.Errorf("revoking twice: got %v", err)
		}
		if l, err := f.ListTokens(ctx, ann, g, u.ID, token.Filter{Range: page.Range{Limit: 20}}); err != nil || len(l.Items) != 2 {
			t.Errorf("got %d tokens, %v", len(l.Items), err)
		}

		end := func(as authz.Actor) *string {
			t.Helper()
			kept, _, err := f.CreateToken(ctx, as, g, u.ID, in)
			if err != nil {
				t.Fatal(err)
			}
			return kept.ExpiresOn
		}
		f.set(map[string]any{"service_access_tokens_expiration_enforced": false})
		if day := end(ann); day != nil {
			t.Errorf("where no expiry is enforced: got %s", *day)
		}
		if kept, _, err := f.tokens.Create(ctx, root, u.ID, in); err != nil || kept.ExpiresOn != nil {
			t.Errorf("by an administrator: got %v, %v", kept, err)
		}
		if kept, _, err := f.tokens.Create(ctx, root, eve.UserID, in); err != nil || kept.ExpiresOn == nil {
			t.Errorf("a person's token does not end: %v, %v", kept, err)
		}
		yes := true
		if _, err := f.spaces.Update(ctx, ann, g.Path, namespace.GroupChanges{Settings: namespace.GroupSettingsChanges{ServiceTokensExpire: &yes}}); err != nil {
			t.Fatal(err)
		}
		if day := end(ann); day == nil || *day != "2027-05-01" {
			t.Errorf("where the group enforces it: got %v", day)
		}
		off := false
		if _, err := f.spaces.Update(ctx, ann, g.Path, namespace.GroupChanges{Settings: namespace.GroupSettingsChanges{ServiceTokensExpire: &off}}); err != nil {
			t.Fatal(err)
		}
		f.set(map[string]any{"max_personal_access_token_lifetime": 30})
		if day := end(ann); day == nil || *day != "2026-05-31" {
			t.Errorf("where there is a longest life: got %v", day)
		}
	})
}

// TestService_promoted sees that the owner of a group does not become an administrator by the token of an account that is one.
func TestService_promoted(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, f *fixture) {
		ctx := context.Background()
		ann, yes := f.user("ann"), true
		root := admin(ann.UserID)
		g := f.group(ann, "team", nil)
		u := f.make(ann, g, account.ServiceInput{})
		in := token.Input{Name: "ci", Scopes: authz.Scopes{authz.ScopeAPI}}
		kept, _, err := f.CreateToken(ctx, ann, g, u.ID, in)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.users.Update(ctx, root, u.ID, account.Changes{Auditor: &yes}); err != nil {
			t.Fatal(err)
		}
		name := "other"
		_, _, made := f.CreateToken(ctx, ann, g, u.ID, in)
		_, _, rotated := f.RotateToken(ctx, ann, g, u.ID, kept.ID, nil)
		_, changed := f.Update(ctx, ann, g, u.ID, account.ServiceChanges{Name: &name})
		for what, err := range map[string]error{"create": made, "rotate": rotated, "update": changed, "revoke": f.RevokeToken(ctx, ann, g, u.ID, kept.ID)} {
			if !errs.Is(err, errs.Forbidden) {
				t.Errorf("%s: got %v, want Forbidden", what, err)
			}
		}
		if _, _, err := f.CreateToken(ctx, root, g, u.ID, in); err != nil {
			t.Errorf("an administrator: %v", err)
		}
	})
}

// TestService_Delete ends single accounts, and all of a group that is deleted.
func TestService_Delete(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, f *fixture) {
		ctx := context.Background()
		ann := f.user("ann")
		g := f.group(ann, "team", nil)
		in := token.Input{Name: "ci", Scopes: authz.Scopes{authz.ScopeAPI}}
		keys := make([]string, 3)
		accounts := make([]*account.ServiceUser, len(keys))
		for i := range keys {
			var err error
			accounts[i] = f.make(ann, g, account.ServiceInput{})
			if _, keys[i], err = f.CreateToken(ctx, ann, g, accounts[i].ID, in); err != nil {
				t.Fatal(err)
			}
			if _, _, err := f.tokens.Authenticate(ctx, keys[i]); err != nil { // held in memory from now on
				t.Fatal(err)
			}
		}
		if err := f.Delete(ctx, ann, g, accounts[0].ID, account.Removal{}); err != nil {
			t.Fatal(err)
		}
		if !slices.Contains(f.queue, job.Args(account.Departure{UserID: accounts[0].ID, By: ann.UserID})) {
			t.Errorf("the account does not depart: %v", f.queue)
		}
		f.queue = nil
		if err := f.spaces.Remove(ctx, ann, g.Namespace); err != nil {
			t.Fatal(err)
		}
		for i, key := range keys {
			if _, _, err := f.tokens.Authenticate(ctx, key); !errs.Is(err, errs.Forbidden) {
				t.Errorf("account %d of a deleted group signs on: %v", i, err)
			}
		}
		gone := serviceaccount.GroupDeleted{Group: g.Namespace, By: ann.UserID}
		if !slices.Contains(f.queue, job.Args(gone)) {
			t.Fatalf("got jobs %v", f.queue)
		}
		if err := f.Clear(ctx, gone); err != nil {
			t.Fatal(err)
		}
		for _, u := range accounts[1:] {
			if !slices.Contains(f.queue, job.Args(account.Departure{UserID: u.ID, By: ann.UserID})) {
				t.Errorf("account %d does not depart: %v", u.ID, f.queue)
			}
		}
	})
}

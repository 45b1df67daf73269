package accesstoken_test

import (
	"context"
	"errors"
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
	"tenon/internal/core/accesstoken"
	"tenon/internal/core/account"
	"tenon/internal/core/authz"
	"tenon/internal/core/limit"
	"tenon/internal/core/namespace"
	"tenon/internal/core/setting"
	"tenon/internal/core/token"
	"tenon/internal/core/weburl"
)

// fixture is the service on one database, with a clock that stands still.
type fixture struct {
	*accesstoken.Service
	t      *testing.T
	spaces *namespace.Service
	users  *account.Service
	tokens *token.Service
	policy *authz.Policy
	queue  []job.Args

	settings *setting.Store
	now      time.Time
}

func each(t *testing.T, fn func(t *testing.T, f *fixture)) {
	t.Helper()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		f := &fixture{t: t, now: time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)}
		now := func() time.Time { return f.now }
		bus, policy, settings := &event.Bus{}, authz.New(d, now), setting.New(d, now)
		spaces := namespace.New(namespace.Deps{Limits: &limit.Service{}, DB: d, Policy: policy, Bus: bus, Settings: settings, Now: now})
		f.spaces, f.policy, f.settings = spaces, policy, settings
		f.users = account.New(account.Deps{
			Limits: &limit.Service{}, DB: d, Policy: policy, Bus: bus, Settings: settings, Places: spaces, Now: now, URLs: weburl.New(&url.URL{Scheme: "https", Host: "example.com"}, ""),
			Jobs: job.EnqueuerFunc(func(_ context.Context, args job.Args, _ ...job.Option) error {
				f.queue = append(f.queue, args)
				return nil
			}),
		})
		f.tokens = token.New(token.Deps{DB: d, Policy: policy, Bus: bus, Settings: settings, Accounts: f.users, Now: now})
		f.Service = accesstoken.New(accesstoken.Deps{DB: d, Policy: policy, Bus: bus, Accounts: f.users, Tokens: f.tokens, Namespaces: spaces, Settings: settings, Now: now})
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
func (f *fixture) group(as authz.Actor, path string) authz.Place {
	f.t.Helper()
	v := authz.Private
	g, err := f.spaces.Create(context.Background(), as, namespace.GroupInput{GroupChanges: namespace.GroupChanges{Name: &path, Path: &path, Visibility: &v}})
	if err != nil {
		f.t.Fatal(err)
	}
	p := g.Place()
	p.Subject.Known = false
	return p
}

// project plants a project's namespace in a group.
func (f *fixture) project(path string, parent authz.Place) authz.Place {
	f.t.Helper()
	id, err := f.spaces.Plant(context.Background(), namespace.Entry{Kind: namespace.ProjectKind, Parent: &parent.Namespace, Path: path, Name: path})
	if err != nil {
		f.t.Fatal(err)
	}
	return authz.Place{
		Namespace: id, Parent: &parent.Namespace, ID: int64(id), Name: path,
		Subject: authz.Subject{Noun: "Project", Namespace: id, IsProject: true},
	}
}

func (f *fixture) add(as authz.Actor, p authz.Place, who authz.Actor, level authz.Level) {
	f.t.Helper()
	if _, err := f.spaces.Add(context.Background(), as, p, namespace.MemberInput{UserID: who.UserID, Level: level}); err != nil {
		f.t.Fatal(err)
	}
}

func input(name string, level authz.Level, day string, scopes ...authz.Scope) accesstoken.Input {
	in := accesstoken.Input{Level: level}
	in.Name, in.Scopes = name, scopes
	if day != "" {
		in.ExpiresOn = &day
	}
	return in
}

func wantError(t *testing.T, err error, kind errs.Kind, text string) {
	t.Helper()
	var e *errs.Error
	if !errors.As(err, &e) || e.Kind != kind || e.Error() != text {
		t.Errorf("got error %v, want %s: %q", err, kind, text)
	}
}

func TestService_Create(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, f *fixture) {
		ctx := context.Background()
		ann, meg, dev, eve := f.user("ann"), f.user("meg"), f.user("dev"), f.user("eve")
		g := f.group(ann, "team")
		p := f.project("app", g)
		f.add(ann, p, meg, authz.Maintainer)
		f.add(ann, p, dev, authz.Developer)
		fails := func(as authz.Actor, at authz.Place, in accesstoken.Input, kind errs.Kind, text string) {
			t.Helper()
			_, _, err := f.Create(ctx, as, at, in)
			wantError(t, err, kind, text)
		}
		const day = "2026-06-01"
		fails(eve, p, input("ci", authz.Guest, day, "api"), errs.NotFound, "Project not found")
		fails(dev, p, input("ci", authz.Guest, day, "api"), errs.BadRequest, "User does not have permission to create project access token")
		fails(meg, g, input("ci", authz.Guest, day, "api"), errs.BadRequest, "User does not have permission to create group access token")
		fails(meg, p, input("ci", authz.Owner, day, "api"), errs.BadRequest, "Access level of the token contains permissions not held by the creating user")
		fails(meg, p, input("ci", authz.Minimal, day, "api"), errs.BadRequest, "Access level is not included in the list")
		fails(meg, p, input("ci", authz.Guest, "", "api"), errs.BadRequest, "expires_at is missing")
		fails(meg, p, input("ci", authz.Guest, "2026-04-30", "api"), errs.BadRequest, "Expires at cannot be a date in the past")
		fails(meg, p, input("ci", authz.Guest, "2028-05-01", "api"), errs.BadRequest, "Expires at must be before 2027-05-01")
		fails(meg, p, input("ci", authz.Guest, day, "api", "sudo"), errs.BadRequest, "Scopes can only contain available scopes")
		fails(meg, p, input(" ", authz.Guest, day, "api"), errs.BadRequest, "Name can't be blank")

		made, key, err := f.Create(ctx, meg, p, input(" ci ", authz.Developer, day, "api", "read_api"))
		if err != nil || made.Name != "ci" || made.Level != authz.Developer || made.Kind != token.Project || !strings.HasPrefix(key, "glpat-") {
			t.Fatalf("create: got %+v, %v", made, err)
		}
		bot, token, err := f.tokens.Authenticate(ctx, key)
		if err != nil || !bot.Bot || bot.Admin || token.ID != made.ID || !strings.HasPrefix(bot.Username, "project_") || bot.UserID != made.UserID {
			t.Fatalf("its bot: got %+v, %v", bot, err)
		}
		if level, err := f.policy.Level(ctx, bot, p.Subject); err != nil || level != authz.Developer {
			t.Errorf("level of the bot: got %d, %v", level, err)
		}
		if level, err := f.policy.Level(ctx, bot, g.Subject); err != nil || level != authz.NoAccess {
			t.Errorf("level of the bot above: got %d, %v", level, err)
		}
		strong, strongKey, err := f.Create(ctx, ann, p, input("strong", authz.Owner, day, "api"))
		if err != nil {
			t.Fatal(err)
		}
		robot, _, err := f.tokens.Authenticate(ctx, strongKey)
		if err != nil {
			t.Fatal(err)
		}
		fails(robot, p, input("more", authz.Guest, day, "api"), errs.BadRequest, "User does not have permission to create project access token")
		_, _, err = f.Rotate(ctx, meg, p, strong.ID, nil)
		wantError(t, err, errs.Unauthorized, "unauthorized") // it may do more than she
		wantError(t, f.Revoke(ctx, meg, p, strong.ID), errs.Unauthorized, "unauthorized")
	})
}

// The attack: a token whose list of scopes is as long as a body may be, and is read with
// every request that it makes (CVE-2024-12379).
func TestService_Create_manyScopes(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, f *fixture) {
		ctx := context.Background()
		ann := f.user("ann")
		g := f.group(ann, "team")
		in := input("ci", authz.Guest, "2026-06-01", slices.Repeat([]authz.Scope{"read_api", "api"}, 20_000)...)
		made, _, err := f.Create(ctx, ann, g, in)
		if err != nil || made.ScopeText != "read_api api" {
			t.Errorf("access token: got %.100q, %v", made.ScopeText, err)
		}
		deploy, _, err := f.CreateDeploy(ctx, ann, g, accesstoken.DeployInput{
			Name: "ci", Scopes: slices.Repeat(authz.Scopes{authz.ScopeReadRepository}, 40_000),
		})
		if err != nil || deploy.ScopeText != "read_repository" {
			t.Errorf("deploy token: got %.100q, %v", deploy.ScopeText, err)
		}
	})
}

func TestService_Revoke(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, f *fixture) {
		ctx := context.Background()
		ann, dev := f.user("ann"), f.user("dev")
		g := f.group(ann, "team")
		p, other := f.project("app", g), f.project("other", g)
		f.add(ann, p, dev, authz.Developer)
		made, key, err := f.Create(ctx, ann, p, input("ci", authz.Maintainer, "2026-06-01", "api"))
		if err != nil {
			t.Fatal(err)
		}
		_, err = f.Find(ctx, dev, p, made.ID)
		wantError(t, err, errs.Unauthorized, "unauthorized")
		_, err = f.List(ctx, dev, p, token.Filter{})
		wantError(t, err, errs.Unauthorized, "unauthorized")
		_, err = f.Find(ctx, ann, other, made.ID)
		wantError(t, err, errs.NotFound, "project Access Token not found")
		_, err = f.Find(ctx, ann, g, made.ID)
		wantError(t, err, errs.NotFound, "group Access Token not found")

		next, nextKey, err := f.Rotate(ctx, ann, p, made.ID, nil)
		if err != nil || next.ID == made.ID || next.UserID != made.UserID || *next.ExpiresOn != "2026-05-08" || next.Level != authz.Maintainer {
			t.Fatalf("rotate: got %+v, %v", next, err)
		}
		if _, _, err := f.tokens.Authenticate(ctx, key); !errs.Is(err, errs.Unauthorized) {
			t.Errorf("the old key: got %v", err)
		}
		bot, _, err := f.tokens.Authenticate(ctx, nextKey)
		if err != nil {
			t.Fatal(err)
		}
		_, _, err = f.RotateOwn(ctx, bot, other, nil)
		wantError(t, err, errs.NotFound, "project Access Token not found")
		own, ownKey, err := f.RotateOwn(ctx, bot, p, nil)
		if err != nil {
			t.Fatal(err)
		}
		no := false
		list, err := f.List(ctx, ann, p, token.Filter{Revoked: &no})
		if err != nil || list.Total != 1 || list.Items[0].ID != own.ID || list.Items[0].Level != authz.Maintainer {
			t.Errorf("list: got %+v, %v", list, err)
		}
		if list, err = f.List(ctx, ann, p, token.Filter{Inactive: true}); err != nil || list.Total != 2 {
			t.Errorf("inactive ones: got %d, %v", list.Total, err)
		}
		wantError(t, f.spaces.Delete(ctx, ann, p, bot.UserID, namespace.Removal{}), errs.Forbidden, "forbidden")
		wantError(t, f.Revoke(ctx, dev, p, own.ID), errs.Unauthorized, "unauthorized")
		if err := f.Revoke(ctx, ann, p, own.ID); err != nil {
			t.Fatal(err)
		}
		if _, _, err := f.tokens.Authenticate(ctx, ownKey); !errs.Is(err, errs.Unauthorized) {
			t.Errorf("the revoked key: got %v", err)
		}
		if want := (account.Departure{UserID: own.UserID, By: ann.UserID}); !slices.Contains(f.queue, job.Args(want)) {
			t.Errorf("after the token went: %+v, want the end of its bot", f.queue)
		}
		_, err = f.Find(ctx, ann, p, own.ID)
		wantError(t, err, errs.NotFound, "project Access Token not found")
		if level, err := f.policy.Level(ctx, bot, p.Subject); err != nil || level != authz.NoAccess {
			t.Errorf("level of the bot: got %d, %v", level, err)
		}
	})
}

// Every filter of the list, and tokens without end where the instance allows them.
func TestService_List(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, f *fixture) {
		ctx := t.Context()
		ann := f.user("ann")
		p := f.project("app", f.group(ann, "team"))
		_, _, err := f.Create(ctx, ann, p, input("lasting", authz.Guest, "", "api"))
		wantError(t, err, errs.BadRequest, "expires_at is missing")
		if err := f.settings.Set(ctx, "require_personal_access_token_expiry", false); err != nil {
			t.Fatal(err)
		}
		start := f.now
		made := map[string]*accesstoken.Token{}
		for i, in := range []accesstoken.Input{
			input("build", authz.Guest, "2026-06-01", "api"), input("Deploy", authz.Guest, "2026-05-10", "api"), input("lasting", authz.Guest, "", "api"),
		} {
			f.now = start.Add(time.Duration(i) * time.Hour)
			tok, key, err := f.Create(ctx, ann, p, in)
			if err != nil {
				t.Fatal(err)
			}
			made[in.Name] = tok
			if in.Name == "build" {
				if _, _, err := f.tokens.Authenticate(ctx, key); err != nil {
					t.Fatal(err)
				}
				if err := f.tokens.Flush(ctx); err != nil {
					t.Fatal(err)
				}
			}
		}
		if made["lasting"].ExpiresOn != nil {
			t.Errorf("got last day %s where none is needed", *made["lasting"].ExpiresOn)
		}
		next, _, err := f.Rotate(ctx, ann, p, made["Deploy"].ID, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, tt := range []struct {
			name string
			f    token.Filter
			want string
		}{
			{"all", token.Filter{}, "build Deploy lasting Deploy"},
			{"active", token.Filter{Active: true}, "build lasting Deploy"},
			{"inactive", token.Filter{Inactive: true}, "Deploy"},
			{"revoked", token.Filter{Revoked: new(true)}, "Deploy"},
			{"search", token.Filter{Search: "UIL"}, "build"},
			{"created before", token.Filter{CreatedBefore: new(start)}, "build"},
			{"created after", token.Filter{CreatedAfter: new(start.Add(90 * time.Minute))}, "lasting Deploy"},
			{"used before", token.Filter{LastUsedBefore: new(start.Add(time.Minute))}, "build"},
			{"used after", token.Filter{LastUsedAfter: new(start.Add(time.Minute))}, ""},
			{"expires before", token.Filter{ExpiresBefore: "2026-05-09"}, "Deploy"},
			{"expires after", token.Filter{ExpiresAfter: "2026-05-11"}, "build"},
			{"by name", token.Filter{Sort: "name_desc"}, "lasting Deploy Deploy build"},
			{"by end", token.Filter{Sort: "expires_at_asc"}, "Deploy Deploy build lasting"},
			{"second page", token.Filter{Range: page.Range{Limit: 1, Offset: 1}}, "Deploy"},
		} {
			list, err := f.List(ctx, ann, p, tt.f)
			var names []string
			for _, tok := range list.Items {
				names = append(names, tok.Name)
			}
			if got := strings.Join(names, " "); err != nil || got != tt.want || tt.f.Limit == 0 && list.Total != len(names) {
				t.Errorf("%s: got %q of %d, %v, want %q", tt.name, got, list.Total, err, tt.want)
			}
		}
		if next.FamilyID == nil || *next.FamilyID != made["Deploy"].ID {
			t.Errorf("rotated: got %+v, want one of the same family", next)
		}
	})
}

// The tokens of a place that is deleted end with it, and those of others do not.
func TestService_Clear(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, f *fixture) {
		ctx := t.Context()
		ann := f.user("ann")
		g := f.group(ann, "team")
		keys := map[string]string{}
		places := map[string]authz.Place{"group": g, "app": f.project("app", g), "other": f.project("other", g)}
		for name, p := range places {
			_, key, err := f.Create(ctx, ann, p, input("ci", authz.Guest, "2026-06-01", "api"))
			if err != nil {
				t.Fatal(err)
			}
			keys[name] = key
		}
		for _, gone := range []string{"app", "group"} {
			if err := f.Clear(ctx, ann, places[gone]); err != nil {
				t.Fatal(err)
			}
			if _, _, err := f.tokens.Authenticate(ctx, keys[gone]); !errs.Is(err, errs.Unauthorized) {
				t.Errorf("token of the %s that is gone: got %v", gone, err)
			}
			if _, _, err := f.tokens.Authenticate(ctx, keys["other"]); err != nil {
				t.Errorf("token of another project: %v", err)
			}
		}
		if len(f.queue) != 2 {
			t.Errorf("jobs: got %+v, want two bots removed", f.queue)
		}
	})
}

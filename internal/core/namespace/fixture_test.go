package namespace_test

import (
	"context"
	"errors"
	"net/url"
	"testing"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/base/db/dbtest"
	"tenon/internal/base/errs"
	"tenon/internal/base/event"
	"tenon/internal/core/account"
	"tenon/internal/core/authz"
	"tenon/internal/core/limit"
	"tenon/internal/core/namespace"
	"tenon/internal/core/setting"
	"tenon/internal/core/weburl"
)

// fixture is the service on one database, with a clock that stands still.
type fixture struct {
	*namespace.Service
	t        *testing.T
	db       *db.DB
	policy   *authz.Policy
	bus      *event.Bus
	settings *setting.Store
	accounts *account.Service
	today    time.Time
	admin    authz.Actor
}

func each(t *testing.T, fn func(t *testing.T, f *fixture)) {
	t.Helper()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		f := &fixture{t: t, db: d, bus: &event.Bus{}, today: time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)}
		now := func() time.Time { return f.today }
		f.policy, f.settings = authz.New(d, now), setting.New(d, now)
		f.Service = namespace.New(namespace.Deps{Limits: &limit.Service{}, DB: d, Policy: f.policy, Bus: f.bus, Settings: f.settings, Now: now})
		f.accounts = account.New(account.Deps{
			Limits: &limit.Service{}, DB: d, Policy: f.policy, Bus: f.bus, Settings: f.settings, Places: f.Service, Now: now, URLs: weburl.New(&url.URL{Scheme: "https", Host: "example.com"}, ""),
		})
		f.admin = authz.System()
		fn(t, f)
	})
}

// user makes a person and returns the actor.
func (f *fixture) user(name string) authz.Actor {
	f.t.Helper()
	u, err := f.accounts.Create(context.Background(), authz.System(), account.Input{
		Username: name, Name: name, Email: name + "@example.com", ForceRandomPassword: true, SkipConfirmation: true,
	})
	if err != nil {
		f.t.Fatalf("create user %s: %v", name, err)
	}
	return u.Actor()
}

// group makes a group named like its path, as the actor.
func (f *fixture) group(as authz.Actor, path string, parent *namespace.Group, v authz.Visibility) *namespace.Group {
	f.t.Helper()
	g, err := f.Create(context.Background(), as, groupInput(path, parent, v))
	if err != nil {
		f.t.Fatalf("create group %s: %v", path, err)
	}
	return g
}

func groupInput(path string, parent *namespace.Group, v authz.Visibility) namespace.GroupInput {
	in := namespace.GroupInput{GroupChanges: namespace.GroupChanges{Name: &path, Path: &path, Visibility: &v}}
	if parent != nil {
		in.ParentID = &parent.ID
	}
	return in
}

// twin plants a project's namespace, for tests that need no more of a project.
func (f *fixture) twin(path string, parent namespace.ID, v authz.Visibility) authz.Place {
	f.t.Helper()
	id, err := f.Plant(context.Background(), namespace.Entry{
		Kind: namespace.ProjectKind, Parent: &parent, Path: path, Name: path, Visibility: v,
	})
	if err != nil {
		f.t.Fatalf("plant %s: %v", path, err)
	}
	return authz.Place{
		Namespace: id, Parent: &parent, ID: int64(id), Name: path,
		Subject: authz.Subject{Noun: "Project", Namespace: id, Visibility: v, IsProject: true},
	}
}

func (f *fixture) add(as authz.Actor, p authz.Place, who authz.Actor, level authz.Level) {
	f.t.Helper()
	if _, err := f.Add(context.Background(), as, p, namespace.MemberInput{UserID: who.UserID, Level: level}); err != nil {
		f.t.Fatalf("add %s: %v", who.Username, err)
	}
}

// share invites a group.
func (f *fixture) share(to namespace.ID, group *namespace.Group, level authz.Level) {
	f.t.Helper()
	type row struct {
		Namespace namespace.ID `db:"namespace_id"`
		Group     namespace.ID `db:"group_id"`
		Level     authz.Level  `db:"access_level"`
		CreatedAt db.Time      `db:"created_at"`
		UpdatedAt db.Time      `db:"updated_at"`
	}
	if _, err := db.InsertRow(context.Background(), f.db, "shares", row{to, group.ID, level, db.At(f.today), db.At(f.today)}, ""); err != nil {
		f.t.Fatalf("share: %v", err)
	}
}

// wantError fails unless err is of the kind and says text.
func wantError(t *testing.T, err error, kind errs.Kind, text string) {
	t.Helper()
	var e *errs.Error
	if !errors.As(err, &e) || e.Kind != kind || e.Error() != text {
		t.Errorf("got error %v, want %s: %q", err, kind, text)
	}
}

// at is the group as a place for any actor, not only for the one it was read for.
func at(g *namespace.Group) authz.Place {
	p := g.Place()
	p.Subject.Known = false
	return p
}

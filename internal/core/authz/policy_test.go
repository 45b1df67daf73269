package authz_test

import (
	"testing"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/base/db/dbtest"
	"tenon/internal/base/errs"
	"tenon/internal/core/authz"
	"tenon/internal/core/coretest"
)

// ok stands for "allowed" where a test names the kind of refusal.
const ok = errs.Kind(-1)

func kindOf(err error) errs.Kind {
	if err == nil {
		return ok
	}
	return errs.KindOf(err)
}

// Require hides what the actor may not see and forbids what it may see but not do.
func TestPolicy_Require(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		w := coretest.New(t, d)
		group := w.Group("group", authz.Private, 0)
		secret := w.Project("group/secret", authz.Private, group)
		inner := w.Project("group/inner", authz.Internal, group)
		open := w.Project("group/open", authz.Public, group)
		guest, planner, developer, owner := w.User("gus"), w.User("pia"), w.User("dave"), w.User("olga")
		w.Member(group, guest, authz.Guest)
		w.Member(group, planner, authz.Planner)
		w.Member(group, developer, authz.Developer)
		w.Member(group, owner, authz.Owner)
		stranger, admin, nobody := w.User("stan"), w.Admin("root"), authz.Actor{}
		external, auditor := w.User("eve"), w.User("audrey")
		external.External, auditor.Auditor = true, true

		for _, tt := range []struct {
			name    string
			who     authz.Actor
			ability authz.Ability
			want    [3]errs.Kind // in the private, the internal and the public project
		}{
			{"nobody reads", nobody, authz.ReadProject, [3]errs.Kind{errs.NotFound, errs.NotFound, ok}},
			{"nobody comments", nobody, authz.CreateIssue, [3]errs.Kind{errs.NotFound, errs.NotFound, errs.Unauthorized}},
			{"a stranger reads", stranger, authz.ReadProject, [3]errs.Kind{errs.NotFound, ok, ok}},
			{"a stranger reports", stranger, authz.CreateIssue, [3]errs.Kind{errs.NotFound, ok, ok}},
			{"a stranger pushes", stranger, authz.PushCode, [3]errs.Kind{errs.NotFound, errs.Forbidden, errs.Forbidden}},
			{"an external user reads", external, authz.ReadProject, [3]errs.Kind{errs.NotFound, errs.NotFound, ok}},
			{"a guest reads code", guest, authz.ReadCode, [3]errs.Kind{errs.Forbidden, ok, ok}},
			{"a planner reads code", planner, authz.ReadCode, [3]errs.Kind{ok, ok, ok}},
			{"a planner deletes issues", planner, authz.DeleteIssue, [3]errs.Kind{ok, ok, ok}},
			{"a developer deletes issues", developer, authz.DeleteIssue, [3]errs.Kind{errs.Forbidden, errs.Forbidden, errs.Forbidden}},
			{"a developer pushes", developer, authz.PushCode, [3]errs.Kind{ok, ok, ok}},
			{"a developer deletes", developer, authz.DeleteProject, [3]errs.Kind{errs.Forbidden, errs.Forbidden, errs.Forbidden}},
			{"the owner deletes", owner, authz.DeleteProject, [3]errs.Kind{ok, ok, ok}},
			{"an auditor reads", auditor, authz.ReadCode, [3]errs.Kind{ok, ok, ok}},
			{"an auditor pushes", auditor, authz.PushCode, [3]errs.Kind{errs.Forbidden, errs.Forbidden, errs.Forbidden}},
			{"an auditor deletes", auditor, authz.DeleteProject, [3]errs.Kind{errs.Forbidden, errs.Forbidden, errs.Forbidden}},
			{"an administrator deletes", admin, authz.DeleteProject, [3]errs.Kind{ok, ok, ok}},
		} {
			for i, id := range []int64{int64(secret), int64(inner), int64(open)} {
				subject := w.Subject(id)
				if got := kindOf(w.Policy.Require(t.Context(), tt.who, tt.ability, subject)); got != tt.want[i] {
					t.Errorf("%s, %s project: %v, want %v", tt.name, subject.Visibility, got, tt.want[i])
				}
			}
		}
	})
}

// An archived project can be read and deleted, not changed, by anybody.
func TestPolicy_Require_archived(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		w := coretest.New(t, d)
		subject := w.Subject(int64(w.Project("group/old", authz.Public, w.Group("group", authz.Public, 0))))
		subject.Closed = true
		admin := w.Admin("root")
		for ability, want := range map[authz.Ability]errs.Kind{
			authz.ReadCode: ok, authz.ArchiveProject: ok, authz.DeleteProject: ok,
			authz.PushCode: errs.Forbidden, authz.CreateIssue: errs.Forbidden, authz.AdminProject: errs.Forbidden,
		} {
			if got := kindOf(w.Policy.Require(t.Context(), admin, ability, subject)); got != want {
				t.Errorf("%s: %v, want %v", ability, got, want)
			}
		}
	})
}

// A switched-off feature is closed to everybody, one for members to strangers.
func TestPolicy_Require_features(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		w := coretest.New(t, d)
		group := w.Group("group", authz.Public, 0)
		subject := w.Subject(int64(w.Project("group/shop", authz.Public, group)))
		guest, stranger, admin := w.User("gus"), w.User("stan"), w.Admin("root")
		w.Member(group, guest, authz.Guest)
		for _, tt := range []struct {
			access authz.FeatureAccess
			who    authz.Actor
			want   errs.Kind
		}{
			{authz.FeatureEnabled, stranger, ok},
			{authz.FeatureMembers, stranger, errs.Forbidden},
			{authz.FeatureMembers, guest, ok},
			{authz.FeatureDisabled, guest, errs.Forbidden},
			{authz.FeatureMembers, admin, ok},
			{authz.FeatureDisabled, admin, errs.Forbidden},
		} {
			subject.Features.IssuesAccess = tt.access
			if got := kindOf(w.Policy.Require(t.Context(), tt.who, authz.ReadIssue, subject)); got != tt.want {
				t.Errorf("issues %s for %q: %v, want %v", tt.access, tt.who.Username, got, tt.want)
			}
		}
	})
}

// A membership counts until the day it ends, and a share gives no more than both sides.
func TestPolicy_Level(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		w := coretest.New(t, d)
		group, friends := w.Group("group", authz.Private, 0), w.Group("friends", authz.Private, 0)
		subject := w.Subject(int64(w.Project("group/shop", authz.Private, group)))
		ann, ben, cleo := w.User("ann"), w.User("ben"), w.User("cleo")
		w.Member(group, ann, authz.Maintainer)
		w.Member(friends, ben, authz.Owner)
		w.Member(friends, cleo, authz.Reporter)
		w.Insert("shares", coretest.Row{"namespace_id": group, "group_id": friends, "access_level": authz.Developer})
		level := func(who authz.Actor) authz.Level {
			t.Helper()
			l, err := w.Policy.Level(t.Context(), who, subject)
			if err != nil {
				t.Fatal(err)
			}
			return l
		}
		for who, want := range map[*authz.Actor]authz.Level{&ann: authz.Maintainer, &ben: authz.Developer, &cleo: authz.Reporter} {
			if got := level(*who); got != want {
				t.Errorf("%s has level %d, want %d", who.Username, got, want)
			}
		}
		end := func(day time.Time) {
			t.Helper()
			if _, err := d.Exec(t.Context(), "UPDATE members SET expires_on = ? WHERE user_id = ?", day.Format(time.DateOnly), ann.UserID); err != nil {
				t.Fatal(err)
			}
		}
		end(w.Now().AddDate(0, 0, 1))
		if got := level(ann); got != authz.Maintainer {
			t.Errorf("a day before the end: level %d", got)
		}
		end(w.Now())
		if got := level(ann); got != authz.NoAccess {
			t.Errorf("on the day of the end: level %d", got)
		}
	})
}

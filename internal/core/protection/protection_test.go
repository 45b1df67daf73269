package protection_test

import (
	"context"
	"strconv"
	"strings"
	"testing"

	"tenon/internal/base/db"
	"tenon/internal/base/db/dbtest"
	"tenon/internal/base/errs"
	"tenon/internal/base/event"
	"tenon/internal/base/page"
	"tenon/internal/core/authz"
	"tenon/internal/core/change"
	"tenon/internal/core/coretest"
	"tenon/internal/core/coretest/alonetest"
	"tenon/internal/core/project"
	"tenon/internal/core/protection"
	"tenon/internal/core/setting"
)

// world is a private project with people of every role.
type world struct {
	*coretest.World
	rules *protection.Service
	id    project.ID

	owner, maintainer, developer, reporter, guest, stranger authz.Actor
}

func each(t *testing.T, fn func(t *testing.T, w *world)) {
	t.Helper()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		w := &world{World: coretest.New(t, d)}
		w.rules = protection.New(protection.Deps{DB: d, Policy: w.Policy, Bus: w.Bus, Settings: setting.New(d, w.Now), Now: w.Now})
		w.rules.Connect(alonetest.Protections())
		w.owner, w.maintainer, w.developer = w.User("olga"), w.User("mary"), w.User("dave")
		w.reporter, w.guest, w.stranger = w.User("rita"), w.User("gus"), w.User("stan")
		w.id = w.Project("group/shop", authz.Private, w.Group("group", authz.Private, 0))
		for who, level := range map[*authz.Actor]authz.Level{
			&w.owner: authz.Owner, &w.maintainer: authz.Maintainer, &w.developer: authz.Developer,
			&w.reporter: authz.Reporter, &w.guest: authz.Guest,
		} {
			w.Join(w.id, *who, level)
		}
		fn(t, w)
	})
}

// as returns the project for an actor, as it is now.
func (w *world) as(who authz.Actor) *project.Project { w.T.Helper(); return w.Find(who, w.id) }

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// wants fails the test unless err is of the kind and says the text.
func wants(t *testing.T, err error, kind errs.Kind, text string) {
	t.Helper()
	if errs.KindOf(err) != kind || err == nil || text != "" && err.Error() != text {
		t.Errorf("got %v (%v), want %v %q", err, errs.KindOf(err), kind, text)
	}
}

func role(l authz.Level) protection.LevelInput { return protection.LevelInput{Level: &l} }

func user(as authz.Actor) protection.LevelInput { return protection.LevelInput{UserID: &as.UserID} }

// shape writes the levels of a rule as "push:40 merge:user".
func shape(r *protection.Rule) string {
	var parts []string
	for _, l := range r.Levels {
		who := "user"
		switch {
		case l.GroupID != nil:
			who = "group"
		case l.Level != nil:
			who = strconv.Itoa(int(*l.Level))
		}
		parts = append(parts, l.Action+":"+who)
	}
	return strings.Join(parts, " ")
}

func TestService_ProtectBranch(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		var published []change.Of[protection.Rule]
		event.On(w.Bus, "test", func(_ context.Context, e protection.BranchProtected) error {
			published = append(published, e.Of)
			return nil
		})
		event.On(w.Bus, "test", func(_ context.Context, e protection.BranchUnprotected) error {
			published = append(published, e.Of)
			return nil
		})
		p := w.as(w.maintainer)
		rule, err := w.rules.ProtectBranch(ctx, w.maintainer, p, protection.Input{Name: "release/*"})
		check(t, err)
		if got := shape(rule); got != "push:40 merge:40 unprotect:40" {
			t.Errorf("defaults: %s", got)
		}
		_, err = w.rules.ProtectBranch(ctx, w.maintainer, p, protection.Input{Name: "release/*"})
		wants(t, err, errs.Conflict, "Protected branch 'release/*' already exists")
		for _, tt := range []struct {
			name string
			who  authz.Actor
			in   protection.Input
			kind errs.Kind
			text string
		}{
			{"developer", w.developer, protection.Input{Name: "x"}, errs.Forbidden, ""},
			{"blank", w.maintainer, protection.Input{Name: " "}, errs.Unprocessable, "Name can't be blank"},
			{
				"a stranger may push", w.maintainer,
				protection.Input{Name: "x", Push: []protection.LevelInput{user(w.stranger)}},
				errs.Unprocessable, "Push access levels user is not a member of the project",
			},
			{
				"a foreign group", w.maintainer,
				protection.Input{Name: "x", Merge: []protection.LevelInput{{GroupID: new(w.Group("other", authz.Private, 0))}}},
				errs.Unprocessable, "Merge access levels group does not have access to the project",
			},
			{
				"a deploy key", w.maintainer,
				protection.Input{Name: "x", Push: []protection.LevelInput{{DeployKeyID: new(int64(1))}}},
				errs.Unprocessable, "Push access levels deploy key is not enabled for this project",
			},
			{
				"a level twice", w.maintainer,
				protection.Input{Name: "x", Push: []protection.LevelInput{role(30), role(30)}},
				errs.Unprocessable, "Push access levels access level has already been taken",
			},
			{
				"an odd level", w.maintainer,
				protection.Input{Name: "x", Push: []protection.LevelInput{role(20)}},
				errs.Unprocessable, "Push access levels access level is not included in the list",
			},
		} {
			t.Run(tt.name, func(t *testing.T) {
				_, err := w.rules.ProtectBranch(ctx, tt.who, w.as(tt.who), tt.in)
				wants(t, err, tt.kind, tt.text)
			})
		}
		wants(t, w.rules.UnprotectBranch(ctx, w.developer, w.as(w.developer), "release/*"), errs.Forbidden, "")
		wants(t, w.rules.UnprotectBranch(ctx, w.maintainer, p, "release/1"), errs.NotFound, "")
		check(t, w.rules.UnprotectBranch(ctx, w.maintainer, p, "release/*"))
		if len(published) != 2 || published[0].Row().Name != "release/*" || published[1].By.UserID != w.maintainer.UserID {
			t.Errorf("published %+v", published)
		}
		list, err := w.rules.ProtectedBranches(ctx, w.developer, w.as(w.developer), "", page.Range{})
		if err != nil || len(list.Items) != 0 {
			t.Errorf("%d rules left, %v", len(list.Items), err)
		}
		_, err = w.rules.ProtectedBranches(ctx, w.guest, w.as(w.guest), "", page.Range{})
		wants(t, err, errs.Forbidden, "")
	})
}

func TestService_UpdateProtectedBranch(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		p := w.as(w.maintainer)
		rule, err := w.rules.ProtectBranch(ctx, w.maintainer, p, protection.Input{Name: "main", Push: []protection.LevelInput{role(40), user(w.developer)}})
		check(t, err)
		if got := shape(rule); got != "push:40 push:user merge:40 unprotect:40" {
			t.Fatalf("made %s", got)
		}
		maintainers := rule.Levels[0].ID
		_, err = w.rules.UpdateProtectedBranch(ctx, w.maintainer, p, "main", protection.Changes{Push: []protection.LevelInput{role(40)}})
		wants(t, err, errs.Unprocessable, "Push access levels access level has already been taken")
		_, err = w.rules.UpdateProtectedBranch(ctx, w.maintainer, p, "main", protection.Changes{Push: []protection.LevelInput{{ID: new(int64(999999)), Destroy: true}}})
		wants(t, err, errs.NotFound, "")
		_, err = w.rules.UpdateProtectedBranch(ctx, w.developer, w.as(w.developer), "main", protection.Changes{AllowForcePush: new(true)})
		wants(t, err, errs.Forbidden, "")
		rule, err = w.rules.UpdateProtectedBranch(ctx, w.maintainer, p, "main", protection.Changes{
			AllowForcePush: new(true), CodeOwners: new(true), Push: []protection.LevelInput{{ID: &maintainers, Destroy: true}},
			Merge:     []protection.LevelInput{{ID: &rule.Levels[2].ID, Level: new(authz.Developer)}, user(w.reporter)},
			Unprotect: []protection.LevelInput{{ID: &rule.Levels[3].ID, UserID: &w.owner.UserID}},
		})
		check(t, err)
		if got := shape(rule); got != "push:user merge:30 unprotect:user merge:user" || !rule.AllowForcePush || !rule.CodeOwners {
			t.Errorf("changed to %s %+v", got, rule)
		}
		// Only the owner may change the rule now.
		_, err = w.rules.UpdateProtectedBranch(ctx, w.maintainer, p, "main", protection.Changes{AllowForcePush: new(false)})
		wants(t, err, errs.Forbidden, "")
		wants(t, w.rules.UnprotectBranch(ctx, w.maintainer, p, "main"), errs.Forbidden, "")
		check(t, w.rules.UnprotectBranch(ctx, w.owner, w.as(w.owner), "main"))
	})
}

// The most permissive of the rules that match decides; a rule may name people and groups.
func TestService_BranchAccess(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		crew := w.Group("crew", authz.Private, 0)
		member := w.User("kim")
		w.Member(crew, member, authz.Guest)
		w.Join(w.id, member, authz.Developer)
		p := w.as(w.owner)
		w.Insert("shares", map[string]any{"namespace_id": p.NamespaceID, "group_id": crew, "access_level": authz.Developer})
		for _, in := range []protection.Input{
			{Name: "closed", Push: []protection.LevelInput{role(0)}, Merge: []protection.LevelInput{role(0)}},
			{Name: "stable-*", Push: []protection.LevelInput{role(40)}, Merge: []protection.LevelInput{role(30)}},
			{Name: "stable-*-x", Push: []protection.LevelInput{user(w.developer)}, AllowForcePush: true},
			{Name: "crew/*", Push: []protection.LevelInput{{GroupID: &crew}}},
			{Name: "named", Push: []protection.LevelInput{user(w.reporter)}},
		} {
			_, err := w.rules.ProtectBranch(ctx, w.owner, p, in)
			check(t, err)
		}
		for _, tt := range []struct {
			branch string
			who    authz.Actor
			want   string // letters of what is allowed: push, merge, force, delete
		}{
			{"free", w.developer, "pmfd"},
			{"free", w.reporter, ""},
			{"closed", w.owner, "d"},
			{"closed", w.developer, ""},
			{"stable-1", w.developer, "m"},
			{"stable-1", w.maintainer, "pmd"},
			{"stable-1-x", w.developer, "pmf"},
			{"stable-1-x", member, "m"},
			{"stable-1-x", w.maintainer, "pmfd"},
			{"crew/a/b", member, "pm"},
			{"crew/a/b", w.developer, ""},
			{"crew/a/b", w.owner, "md"},
			{"named", w.reporter, ""}, // a reporter pushes nothing, whatever a rule says
		} {
			a, err := w.rules.BranchAccess(ctx, tt.who, w.as(tt.who), tt.branch)
			check(t, err)
			got := ""
			for i, ok := range []bool{a.Push, a.Merge, a.ForcePush, a.Delete} {
				if ok {
					got += "pmfd"[i : i+1]
				}
			}
			if got != tt.want || a.Protected != (tt.branch != "free") {
				t.Errorf("%s on %s: got %q (%+v), want %q", tt.who.Username, tt.branch, got, a, tt.want)
			}
		}
	})
}

package namespace_test

import (
	"context"
	"slices"
	"sync"
	"testing"

	"tenon/internal/base/errs"
	"tenon/internal/base/event"
	"tenon/internal/core/authz"
	"tenon/internal/core/namespace"
)

func TestService_Add(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, f *fixture) {
		ann, bob, cat, dan := f.user("ann"), f.user("bob"), f.user("cat"), f.user("dan")
		var seen []namespace.MemberAdded
		event.On(f.bus, "test", func(_ context.Context, e namespace.MemberAdded) error { seen = append(seen, e); return nil })
		g := f.group(ann, "team", nil, authz.Public)
		app := f.twin("app", g.ID, authz.Private)
		f.add(ann, at(g), bob, authz.Developer)
		f.add(ann, app, cat, authz.Maintainer)
		if len(seen) != 2 || seen[1].Row().UserID != cat.UserID || seen[1].Place.Namespace != app.Namespace || seen[1].By.UserID != ann.UserID {
			t.Errorf("events: got %+v", seen)
		}
		for _, tt := range []struct {
			name string
			as   authz.Actor
			at   authz.Place
			in   namespace.MemberInput
			kind errs.Kind
			want string
		}{
			{"stranger on a private project", dan, app, namespace.MemberInput{UserID: dan.UserID, Level: 10}, errs.NotFound, "Project not found"},
			{"developer", bob, app, namespace.MemberInput{UserID: dan.UserID, Level: 10}, errs.Forbidden, "forbidden"},
			{"no owner of the group", bob, at(g), namespace.MemberInput{UserID: dan.UserID, Level: 10}, errs.Forbidden, "forbidden"},
			{"unknown user", ann, at(g), namespace.MemberInput{UserID: 9999, Level: 10}, errs.NotFound, "User not found"},
			{"unknown username", ann, at(g), namespace.MemberInput{Username: "nobody", Level: 10}, errs.NotFound, "User not found"},
			{"twice", ann, at(g), namespace.MemberInput{Username: "BOB", Level: 40}, errs.Conflict, "Member already exists"},
			{"no level", ann, at(g), namespace.MemberInput{UserID: dan.UserID, Level: 11}, errs.Invalid, "access_level is not included in the list"},
			{
				"minimal access in a project", ann, app,
				namespace.MemberInput{UserID: dan.UserID, Level: 5},
				errs.Invalid,
				"access_level is not included in the list",
			},
			{
				"above one's own", cat, app,
				namespace.MemberInput{UserID: dan.UserID, Level: 50},
				errs.Invalid,
				"dan: the member access level can't be higher than the current user's one",
			},
			{
				"planner by a maintainer", cat, app,
				namespace.MemberInput{UserID: dan.UserID, Level: 15},
				errs.Invalid,
				"dan: the member access level can't be higher than the current user's one",
			},
			{
				"below the inherited role", ann, app,
				namespace.MemberInput{UserID: bob.UserID, Level: 20},
				errs.Invalid,
				"access_level should be greater than or equal to Developer inherited membership from group team",
			},
			{
				"in the past", ann, app,
				namespace.MemberInput{UserID: dan.UserID, Level: 20, ExpiresOn: ptr("2026-04-30")},
				errs.Invalid,
				"expires_at cannot be a date in the past",
			},
		} {
			_, err := f.Add(t.Context(), tt.as, tt.at, tt.in)
			t.Run(tt.name, func(t *testing.T) { wantError(t, err, tt.kind, tt.want) })
		}
		f.add(ann, app, dan, authz.Planner)
		if m, err := f.Member(t.Context(), dan, app, dan.UserID, namespace.MemberFilter{}); err != nil || m.Level != authz.Planner {
			t.Errorf("planner added by an owner: got %+v, %v", m, err)
		}
	})
}

func TestService_Members(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, f *fixture) {
		ctx := t.Context()
		ann, bob, cat, dan, eve := f.user("ann"), f.user("bob"), f.user("cat"), f.user("dan"), f.user("eve")
		top := f.group(ann, "top", nil, authz.Private)
		sub := f.group(ann, "sub", top, authz.Private)
		app := f.twin("app", sub.ID, authz.Private)
		guests := f.group(dan, "guests", nil, authz.Private)
		f.add(ann, at(top), bob, authz.Reporter)
		f.add(ann, app, bob, authz.Maintainer)
		f.add(ann, at(sub), cat, authz.Guest)
		f.share(sub.ID, guests, authz.Developer)
		if _, err := f.Add(ctx, ann, app, namespace.MemberInput{UserID: eve.UserID, Level: 30, ExpiresOn: ptr("2026-05-02")}); err != nil {
			t.Fatal(err)
		}
		type one struct {
			user  authz.UserID
			level authz.Level
		}
		got := func(as authz.Actor, p authz.Place, filter namespace.MemberFilter) []one {
			filter.Limit = 50
			found, err := f.Members(ctx, as, p, filter)
			list, total := found.Items, found.Total
			if err != nil || total != len(list) {
				t.Errorf("members: %d of %d, %v", len(list), total, err)
			}
			var out []one
			for _, m := range list {
				out = append(out, one{m.UserID, m.Level})
			}
			return out
		}
		for _, tt := range []struct {
			name   string
			at     authz.Place
			filter namespace.MemberFilter
			want   []one
		}{
			{"direct", app, namespace.MemberFilter{}, []one{{bob.UserID, 40}, {eve.UserID, 30}}},
			{
				"all", app,
				namespace.MemberFilter{Inherited: true},
				[]one{{ann.UserID, 50}, {bob.UserID, 40}, {cat.UserID, 10}, {dan.UserID, 30}, {eve.UserID, 30}},
			},
			{"all of the group above", at(top), namespace.MemberFilter{Inherited: true}, []one{{ann.UserID, 50}, {bob.UserID, 20}}},
			{"query", app, namespace.MemberFilter{Inherited: true, Query: "AN"}, []one{{ann.UserID, 50}, {dan.UserID, 30}}},
			{"some", app, namespace.MemberFilter{UserIDs: []authz.UserID{bob.UserID}}, []one{{bob.UserID, 40}}},
			{"others", app, namespace.MemberFilter{Skip: []authz.UserID{bob.UserID}}, []one{{eve.UserID, 30}}},
		} {
			if list := got(cat, tt.at, tt.filter); !slices.Equal(list, tt.want) && tt.at.Namespace != top.ID {
				t.Errorf("%s: got %v, want %v", tt.name, list, tt.want)
			}
			if list := got(f.admin, tt.at, tt.filter); !slices.Equal(list, tt.want) {
				t.Errorf("%s as administrator: got %v, want %v", tt.name, list, tt.want)
			}
		}
		for who, want := range map[authz.UserID]authz.Level{ann.UserID: 50, bob.UserID: 40, cat.UserID: 10, dan.UserID: 30, eve.UserID: 30} {
			level, err := f.policy.Level(ctx, authz.Actor{UserID: who}, app.Subject)
			if err != nil || level != want {
				t.Errorf("level of %d: got %d, %v, want %d", who, level, err, want)
			}
		}
		f.today = f.today.AddDate(0, 0, 1) // eve's membership ends
		if list := got(f.admin, app, namespace.MemberFilter{}); !slices.Equal(list, []one{{bob.UserID, 40}}) {
			t.Errorf("after the expiry: got %v", list)
		}
		if _, err := f.Member(ctx, ann, app, eve.UserID, namespace.MemberFilter{Inherited: true}); !errs.Is(err, errs.NotFound) {
			t.Errorf("expired member: %v", err)
		}
		f.add(ann, app, eve, authz.Guest) // and makes room for another
	})
}

func TestService_Change(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, f *fixture) {
		ctx := t.Context()
		ann, bob, cat := f.user("ann"), f.user("bob"), f.user("cat")
		g := f.group(ann, "team", nil, authz.Private)
		app := f.twin("app", g.ID, authz.Private)
		f.add(ann, app, bob, authz.Maintainer)
		f.add(ann, app, cat, authz.Owner)

		_, err := f.Change(ctx, ann, at(g), ann.UserID, namespace.MemberChanges{Level: authz.Maintainer})
		wantError(t, err, errs.Forbidden, "forbidden") // the last owner
		wantError(t, f.Delete(ctx, ann, at(g), ann.UserID, namespace.Removal{}), errs.Forbidden, "forbidden")
		_, err = f.Change(ctx, bob, app, cat.UserID, namespace.MemberChanges{Level: authz.Guest})
		wantError(t, err, errs.Forbidden, "forbidden") // an owner above the actor
		_, err = f.Change(ctx, bob, app, bob.UserID, namespace.MemberChanges{Level: authz.Owner})
		wantError(t, err, errs.Forbidden, "forbidden") // above one's own
		_, err = f.Change(ctx, ann, app, ann.UserID, namespace.MemberChanges{Level: authz.Owner})
		wantError(t, err, errs.NotFound, "not found") // no direct member
		wantError(t, f.Delete(ctx, bob, app, cat.UserID, namespace.Removal{}), errs.Forbidden, "forbidden")

		day := ptr("2026-06-01")
		m, err := f.Change(ctx, cat, app, bob.UserID, namespace.MemberChanges{Level: authz.Developer, ExpiresOn: &day})
		if err != nil || m.Level != authz.Developer || *m.ExpiresOn != "2026-06-01" {
			t.Errorf("got %+v, %v", m, err)
		}
		m, err = f.Change(ctx, cat, app, bob.UserID, namespace.MemberChanges{Level: authz.Reporter})
		if err != nil || m.Level != authz.Reporter || m.ExpiresOn == nil {
			t.Errorf("the date is left alone: got %+v, %v", m, err)
		}
		if err := f.Delete(ctx, bob, app, bob.UserID, namespace.Removal{}); err != nil {
			t.Errorf("leave: %v", err)
		}
		_, err = f.Member(ctx, ann, app, bob.UserID, namespace.MemberFilter{})
		wantError(t, err, errs.NotFound, "not found")

		f.add(ann, at(g), bob, authz.Owner)
		if _, err := f.Change(ctx, ann, at(g), ann.UserID, namespace.MemberChanges{Level: authz.Guest}); err != nil {
			t.Errorf("one owner of two steps down: %v", err)
		}
	})
}

func TestService_Delete_race(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, f *fixture) {
		ann, bob := f.user("ann"), f.user("bob")
		g := f.group(ann, "team", nil, authz.Public)
		f.add(ann, at(g), bob, authz.Owner)
		var wg sync.WaitGroup
		results := make([]error, 2)
		for i, who := range []authz.Actor{ann, bob} {
			wg.Go(func() { results[i] = f.Delete(context.Background(), who, at(g), who.UserID, namespace.Removal{}) })
		}
		wg.Wait()
		if (results[0] == nil) == (results[1] == nil) {
			t.Errorf("two last owners leave at once: %v; want that one stays", results)
		}
	})
}

func TestNextIID(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, f *fixture) {
		ctx := t.Context()
		app := f.twin("app", f.group(f.user("ann"), "team", nil, authz.Private).ID, authz.Private)
		got := make([]int64, 64)
		var wg sync.WaitGroup
		for i := range got {
			wg.Go(func() {
				iid, err := namespace.NextIID(context.Background(), f.db, app.Namespace, namespace.KindIssue)
				if err != nil {
					t.Errorf("NextIID: %v", err)
				}
				got[i] = iid
			})
		}
		failed := errs.Plain("undone")
		if err := f.db.InTx(ctx, func(ctx context.Context) error {
			if _, err := namespace.NextIID(ctx, f.db, app.Namespace, namespace.KindIssue); err != nil {
				return err
			}
			return failed
		}); err != failed { //nolint:errorlint // the very error
			t.Errorf("got %v", err)
		}
		wg.Wait()
		slices.Sort(got)
		for i, iid := range got {
			if iid != int64(i+1) {
				t.Fatalf("numbers %v, want 1 to 64 without gaps", got)
			}
		}
		if err := namespace.RaiseIID(ctx, f.db, app.Namespace, namespace.KindIssue, 100); err != nil {
			t.Fatal(err)
		}
		if err := namespace.RaiseIID(ctx, f.db, app.Namespace, namespace.KindIssue, 7); err != nil {
			t.Fatal(err)
		}
		if iid, err := namespace.NextIID(ctx, f.db, app.Namespace, namespace.KindIssue); err != nil || iid != 101 {
			t.Errorf("after raising to 100: got %d, %v", iid, err)
		}
		if iid, err := namespace.NextIID(ctx, f.db, app.Namespace, namespace.KindMilestone); err != nil || iid != 1 {
			t.Errorf("another kind: got %d, %v", iid, err)
		}
	})
}

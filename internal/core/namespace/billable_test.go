package namespace_test

import (
	"slices"
	"testing"
	"time"

	"tenon/internal/base/errs"
	"tenon/internal/base/page"
	"tenon/internal/core/authz"
	"tenon/internal/core/namespace"
)

func TestService_Billable(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, f *fixture) {
		ctx := t.Context()
		ann, bob, cat, dan, eve, bot, gone := f.user("ann"), f.user("bob"), f.user("cat"), f.user("dan"), f.user("eve"), f.user("bot"), f.user("gone")
		over, stan := f.user("over"), f.user("stan")
		top := f.group(ann, "top", nil, authz.Private)
		sub := f.group(ann, "sub", top, authz.Private)
		app := f.twin("app", sub.ID, authz.Private)
		hidden := f.group(dan, "hidden", nil, authz.Private)
		guests := f.group(dan, "guests", hidden, authz.Private)
		f.group(stan, "others", nil, authz.Private)
		f.today = f.today.Add(time.Hour)
		f.add(ann, at(sub), bob, authz.Developer)
		f.add(ann, app, bob, authz.Maintainer)
		f.add(ann, app, cat, authz.Guest)
		f.add(ann, at(top), bot, authz.Guest)
		f.add(ann, at(top), gone, authz.Guest)
		f.add(dan, at(guests), eve, authz.Reporter)
		f.share(app.Namespace, guests, authz.Developer)
		if _, err := f.Add(ctx, ann, app, namespace.MemberInput{UserID: over.UserID, Level: 20, ExpiresOn: ptr("2026-05-02")}); err != nil {
			t.Fatal(err)
		}
		f.today = f.today.AddDate(0, 0, 1)
		for _, q := range []string{
			"UPDATE users SET user_type = 'bot' WHERE username = 'bot'", "UPDATE users SET state = 'blocked' WHERE username = 'gone'",
			"UPDATE users SET last_activity_on = '2026-04-01' WHERE username = 'cat'", "UPDATE users SET last_sign_in_at = created_at WHERE username = 'bob'",
			"UPDATE users SET public_email = 'cat@example.com' WHERE username = 'cat'",
		} {
			if _, err := f.db.Exec(ctx, q); err != nil {
				t.Fatal(err)
			}
		}
		names := map[authz.UserID]string{ann.UserID: "ann", bob.UserID: "bob", cat.UserID: "cat", dan.UserID: "dan", eve.UserID: "eve"}
		for _, tt := range []struct {
			name string
			f    namespace.BillableFilter
			want []string
		}{
			{"all", namespace.BillableFilter{}, []string{"ann", "bob", "cat", "dan", "eve"}},
			{"search", namespace.BillableFilter{Search: "A"}, []string{"ann", "cat", "dan"}},
			{"search for an address", namespace.BillableFilter{Search: "Cat@example.com"}, []string{"cat"}},
			{"search for a hidden address", namespace.BillableFilter{Search: "bob@example.com"}, nil},
			{"by name", namespace.BillableFilter{Sort: "name_desc"}, []string{"eve", "dan", "cat", "bob", "ann"}},
			{"by level", namespace.BillableFilter{Sort: "access_level_desc"}, []string{"ann", "bob", "dan", "eve", "cat"}},
			{"by level upwards", namespace.BillableFilter{Sort: "access_level_asc", Range: page.Range{Limit: 2}}, []string{"cat", "eve"}},
			{"by activity", namespace.BillableFilter{Sort: "last_activity_on_desc", Range: page.Range{Limit: 1}}, []string{"cat"}},
			{"by sign-in", namespace.BillableFilter{Sort: "recent_sign_in", Range: page.Range{Limit: 1}}, []string{"bob"}},
			{"by sign-in upwards", namespace.BillableFilter{Sort: "oldest_sign_in"}, []string{"ann", "cat", "dan", "eve", "bob"}},
			{"by activity upwards", namespace.BillableFilter{Sort: "last_activity_on_asc", Range: page.Range{Offset: 4}}, []string{"cat"}},
			{"newest", namespace.BillableFilter{Sort: "last_joined"}, []string{"eve", "cat", "bob", "dan", "ann"}},
			{"oldest", namespace.BillableFilter{Sort: "oldest_joined"}, []string{"ann", "dan", "bob", "cat", "eve"}},
		} {
			if tt.f.Limit == 0 {
				tt.f.Limit = 20
			}
			found, err := f.Billable(ctx, ann, at(top), tt.f)
			list, total := found.Items, found.Total
			var got []string
			for _, b := range list {
				got = append(got, names[b.UserID])
			}
			if err != nil || !slices.Equal(got, tt.want) || tt.f.Limit == 20 && tt.f.Offset == 0 && total != len(got) {
				t.Errorf("%s: got %v of %d, %v, want %v", tt.name, got, total, err, tt.want)
			}
		}
		found, err := f.Billable(ctx, ann, at(top), namespace.BillableFilter{Range: page.Range{Limit: 20}})
		list := found.Items
		if err != nil {
			t.Fatal(err)
		}
		var means []string
		for _, b := range list {
			means = append(means, b.Means)
			if last := b.UserID == ann.UserID; b.LastOwner != last {
				t.Errorf("%s: last owner is %v", names[b.UserID], b.LastOwner)
			}
		}
		if want := []string{"group_member", "group_member", "project_member", "project_invite", "project_invite"}; !slices.Equal(means, want) {
			t.Errorf("got means %v, want %v", means, want)
		}

		for name, tt := range map[string]struct {
			as   authz.Actor
			at   *namespace.Group
			kind errs.Kind
			want string
		}{
			"a stranger": {stan, top, errs.NotFound, "Group not found"}, "a member": {bob, top, errs.Forbidden, "forbidden"},
			"nobody": {authz.Actor{}, top, errs.NotFound, "Group not found"}, "a group inside": {ann, sub, errs.BadRequest, "bad request"},
		} {
			t.Run(name, func(t *testing.T) {
				_, err := f.Billable(t.Context(), tt.as, at(tt.at), namespace.BillableFilter{Range: page.Range{Limit: 1}})
				wantError(t, err, tt.kind, tt.want)
				_, err = f.Seats(t.Context(), tt.as, at(tt.at), bob.UserID, namespace.SeatFilter{Range: page.Range{Limit: 1}})
				wantError(t, err, tt.kind, tt.want)
				wantError(t, f.Unseat(t.Context(), tt.as, at(tt.at), cat.UserID), tt.kind, tt.want)
			})
		}

		seats := func(as, who authz.Actor, invited bool) []string {
			t.Helper()
			found, err := f.Seats(ctx, as, at(top), who.UserID, namespace.SeatFilter{Invited: invited, Range: page.Range{Limit: 20}})
			list, total := found.Items, found.Total
			if err != nil || total != len(list) {
				t.Errorf("seats of %s: got %d of %d, %v", who.Username, len(list), total, err)
			}
			var out []string
			for _, seat := range list {
				out = append(out, seat.FullName)
			}
			return out
		}
		if got, want := seats(ann, bob, false), []string{"top / sub", "top / sub / app"}; !slices.Equal(got, want) {
			t.Errorf("bob's: got %v, want %v", got, want)
		}
		if got := seats(ann, eve, false); got != nil {
			t.Errorf("eve's inside: got %v, want none", got)
		}
		// The attack: an owner learns what hidden groups are called, from an invited one.
		if got := seats(ann, dan, true); got != nil {
			t.Errorf("dan's in invited groups: got %v, want nothing of what hides", got)
		}
		f.add(dan, at(guests), ann, authz.Guest)
		if got, want := seats(ann, eve, true), []string{"hidden / guests"}; !slices.Equal(got, want) {
			t.Errorf("eve's in invited groups: got %v, want %v", got, want)
		}
		if got, want := seats(f.admin, dan, true), []string{"hidden", "hidden / guests"}; !slices.Equal(got, want) {
			t.Errorf("dan's for an administrator: got %v, want %v", got, want)
		}
		_, err = f.Seats(ctx, ann, at(top), stan.UserID, namespace.SeatFilter{Range: page.Range{Limit: 1}})
		wantError(t, err, errs.NotFound, "User not found")

		wantError(t, f.Unseat(ctx, ann, at(top), ann.UserID), errs.Forbidden, "forbidden") // the last owner
		wantError(t, f.Unseat(ctx, ann, at(top), eve.UserID), errs.BadRequest, "bad request")
		wantError(t, f.Unseat(ctx, ann, at(top), stan.UserID), errs.NotFound, "User not found")
		for _, who := range []authz.Actor{bob, cat} {
			if err := f.Unseat(ctx, ann, at(top), who.UserID); err != nil {
				t.Errorf("remove %s: %v", who.Username, err)
			}
			if level, err := f.policy.Level(ctx, who, app.Subject); err != nil || level != authz.NoAccess {
				t.Errorf("%s afterwards: got level %d, %v", who.Username, level, err)
			}
		}
		f.add(ann, at(top), bob, authz.Owner)
		if err := f.Unseat(ctx, bob, at(top), ann.UserID); err != nil {
			t.Errorf("one owner of two: %v", err)
		}
	})
}

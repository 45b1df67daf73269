package namespace_test

import (
	"context"
	"testing"

	"tenon/internal/base/errs"
	"tenon/internal/base/event"
	"tenon/internal/core/authz"
	"tenon/internal/core/namespace"
)

func TestService_Share(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, f *fixture) {
		ctx := context.Background()
		var events []any
		event.On(f.bus, "test", func(_ context.Context, e namespace.GroupShared) error { events = append(events, e); return nil })
		event.On(f.bus, "test", func(_ context.Context, e namespace.GroupUnshared) error { events = append(events, e); return nil })
		ann, bob, eve := f.user("ann"), f.user("bob"), f.user("eve")
		team := f.group(ann, "team", nil, authz.Private)
		guests := f.group(bob, "guests", nil, authz.Public)
		inner := f.group(bob, "inner", guests, authz.Public)
		p := f.twin("app", team.ID, authz.Private)
		in := namespace.ShareInput{GroupID: guests.ID, Level: authz.Developer}

		_, err := f.Share(ctx, eve, p, in)
		wantError(t, err, errs.NotFound, "Project not found")
		_, err = f.Share(ctx, ann, p, in)
		wantError(t, err, errs.NotFound, "not found") // she does not belong to it
		f.add(bob, at(guests), ann, authz.Reporter)
		f.add(ann, p, eve, authz.Maintainer)
		f.add(bob, at(guests), eve, authz.Guest)
		_, err = f.Share(ctx, eve, p, in)
		wantError(t, err, errs.NotFound, "not found") // maintainers may not
		_, err = f.Share(ctx, ann, p, namespace.ShareInput{GroupID: 99999, Level: authz.Guest})
		wantError(t, err, errs.NotFound, "not found")
		_, err = f.Share(ctx, ann, p, namespace.ShareInput{GroupID: team.ID, Level: authz.Guest})
		wantError(t, err, errs.Conflict, "Project cannot be shared with the group it is in or one of its ancestors.")
		_, err = f.Share(ctx, ann, p, namespace.ShareInput{GroupID: guests.ID, Level: authz.Minimal})
		wantError(t, err, errs.Invalid, "group_access is not included in the list")

		in.ExpiresOn = ptr("2026-04-30")
		_, err = f.Share(ctx, ann, p, in)
		wantError(t, err, errs.Invalid, "expires_at cannot be a date in the past")
		past, later := "2026-05-01", "2026-05-02"
		in.ExpiresOn = &past
		if _, err := f.Share(ctx, ann, p, in); err != nil {
			t.Fatal(err)
		}
		level := func(as authz.Actor) authz.Level {
			t.Helper()
			got, err := f.policy.Level(ctx, as, p.Subject)
			if err != nil {
				t.Fatal(err)
			}
			return got
		}
		if got := level(bob); got != authz.NoAccess {
			t.Errorf("through an invitation that ran out: got %d", got)
		}
		in.ExpiresOn = &later
		made, err := f.Share(ctx, ann, p, in) // the one that ran out makes room
		if err != nil || made.Name != "guests" || made.FullPath != "guests" || made.Level != authz.Developer || *made.ExpiresOn != later {
			t.Fatalf("share: got %+v, %v", made, err)
		}
		_, err = f.Share(ctx, ann, p, in)
		wantError(t, err, errs.Conflict, "Project already shared with this group")
		if got := level(bob); got != authz.Developer {
			t.Errorf("an owner of the invited group: got level %d", got)
		}
		f.add(bob, at(inner), f.user("ida"), authz.Owner) // members of a subgroup are not members of the group
		shares, err := f.Shares(ctx, ann, []namespace.ID{p.Namespace})
		if err != nil || len(shares[p.Namespace]) != 1 {
			t.Errorf("shares: got %+v, %v", shares, err)
		}
		wantError(t, f.Unshare(ctx, eve, p, guests.ID), errs.NotFound, "Group Link not found")
		wantError(t, f.Unshare(ctx, ann, p, inner.ID), errs.NotFound, "Group Link not found")
		if err := f.Unshare(ctx, ann, p, guests.ID); err != nil {
			t.Fatal(err)
		}
		if got := level(bob); got != authz.NoAccess {
			t.Errorf("after it: got level %d", got)
		}
		if len(events) != 3 {
			t.Errorf("events: got %+v", events)
		}
	})
}

func TestService_Share_groups(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, f *fixture) {
		ctx := context.Background()
		ann, bob := f.user("ann"), f.user("bob")
		top := f.group(ann, "top", nil, authz.Private)
		sub := f.group(ann, "sub", top, authz.Private)
		other := f.group(bob, "other", nil, authz.Public)
		in := namespace.ShareInput{GroupID: other.ID, Level: authz.Guest}
		_, err := f.Share(ctx, bob, at(top), in)
		wantError(t, err, errs.NotFound, "Group not found")
		_, err = f.Share(ctx, ann, at(top), namespace.ShareInput{GroupID: top.ID, Level: authz.Guest})
		wantError(t, err, errs.NotFound, "not found")
		if _, err := f.Share(ctx, ann, at(top), in); err != nil {
			t.Fatal(err)
		}
		_, err = f.Share(ctx, ann, at(top), in)
		wantError(t, err, errs.Conflict, "Shared group The group has already been shared with this group")
		_, err = f.Share(ctx, bob, at(top), in)
		wantError(t, err, errs.Forbidden, "forbidden")

		names := func(filter namespace.GroupFilter) string {
			t.Helper()
			filter.Limit = 10
			found, err := f.List(ctx, ann, filter)
			list := found.Items
			if err != nil {
				t.Fatal(err)
			}
			out := ""
			for _, g := range list {
				out += g.Name + " "
			}
			return out
		}
		for _, c := range []struct {
			name   string
			filter namespace.GroupFilter
			want   string
		}{
			{"invited into", namespace.GroupFilter{InvitedTo: &top.ID}, "other "},
			{"not inherited", namespace.GroupFilter{InvitedTo: &sub.ID}, ""},
			{"inherited", namespace.GroupFilter{InvitedTo: &sub.ID, Inherited: true}, "other "},
			{"inherited alone", namespace.GroupFilter{InvitedTo: &top.ID, Inherited: true, NotDirect: true}, ""},
			{"where to", namespace.GroupFilter{SharedWith: &other.ID}, "top "},
		} {
			if got := names(c.filter); got != c.want {
				t.Errorf("%s: got %q, want %q", c.name, got, c.want)
			}
		}

		f.add(bob, at(other), ann, authz.Guest)
		app := f.twin("app", sub.ID, authz.Private)
		invitable := func() string {
			t.Helper()
			filter := namespace.GroupFilter{MemberOnly: true}
			some, err := f.Invitable(ctx, app.Namespace, &filter)
			if err != nil {
				t.Fatal(err)
			}
			if !some {
				return "none"
			}
			return names(filter)
		}
		if got := invitable(); got != "other " { // not those that the project is in
			t.Errorf("invitable: got %q", got)
		}
		yes := true
		if _, err := f.Update(ctx, ann, "top", namespace.GroupChanges{Settings: namespace.GroupSettingsChanges{PreventSharingGroupsOutsideHierarchy: &yes}}); err != nil {
			t.Fatal(err)
		}
		_, err = f.Share(ctx, ann, at(sub), in)
		wantError(t, err, errs.NotFound, "not found")
		_, err = f.Share(ctx, ann, app, in)
		wantError(t, err, errs.NotFound, "not found")
		sister := f.group(ann, "sister", top, authz.Private)
		if _, err := f.Share(ctx, ann, at(sub), namespace.ShareInput{GroupID: sister.ID, Level: authz.Owner}); err != nil {
			t.Errorf("inside the tree: %v", err)
		}
		if got := invitable(); got != "sister " {
			t.Errorf("invitable inside the tree: got %q", got)
		}
		if _, err := f.Share(ctx, ann, app, namespace.ShareInput{GroupID: sister.ID, Level: authz.Guest}); err != nil {
			t.Errorf("a project inside the tree: %v", err)
		}
		if got := invitable(); got != "" {
			t.Errorf("invitable after all: got %q", got)
		}

		if _, err := f.Update(ctx, ann, "top", namespace.GroupChanges{GroupAttributes: namespace.GroupAttributes{ShareWithGroupLock: &yes}}); err != nil {
			t.Fatal(err)
		}
		_, err = f.Share(ctx, ann, app, in)
		wantError(t, err, errs.Invalid, "The project sharing with group is disabled")
		if got := invitable(); got != "none" {
			t.Errorf("invitable under a lock: got %q", got)
		}
	})
}

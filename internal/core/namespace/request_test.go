package namespace_test

import (
	"context"
	"testing"

	"tenon/internal/base/errs"
	"tenon/internal/base/event"
	"tenon/internal/base/page"
	"tenon/internal/core/account"
	"tenon/internal/core/authz"
	"tenon/internal/core/namespace"
)

func TestService_Request(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, f *fixture) {
		ctx := context.Background()
		ann, bob, eve, meg := f.user("ann"), f.user("bob"), f.user("eve"), f.user("meg")
		g := f.group(ann, "team", nil, authz.Public)
		p := f.twin("app", g.ID, authz.Public)
		p.Requests = true
		f.add(ann, p, meg, authz.Maintainer)

		_, err := f.Request(ctx, authz.Actor{}, p)
		wantError(t, err, errs.Unauthorized, "unauthorized")
		_, err = f.Request(ctx, ann, p)
		wantError(t, err, errs.Forbidden, "forbidden") // she belongs to it
		closed := p
		closed.Requests = false
		_, err = f.Request(ctx, bob, closed)
		wantError(t, err, errs.Forbidden, "forbidden")
		hidden := f.twin("hidden", g.ID, authz.Private)
		hidden.Requests = true
		_, err = f.Request(ctx, bob, hidden)
		wantError(t, err, errs.NotFound, "Project not found")

		if got, err := f.Request(ctx, bob, p); err != nil || got.UserID != bob.UserID {
			t.Fatalf("request: got %+v, %v", got, err)
		}
		_, err = f.Request(ctx, bob, p)
		wantError(t, err, errs.Invalid, "user_id already exists in source")
		if level, err := f.policy.Level(ctx, bob, p.Subject); err != nil || level != authz.NoAccess {
			t.Errorf("a request gave level %d, %v", level, err)
		}
		if _, err := f.Request(ctx, eve, p); err != nil {
			t.Fatal(err)
		}
		_, err = f.Requests(ctx, bob, p, page.Range{Limit: 10})
		wantError(t, err, errs.Forbidden, "forbidden")
		found, err := f.Requests(ctx, meg, p, page.Range{Limit: 1})
		list, total := found.Items, found.Total
		if err != nil || total != 2 || len(list) != 1 || list[0].UserID != bob.UserID {
			t.Errorf("list: got %+v, %d, %v", list, total, err)
		}

		_, err = f.Approve(ctx, bob, p, bob.UserID, authz.Guest)
		wantError(t, err, errs.Forbidden, "forbidden")
		_, err = f.Approve(ctx, meg, p, bob.UserID, authz.Owner)
		wantError(t, err, errs.Forbidden, "forbidden") // more than she has
		_, err = f.Approve(ctx, meg, p, ann.UserID, authz.Guest)
		wantError(t, err, errs.NotFound, "not found")
		_, err = f.Approve(ctx, meg, p, bob.UserID, 33)
		wantError(t, err, errs.Invalid, "access_level is not included in the list")
		if m, err := f.Approve(ctx, meg, p, bob.UserID, authz.Developer); err != nil || m.Level != authz.Developer {
			t.Fatalf("approve: got %+v, %v", m, err)
		}
		wantError(t, f.Deny(ctx, bob, p, eve.UserID), errs.Forbidden, "forbidden")
		if err := f.Deny(ctx, eve, p, eve.UserID); err != nil { // her own
			t.Fatal(err)
		}
		wantError(t, f.Deny(ctx, meg, p, eve.UserID), errs.NotFound, "not found")
		if found, err = f.Requests(ctx, meg, p, page.Range{Limit: 10}); err != nil || found.Total != 0 {
			t.Errorf("in the end: got %d, %v", found.Total, err)
		}
		if _, err := f.Request(ctx, eve, p); err != nil {
			t.Fatal(err)
		}
		f.add(meg, p, eve, authz.Guest) // answers the request as well
		if found, err = f.Requests(ctx, meg, p, page.Range{Limit: 10}); err != nil || found.Total != 0 {
			t.Errorf("after adding: got %d, %v", found.Total, err)
		}
	})
}

func TestService_Invite(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, f *fixture) {
		ctx := context.Background()
		event.On(f.bus, "invitations", func(ctx context.Context, e account.UserCreated) error {
			return f.AcceptInvitations(ctx, e.Row().ID)
		})
		ann, bob, meg := f.user("ann"), f.user("bob"), f.user("meg")
		g := f.group(ann, "team", nil, authz.Public)
		p := f.twin("app", g.ID, authz.Public)
		f.add(ann, p, meg, authz.Maintainer)
		invite := func(as authz.Actor, at authz.Place, email string, level authz.Level) error {
			return f.Invite(ctx, as, at, namespace.InvitationInput{Email: email, Level: level})
		}
		wantError(t, invite(bob, p, "new@example.com", authz.Guest), errs.Forbidden, "forbidden")
		for _, bad := range []string{"", "nobody", "A <new@example.com>", "new@example.com,other@example.com", "<new@example.com>"} {
			wantError(t, invite(meg, p, bad, authz.Guest), errs.Invalid, "Invite email is invalid")
		}
		wantError(t, invite(meg, p, "new@example.com", 33), errs.Invalid, "access_level is not included in the list")
		wantError(t, invite(meg, p, "new@example.com", authz.Owner), errs.Invalid,
			"new@example.com: the member access level can't be higher than the current user's one")
		if err := invite(meg, p, "New@example.com", authz.Developer); err != nil {
			t.Fatal(err)
		}
		wantError(t, invite(meg, p, "new@example.com", authz.Guest), errs.Invalid, "Invite email has already been taken")
		if err := invite(ann, at(g), "new@example.com", authz.Reporter); err != nil {
			t.Fatal(err)
		}
		if err := invite(ann, p, "bob@example.com", authz.Guest); err != nil {
			t.Fatal(err)
		}
		if m, err := f.Member(ctx, meg, p, bob.UserID, namespace.MemberFilter{}); err != nil || m.Level != authz.Guest {
			t.Errorf("somebody with the address: got %+v, %v", m, err)
		}
		wantError(t, invite(ann, p, "bob@example.com", authz.Guest), errs.Invalid, "User already exists in source")

		found, err := f.Invitations(ctx, meg, p, "NEW@", page.Range{Limit: 10})
		list, total := found.Items, found.Total
		if err != nil || total != 1 || list[0].Email != "New@example.com" || list[0].Level != authz.Developer {
			t.Fatalf("list: got %+v, %d, %v", list, total, err)
		}
		owner, guest := authz.Owner, authz.Guest
		_, err = f.ChangeInvitation(ctx, meg, p, "new@example.com", namespace.InvitationChanges{Level: &owner})
		wantError(t, err, errs.Forbidden, "forbidden")
		_, err = f.ChangeInvitation(ctx, meg, p, "other@example.com", namespace.InvitationChanges{Level: &guest})
		wantError(t, err, errs.NotFound, "not found")
		if c, err := f.ChangeInvitation(ctx, meg, p, "new@example.com", namespace.InvitationChanges{Level: &guest}); err != nil || c.Level != authz.Guest {
			t.Errorf("change: got %+v, %v", c, err)
		}
		if err := invite(ann, p, "late@example.com", authz.Guest); err != nil {
			t.Fatal(err)
		}
		wantError(t, f.Uninvite(ctx, bob, p, "late@example.com"), errs.Forbidden, "forbidden")
		if err := f.Uninvite(ctx, meg, p, "late@example.com"); err != nil {
			t.Fatal(err)
		}
		wantError(t, f.Uninvite(ctx, meg, p, "late@example.com"), errs.NotFound, "not found")

		late, guestUser := f.user("late"), f.user("new")
		if m, err := f.Member(ctx, ann, p, guestUser.UserID, namespace.MemberFilter{}); err != nil || m.Level != authz.Guest {
			t.Errorf("in the project: got %+v, %v", m, err)
		}
		if m, err := f.Member(ctx, ann, at(g), guestUser.UserID, namespace.MemberFilter{}); err != nil || m.Level != authz.Reporter {
			t.Errorf("in the group: got %+v, %v", m, err)
		}
		_, err = f.Member(ctx, ann, p, late.UserID, namespace.MemberFilter{})
		wantError(t, err, errs.NotFound, "not found")
		if found, err = f.Invitations(ctx, meg, p, "", page.Range{Limit: 10}); err != nil || found.Total != 0 {
			t.Errorf("in the end: got %d, %v", found.Total, err)
		}
	})
}

func TestService_ImportMembers(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, f *fixture) {
		ctx := context.Background()
		ann, meg := f.user("ann"), f.user("meg")
		boss, plan, dev, known := f.user("boss"), f.user("plan"), f.user("dev"), f.user("known")
		g := f.group(ann, "team", nil, authz.Private)
		into, from := f.twin("into", g.ID, authz.Private), f.twin("from", g.ID, authz.Private)
		f.add(ann, into, meg, authz.Maintainer)
		f.add(ann, into, known, authz.Guest)
		for who, level := range map[*authz.Actor]authz.Level{&boss: authz.Owner, &plan: authz.Planner, &dev: authz.Developer, &known: authz.Maintainer} {
			f.add(ann, from, *who, level)
		}
		wantError(t, f.ImportMembers(ctx, meg, into, from), errs.NotFound, "Project not found")
		f.add(ann, from, meg, authz.Guest)
		wantError(t, f.ImportMembers(ctx, known, into, from), errs.Forbidden, "forbidden")
		if err := f.ImportMembers(ctx, meg, into, from); err != nil {
			t.Fatal(err)
		}
		for who, want := range map[*authz.Actor]authz.Level{&boss: authz.Maintainer, &plan: 0, &dev: authz.Developer, &known: authz.Guest} {
			m, err := f.Member(ctx, ann, into, who.UserID, namespace.MemberFilter{})
			if want == 0 {
				wantError(t, err, errs.NotFound, "not found")
				continue
			}
			if err != nil || m.Level != want {
				t.Errorf("%s: got %+v, %v, want %d", who.Username, m, err, want)
			}
		}
	})
}

package namespace_test

import (
	"context"
	"testing"

	"tenon/internal/base/errs"
	"tenon/internal/core/account"
	"tenon/internal/core/authz"
	"tenon/internal/core/namespace"
)

// restrict changes a group's settings.
func (f *fixture) restrict(g *namespace.Group, set namespace.GroupSettingsChanges) {
	f.t.Helper()
	if _, err := f.Update(context.Background(), f.admin, g.FullPath, namespace.GroupChanges{Settings: set}); err != nil {
		f.t.Fatal(err)
	}
}

// TestService_Add_membershipLock adds people to a project below a group that takes no new members, in every way.
func TestService_Add_membershipLock(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, f *fixture) {
		ctx := context.Background()
		ann, bob, eve := f.user("ann"), f.user("bob"), f.user("eve")
		team := f.group(ann, "team", nil, authz.Public)
		inner := f.group(ann, "inner", team, authz.Public)
		p, other := f.twin("app", inner.ID, authz.Public), f.twin("lib", inner.ID, authz.Public)
		p.Requests = true
		f.add(ann, other, eve, authz.Developer)
		if _, err := f.Request(ctx, bob, p); err != nil {
			t.Fatal(err)
		}
		if err := f.Invite(ctx, ann, p, namespace.InvitationInput{Email: "new@example.com", Level: authz.Guest}); err != nil {
			t.Fatal(err)
		}
		on, off := true, false
		f.restrict(team, namespace.GroupSettingsChanges{MembershipLock: &on})
		const text = "A group that the project stands in takes no new members into its projects (membership_lock)"
		_, err := f.Add(ctx, ann, p, namespace.MemberInput{UserID: eve.UserID, Level: authz.Guest})
		wantError(t, err, errs.Forbidden, text)
		_, err = f.Approve(ctx, ann, p, bob.UserID, authz.Guest)
		wantError(t, err, errs.Forbidden, text)
		wantError(t, f.Invite(ctx, ann, p, namespace.InvitationInput{Email: "more@example.com", Level: authz.Guest}), errs.Forbidden, text)
		wantError(t, f.Invite(ctx, ann, p, namespace.InvitationInput{Email: "eve@example.com", Level: authz.Guest}), errs.Forbidden, text)
		wantError(t, f.ImportMembers(ctx, ann, p, other), errs.Forbidden, text)
		f.user("new") // confirms the address that was invited
		list, err := f.Members(ctx, ann, p, namespace.MemberFilter{})
		if err != nil || len(list.Items) != 0 {
			t.Errorf("members of the project: %+v, %v", list.Items, err)
		}
		f.add(ann, at(team), eve, authz.Guest) // groups take members
		f.restrict(team, namespace.GroupSettingsChanges{MembershipLock: &off})
		if err := f.ImportMembers(ctx, ann, p, other); err != nil {
			t.Error(err)
		}
	})
}

// TestService_Add_emailDomains adds people to places below a group that allows domains of email addresses.
func TestService_Add_emailDomains(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, f *fixture) {
		ctx := context.Background()
		ann, bob := f.user("ann"), f.user("bob")
		team := f.group(ann, "team", nil, authz.Public)
		guests := f.group(ann, "guests", nil, authz.Public)
		f.add(ann, at(guests), bob, authz.Guest)
		p := f.twin("app", team.ID, authz.Public)
		bad := "example.com, not a domain"
		_, err := f.Update(ctx, ann, "team", namespace.GroupChanges{Settings: namespace.GroupSettingsChanges{AllowedEmailDomainsList: &bad}})
		wantError(t, err, errs.Invalid, "allowed_email_domains_list has a domain that is not valid")
		domains := "@Corp.test, example.org"
		f.restrict(team, namespace.GroupSettingsChanges{AllowedEmailDomainsList: &domains})
		const text = "bob has no confirmed email address of a domain that the group allows (allowed_email_domains_list)"
		for _, place := range []authz.Place{at(team), p} {
			_, err := f.Add(ctx, ann, place, namespace.MemberInput{UserID: bob.UserID, Level: authz.Guest})
			wantError(t, err, errs.Unprocessable, text)
			err = f.Invite(ctx, ann, place, namespace.InvitationInput{Email: "x@corp.test.example.com", Level: authz.Guest})
			wantError(t, err, errs.Unprocessable, "x@corp.test.example.com is not of a domain that the group allows (allowed_email_domains_list)")
			if err := f.Invite(ctx, ann, place, namespace.InvitationInput{Email: "x@CORP.test", Level: authz.Guest}); err != nil {
				t.Error(err)
			}
			_, err = f.Share(ctx, ann, place, namespace.ShareInput{GroupID: guests.ID, Level: authz.Guest})
			wantError(t, err, errs.Unprocessable, "guests has members without a confirmed email address of a domain that the group allows (allowed_email_domains_list)")
		}
		for _, email := range []string{"bob@corp.test", "ann@corp.test"} {
			owner := bob.UserID
			if email[0] == 'a' {
				owner = ann.UserID
			}
			if _, err := f.accounts.AddEmail(ctx, f.admin, owner, account.EmailInput{Address: email, Confirmed: true}); err != nil {
				t.Fatal(err)
			}
		}
		f.add(ann, at(team), bob, authz.Guest)
		if _, err := f.Share(ctx, ann, p, namespace.ShareInput{GroupID: guests.ID, Level: authz.Guest}); err != nil {
			t.Error(err)
		}
	})
}

// TestService_Closed asks for git over each protocol under the settings of the instance and of groups.
func TestService_Closed(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, f *fixture) {
		ctx := context.Background()
		ann := f.user("ann")
		team := f.group(ann, "team", nil, authz.Public)
		p := f.twin("app", f.group(ann, "inner", team, authz.Public).ID, authz.Public)
		want := func(what string, http, ssh bool) {
			t.Helper()
			for over, want := range map[namespace.Protocol]bool{namespace.HTTP: http, namespace.SSH: ssh} {
				if got, err := f.Closed(ctx, ann, p.Namespace, over); err != nil || got != want {
					t.Errorf("%s: %s is closed: %v, %v", what, over, got, err)
				}
			}
		}
		only := func(protocol string) {
			f.restrict(team, namespace.GroupSettingsChanges{EnabledGitAccessProtocol: &protocol})
		}
		want("at first", false, false)
		only("ssh")
		want("SSH alone", true, false)
		job := ann
		job.Job = authz.JobCredential{ID: 1, Place: p.Namespace}
		if closed, err := f.Closed(ctx, job, p.Namespace, namespace.HTTP); err != nil || closed {
			t.Errorf("HTTP is closed to a job: %v, %v", closed, err)
		}
		only("http")
		want("HTTP alone", false, true)
		if err := f.settings.Set(ctx, "enabled_git_access_protocol", "ssh"); err != nil {
			t.Fatal(err)
		}
		want("the instance and the group name different ones", true, true)
		only("all")
		want("the instance", true, false)
	})
}

// TestService_Update_addressRanges reaches a group, its subgroup and a project inside from addresses in and out of its ranges.
func TestService_Update_addressRanges(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, f *fixture) {
		ctx := context.Background()
		ann, bob := f.user("ann"), f.user("bob")
		team := f.group(ann, "team", nil, authz.Public)
		inner := f.group(ann, "inner", team, authz.Public)
		p := f.twin("app", inner.ID, authz.Public)
		f.add(ann, at(team), bob, authz.Maintainer)
		bad := "10.0.0.0/33"
		_, err := f.Update(ctx, ann, "team", namespace.GroupChanges{Settings: namespace.GroupSettingsChanges{IPRestrictionRanges: &bad}})
		wantError(t, err, errs.Invalid, "ip_restriction_ranges has an IP address or subnet that is not valid")
		ranges := "10.1.0.0/16, 192.0.2.7, 2001:db8::/32"
		f.restrict(team, namespace.GroupSettingsChanges{IPRestrictionRanges: &ranges})
		admin := bob
		admin.Admin = true
		for _, c := range []struct {
			address string
			in      bool
		}{
			{"10.1.0.0", true},
			{"10.1.255.255", true},
			{"10.2.0.0", false},
			{"10.0.255.255", false},
			{"192.0.2.7", true},
			{"192.0.2.8", false},
			{"2001:db8:ffff::1", true},
			{"2001:db9::", false},
			{"::ffff:10.1.2.3", true},
			{"pipe", false},
			{"", true},
		} {
			for name, as := range map[string]authz.Actor{"owner": ann, "member": bob, "administrator": admin, "stranger": {}} {
				as.Address = c.address
				keeps := c.in || name == "owner" || name == "administrator"
				reach := func(what string, err error, want bool) {
					t.Helper()
					if want && err != nil || !want && !errs.Is(err, errs.NotFound) {
						t.Errorf("%s as %s from %q: %v, want %v", what, name, c.address, err, want)
					}
				}
				_, err := f.Find(ctx, as, "team")
				reach("the group", err, keeps)
				_, err = f.Find(ctx, as, "team/inner")
				reach("the subgroup", err, c.in)
				reach("the project", f.policy.Require(ctx, as, authz.ReadProject, p.Subject), c.in)
				reach("members of the group", f.policy.Require(ctx, as, authz.ReadGroupMembers, at(team).Subject), c.in)
				list, err := f.List(ctx, as, namespace.GroupFilter{})
				if want := map[bool]int{true: 2}[c.in]; err != nil || len(list.Items) != want {
					t.Errorf("groups as %s from %q: %d, %v, want %d", name, c.address, len(list.Items), err, want)
				}
			}
		}
		job := bob
		job.Address, job.Job = "10.2.0.0", authz.JobCredential{ID: 1, Place: p.Namespace}
		if err := f.policy.Require(ctx, job, authz.ReadProject, p.Subject); err != nil {
			t.Errorf("the project of a job: %v", err)
		}
		// An owner outside reads what owners do, and mends the list; a list that an older program stored is read at the start.
		outside := ann
		outside.Address = "10.2.0.0"
		found, err := f.Find(ctx, outside, "team")
		if err != nil {
			t.Fatal(err)
		}
		if v, err := f.Views(ctx, outside, []namespace.Group{*found}, namespace.GroupViewOptions{}); err != nil || v[0].Owned == nil {
			t.Errorf("the group of an owner outside: %+v, %v", v, err)
		}
		wider := "10.0.0.0/8"
		if _, err := f.Update(ctx, outside, "team", namespace.GroupChanges{Settings: namespace.GroupSettingsChanges{IPRestrictionRanges: &wider}}); err != nil {
			t.Fatal(err)
		}
		member := bob
		member.Address = "10.2.0.0"
		if _, err := f.Find(ctx, member, "team/inner"); err != nil {
			t.Errorf("after the change: %v", err)
		}
		for stored, want := range map[string]bool{wider: true, "nonsense": false} {
			for _, query := range []string{
				"UPDATE groups SET settings = '{\"ip_restriction_ranges\":\"" + stored + "\"}' WHERE namespace_id = ?",
				"DELETE FROM group_address_ranges WHERE namespace_id = ?", "INSERT INTO group_address_ranges VALUES (?, '', '')",
			} {
				if _, err := f.db.Exec(ctx, query, team.ID); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := f.Find(ctx, member, "team/inner"); !errs.Is(err, errs.NotFound) {
				t.Errorf("a list that is not read yet: %v", err)
			}
			if err := f.Open(ctx); err != nil {
				t.Fatal(err)
			}
			if _, err := f.Find(ctx, member, "team/inner"); (err == nil) != want {
				t.Errorf("stored %q: %v", stored, err)
			}
		}
	})
}

// TestService_Create_levels makes groups where the user or the group above lets only some do so, and shares a project below a lock.
func TestService_Create_levels(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, f *fixture) {
		ctx := context.Background()
		ann, bob := f.user("ann"), f.user("bob")
		team, guests := f.group(ann, "team", nil, authz.Public), f.group(ann, "guests", nil, authz.Public)
		f.add(ann, at(team), bob, authz.Maintainer)
		f.group(bob, "first", team, authz.Public)
		owner, on := "owner", true
		if _, err := f.Update(ctx, ann, "team", namespace.GroupChanges{GroupAttributes: namespace.GroupAttributes{SubgroupCreationLevel: &owner, ShareWithGroupLock: &on}}); err != nil {
			t.Fatal(err)
		}
		_, err := f.Create(ctx, bob, groupInput("second", team, authz.Public))
		wantError(t, err, errs.Forbidden, "forbidden")
		_, err = f.Share(ctx, ann, f.twin("app", team.ID, authz.Public), namespace.ShareInput{GroupID: guests.ID, Level: authz.Guest})
		wantError(t, err, errs.Invalid, "The project sharing with group is disabled")
		if _, err := f.accounts.Update(ctx, f.admin, bob.UserID, account.Changes{CanCreateGroup: new(false)}); err != nil {
			t.Fatal(err)
		}
		_, err = f.Create(ctx, bob, groupInput("top", nil, authz.Public))
		wantError(t, err, errs.Forbidden, "forbidden")
	})
}

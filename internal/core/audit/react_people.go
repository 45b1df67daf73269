package audit

import (
	"tenon/internal/core/account"
	"tenon/internal/core/authz"
	"tenon/internal/core/gpgkey"
	"tenon/internal/core/namespace"
	"tenon/internal/core/setting"
	"tenon/internal/core/sshkey"
	"tenon/internal/core/token"
)

// people is about users, what they sign in with, and the instance.
func (t table) people() {
	record(t, "user_created", "", func(e account.UserCreated, out *Entry) {
		u := e.Row()
		out.Message = "User " + u.Username + " created"
		*out = asUser(u, *out).with("add", "user", "registration_details", map[string]any{
			"id": u.ID, "username": u.Username, "name": u.Name, "email": u.Email, "access_level": either(u.Admin, "admin", "regular"),
		})
	})
	many(t, userUpdated)
	record(t, "", "", stateChanged)
	one(t, func(e account.AccessLocked) Entry {
		return ofUser(e.UserID, e.Username, Entry{By: authz.System(), Event: "user_access_locked", Message: "User access locked"}).target(User, int64(e.UserID), e.Username)
	})
	one(t, func(e account.AccessUnlocked) Entry {
		return ofUser(e.UserID, e.Username, Entry{By: e.By, Event: "user_access_unlocked", Message: "User access unlocked"}).target(User, int64(e.UserID), e.Username)
	})
	record(t, "user_destroyed", "", func(e account.UserRemoved, out *Entry) {
		out.Message = "User " + e.Row().Username + " scheduled for deletion"
		if e.Rejected {
			out.Event, out.Message = "user_rejected", "Instance access request rejected"
		}
		*out = asUser(e.Row(), *out).with("remove", "user")
	})
	one(t, func(e account.SignedOn) Entry {
		return self(e.Stamp, "authenticated_with_password", "Signed in with standard authentication").with("with", "standard")
	})
	one(t, func(e account.SignOnFailed) Entry {
		out := self(e.Stamp, "login_failed_with_standard_authentication", "Failed to login with STANDARD authentication").with("failed_login", "STANDARD")
		if !e.By.SignedIn() {
			out.EntityID, out.TargetID = anonymous, anonymous
		}
		return out
	})
	record(t, "password_reset_requested", "Ask for password reset", func(e account.PasswordLinked, out *Entry) { *out = asUser(e.Row(), *out) })
	one(t, func(e account.AddressAdded) Entry {
		return ofUser(e.UserID, e.Username, Entry{By: e.By, Event: "email_created", Message: "Email created"}).target("Email", e.ID, e.Email).with("add", "email")
	})
	one(t, func(e account.AddressRemoved) Entry {
		return ofUser(e.UserID, e.Username, Entry{By: e.By, Event: "email_destroyed", Message: "Email destroyed"}).target("Email", e.ID, e.Email).with("remove", "email")
	})
	record(t, "personal_access_token_created", "Created personal access token with id {id}", func(e token.Created, out *Entry) { *out = ofToken(e.Row(), *out) })
	record(t, "personal_access_token_revoked", "Revoked personal access token with id {id}", func(e token.Revoked, out *Entry) { *out = ofToken(e.Row(), *out) })
	record(t, "add_ssh_key", "Added SSH key", func(e sshkey.Added, out *Entry) { *out = ofUser(*e.Row().UserID, "", *out) })
	record(t, "remove_ssh_key", "Removed SSH key", func(e sshkey.Removed, out *Entry) { *out = ofUser(*e.Row().UserID, "", *out) })
	record(t, "add_gpg_key", "Added GPG key", func(e gpgkey.Added, out *Entry) { *out = ofUser(e.Row().UserID, "", *out) })
	record(t, "remove_gpg_key", "Removed GPG key", func(e gpgkey.Removed, out *Entry) { *out = ofUser(e.Row().UserID, "", *out) })
	one(t, settingChanged)
}

// settingChanged has no values of a setting that is secret.
func settingChanged(e setting.Changed) Entry {
	message := "Changed " + e.Name
	if from := text(e.From); from != "" {
		message += " from " + from
	}
	out := in(e.Stamp, authz.Place{}).with("change", e.Name, "from", e.From, "to", e.To)
	out.Event, out.Message = "application_setting_updated", message+" to "+text(e.To)
	return out.target("ApplicationSetting", 1, e.Name)
}

// self is an entry about the user who acts.
func self(s authz.Stamp, event, message string) Entry {
	out := in(s, authz.Place{})
	out.Event, out.Message = event, message
	return out.target(User, int64(s.By.UserID), s.By.Username)
}

// target says what an entry is about.
func (e Entry) target(kind string, id int64, details string) Entry {
	e.TargetType, e.TargetID, e.TargetDetails = kind, id, details
	return e
}

// asUser makes an entry one about an account.
func asUser(u *account.User, e Entry) Entry { return ofUser(u.ID, u.Username, e) }

// ofUser makes an entry one about what a user has. A username that is not known here is read as the entry is written.
func ofUser(id authz.UserID, username string, e Entry) Entry {
	e.EntityType, e.EntityID, e.EntityPath = User, int64(id), username
	return e
}

// ofToken is ofUser for tokens; those of projects and groups are recorded by accesstoken's events.
func ofToken(t *token.Token, e Entry) Entry {
	if t.Kind == token.Project || t.Kind == token.Group {
		return Entry{}
	}
	return ofUser(t.UserID, "", e)
}

// stateChanged says that an account may act again or no more.
func stateChanged(e account.UserStateChanged, out *Entry) {
	*out = asUser(e.Row(), *out)
	out.TargetDetails = e.Row().Username
	out.Event, out.Message = "user_state_updated", "Changed state from "+string(e.Before.State)+" to "+string(e.Row().State)
	switch {
	case e.Row().State == account.Blocked:
		out.Event, out.Message = "user_blocked", "Blocked user"
	case e.Row().State == account.Deactivated:
		out.Event, out.Message = "user_deactivate", "Deactivated user"
	case e.Row().State == account.Active && e.Before.State == account.Blocked:
		out.Event, out.Message = "user_unblocked", "Unblocked user"
	case e.Row().State == account.Active && e.Before.State == account.PendingApproval:
		out.Event, out.Message = "user_approved", "Instance access request approved"
	case e.Row().State == account.Active:
		out.Event, out.Message = "user_activate", "Activated user"
	}
	*out = out.with("change", "state", "from", e.Before.State, "to", e.Row().State)
}

// groups is about groups, and the members of groups and projects.
func (t table) groups() {
	record[namespace.GroupCreated](t, "group_created", "Added group")
	record(t, "", "", func(e namespace.GroupMarked, out *Entry) {
		out.EntityPath = e.Before.FullPath
		out.Event, out.Message, out.TargetDetails = "group_deletion_marked", "Group marked for deletion", e.Before.Name
		if e.Restored {
			out.Event, out.Message, out.TargetDetails = "group_restored", "Group restored", e.Row().Name
		}
	})
	record(t, "group_archived", "Group archived", func(e namespace.GroupArchived, out *Entry) {
		if e.Undone {
			out.Event, out.Message = "group_unarchived", "Group unarchived"
		}
	})
	many(t, groupUpdated)
	record[namespace.GroupDeleted](t, "group_destroyed", "Group destroyed")
	record(t, "group_transferred", "", func(e namespace.GroupTransferred, out *Entry) {
		out.Message = "Changed parent group: " + e.Before.FullPath + " is " + e.Row().FullPath
		*out = out.with("change", "parent", "from", e.Before.FullPath, "to", e.Row().FullPath)
	})
	record(t, "member_created", "Membership created", func(e namespace.MemberAdded, out *Entry) {
		*out = member(&e.User, *out).with("add", "user_access", "as", e.Row().Level.Name(), "member_id", e.Row().ID)
	})
	record(t, "member_updated", "Membership updated", func(e namespace.MemberChanged, out *Entry) {
		to := e.Row().Level.Name()
		*out = member(&e.User, *out).with("change", "access_level", "from", e.Before.Level.Name(), "to", to, "as", to,
			"expiry_from", e.Before.ExpiresOn, "expiry_to", e.Row().ExpiresOn, "member_id", e.Row().ID)
	})
	record(t, "member_destroyed", "Membership destroyed", func(e namespace.MemberRemoved, out *Entry) {
		*out = member(&e.User, *out).with("remove", "user_access", "member_id", e.Row().ID)
	})
	record(t, "access_request_denied", "Access request denied", func(e namespace.AccessDenied, out *Entry) {
		if e.By.UserID == e.UserID {
			out.Event, out.Message = "access_request_withdrawn", "Access request withdrawn"
		}
	})
	record(t, "member_invited", "Membership offered", func(e namespace.Invited, out *Entry) {
		*out = out.with("add", "user_access", "as", e.Level.Name())
	})
	record[namespace.InvitationRemoved](t, "member_invitation_removed", "Invitation taken back")
	record(t, "project_group_link_created", "Added project group link", func(e namespace.GroupShared, out *Entry) {
		if e.Place.Group {
			out.Event, out.Message = "group_share_with_group_link_created", "Invited "+e.GroupName+" to the group "+e.Place.Name
		}
		*out = out.with("add", "group_access", "as", e.Level.Name(), "invite_expiry", e.Expiry)
	})
	record(t, "project_group_link_deleted", "Removed project group link", func(e namespace.GroupUnshared, out *Entry) {
		if e.Place.Group {
			out.Event, out.Message = "group_share_with_group_link_removed", "Removed "+e.GroupName+" from the group "+e.Place.Name
		}
		*out = out.with("remove", "group_access")
	})
}

// member names the user of a membership.
func member(u *namespace.MemberUser, e Entry) Entry {
	e.TargetDetails = u.Name
	return e
}

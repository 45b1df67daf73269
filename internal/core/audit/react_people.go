package audit

import (
	"tenon/internal/core/account"
	"tenon/internal/core/authz"
	"tenon/internal/core/change"
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
	out := entry(change.Fact{Stamp: e.Stamp}, change.RecordValue("application_setting_updated", e.Name, e.From, e.To))
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

// groups is about groups.
func (t table) groups() {
	record(t, "", "", func(e namespace.GroupMarked, out *Entry) {
		out.EntityPath = e.Before.FullPath
		out.Event, out.Message, out.TargetDetails = "group_deletion_marked", "Group marked for deletion", e.Before.Name
		if e.Restored {
			out.Event, out.Message, out.TargetDetails = "group_restored", "Group restored", e.Row().Name
		}
	})
	many(t, groupUpdated)
}

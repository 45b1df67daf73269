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
	one(t, func(e account.UserCreated) Entry {
		return onUser(e.Stamp, &e.User, "user_created", "User "+e.User.Username+" created", e.User.Name).with("add", "user")
	})
	one(t, stateChanged)
	one(t, func(e account.AccessLocked) Entry {
		return onUser(authz.System().Stamp(e.At), &account.User{ID: e.UserID, Username: e.Username}, "user_access_locked", "User access locked", e.Username)
	})
	one(t, func(e account.AccessUnlocked) Entry {
		return onUser(e.Stamp, &account.User{ID: e.UserID, Username: e.Username}, "user_access_unlocked", "User access unlocked", e.Username)
	})
	one(t, func(e account.UserRemoved) Entry {
		event, message := "user_destroyed", "User "+e.User.Username+" scheduled for deletion"
		if e.Rejected {
			event, message = "user_rejected", "Instance access request rejected"
		}
		return onUser(e.Stamp, &e.User, event, message, e.User.Name).with("remove", "user")
	})
	record(t, "personal_access_token_created", "Created personal access token with id {id}", func(e token.Created, out *Entry) { *out = ofToken(&e.Token, *out) })
	record(t, "personal_access_token_revoked", "Revoked personal access token with id {id}", func(e token.Revoked, out *Entry) { *out = ofToken(&e.Token, *out) })
	record(t, "add_ssh_key", "Added SSH key", func(e sshkey.Added, out *Entry) { *out = ofUser(*e.Key.UserID, *out) })
	record(t, "remove_ssh_key", "Removed SSH key", func(e sshkey.Removed, out *Entry) { *out = ofUser(*e.Key.UserID, *out) })
	record(t, "add_gpg_key", "Added GPG key", func(e gpgkey.Added, out *Entry) { *out = ofUser(e.Key.UserID, *out) })
	record(t, "remove_gpg_key", "Removed GPG key", func(e gpgkey.Removed, out *Entry) { *out = ofUser(e.Key.UserID, *out) })
	one(t, func(e setting.Changed) Entry {
		out := in(e.Stamp, authz.Place{}).with("change", e.Name, "from", e.From, "to", e.To)
		out.Event, out.Message = "application_setting_updated", "Changed "+e.Name
		out.TargetType, out.TargetID, out.TargetDetails = "ApplicationSetting", 1, e.Name
		return out
	})
}

// onUser is an entry about an account.
func onUser(s authz.Stamp, u *account.User, event, message, details string) Entry {
	return Entry{
		By: s.By, EntityType: User, EntityID: int64(u.ID), EntityPath: u.Username, Event: event, Message: message,
		TargetType: User, TargetID: int64(u.ID), TargetDetails: details,
	}
}

// ofUser makes an entry one about what a user has.
func ofUser(id authz.UserID, e Entry) Entry {
	e.EntityType, e.EntityID, e.EntityPath = User, int64(id), ""
	return e
}

// ofToken is ofUser for tokens; those of projects and groups are recorded by accesstoken's events.
func ofToken(t *token.Token, e Entry) Entry {
	if t.Kind == token.Project || t.Kind == token.Group {
		return Entry{}
	}
	return ofUser(t.UserID, e)
}

// stateChanged says that an account may act again or no more.
func stateChanged(e account.UserStateChanged) Entry {
	event, message := "user_state_updated", "Changed state from "+string(e.Before.State)+" to "+string(e.User.State)
	switch {
	case e.User.State == account.Blocked:
		event, message = "user_blocked", "Blocked user"
	case e.User.State == account.Deactivated:
		event, message = "user_deactivate", "Deactivated user"
	case e.User.State == account.Active && e.Before.State == account.Blocked:
		event, message = "user_unblocked", "Unblocked user"
	case e.User.State == account.Active && e.Before.State == account.PendingApproval:
		event, message = "user_approved", "Instance access request approved"
	case e.User.State == account.Active:
		event, message = "user_activate", "Activated user"
	}
	return onUser(e.Stamp, &e.User, event, message, e.User.Username)
}

// groups is about groups, and the members of groups and projects.
func (t table) groups() {
	record[namespace.GroupCreated](t, "group_created", "Added group")
	record(t, "", "", func(e namespace.GroupMarked, out *Entry) {
		out.EntityPath = e.Before.FullPath
		out.Event, out.Message, out.TargetDetails = "group_deletion_marked", "Group marked for deletion", e.Before.Name
		if e.Restored {
			out.Event, out.Message, out.TargetDetails = "group_restored", "Group restored", e.Group.Name
		}
	})
	record(t, "group_archived", "Group archived", func(e namespace.GroupArchived, out *Entry) {
		if e.Undone {
			out.Event, out.Message = "group_unarchived", "Group unarchived"
		}
	})
	record[namespace.GroupDeleted](t, "group_destroyed", "Group destroyed")
	record(t, "group_transferred", "", func(e namespace.GroupTransferred, out *Entry) {
		out.Message = "Changed parent group: " + e.Before.FullPath + " is " + e.Group.FullPath
		*out = out.with("change", "parent", "from", e.Before.FullPath, "to", e.Group.FullPath)
	})
	record(t, "member_created", "Membership created", func(e namespace.MemberAdded, out *Entry) {
		*out = out.with("add", "user_access", "as", e.Member.Level.Name())
	})
	record(t, "member_updated", "Membership updated", func(e namespace.MemberChanged, out *Entry) {
		to := e.Member.Level.Name()
		*out = out.with("change", "access_level", "from", e.Before.Level.Name(), "to", to, "as", to, "expiry_to", e.Member.ExpiresOn)
	})
	record(t, "member_destroyed", "Membership destroyed", detail[namespace.MemberRemoved]("remove", "user_access"))
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

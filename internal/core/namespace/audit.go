package namespace

import "tenon/internal/core/change"

// Audit is what the audit trail records of it.
func (GroupCreated) Audit() []change.Entry { return change.Record("group_created", "Added group") }

// Audit is what the audit trail records of it.
func (e GroupArchived) Audit() []change.Entry {
	return change.RecordEither(e.Undone, "group_archived", "Group archived", "group_unarchived", "Group unarchived")
}

// Audit is what the audit trail records of it.
func (GroupDeleted) Audit() []change.Entry {
	return change.Record("group_destroyed", "Group destroyed")
}

// Audit is what the audit trail records of it.
func (e GroupTransferred) Audit() []change.Entry {
	from, to := e.Before.FullPath, e.Row().FullPath
	return change.Record("group_transferred", "Changed parent group: "+from+" is "+to, "change", "parent", "from", from, "to", to)
}

// Audit is what the audit trail records of it.
func (e MemberAdded) Audit() []change.Entry {
	return change.RecordTarget(e.User.Name, "member_created", "Membership created",
		"add", "user_access", "as", e.Row().Level.Name(), "member_id", e.Row().ID)
}

// Audit is what the audit trail records of it.
func (e MemberChanged) Audit() []change.Entry {
	to := e.Row().Level.Name()
	return change.RecordTarget(e.User.Name, "member_updated", "Membership updated",
		"change", "access_level", "from", e.Before.Level.Name(), "to", to, "as", to,
		"expiry_from", e.Before.ExpiresOn, "expiry_to", e.Row().ExpiresOn, "member_id", e.Row().ID)
}

// Audit is what the audit trail records of it.
func (e MemberRemoved) Audit() []change.Entry {
	return change.RecordTarget(e.User.Name, "member_destroyed", "Membership destroyed", "remove", "user_access", "member_id", e.Row().ID)
}

// Audit is what the audit trail records of it.
func (e AccessDenied) Audit() []change.Entry {
	return change.RecordEither(e.By.UserID == e.UserID,
		"access_request_denied", "Access request denied", "access_request_withdrawn", "Access request withdrawn")
}

// Audit is what the audit trail records of it.
func (e Invited) Audit() []change.Entry {
	return change.Record("member_invited", "Membership offered", "add", "user_access", "as", e.Level.Name())
}

// Audit is what the audit trail records of it.
func (InvitationRemoved) Audit() []change.Entry {
	return change.Record("member_invitation_removed", "Invitation taken back")
}

// Audit is what the audit trail records of it.
func (e GroupShared) Audit() []change.Entry {
	event, message := "project_group_link_created", "Added project group link"
	if e.Place.Group {
		event, message = "group_share_with_group_link_created", "Invited "+e.GroupName+" to the group {place}"
	}
	return change.Record(event, message, "add", "group_access", "as", e.Level.Name(), "invite_expiry", e.Expiry)
}

// Audit is what the audit trail records of it.
func (e GroupUnshared) Audit() []change.Entry {
	event, message := "project_group_link_deleted", "Removed project group link"
	if e.Place.Group {
		event, message = "group_share_with_group_link_removed", "Removed "+e.GroupName+" from the group {place}"
	}
	return change.Record(event, message, "remove", "group_access")
}

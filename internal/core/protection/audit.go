package protection

import (
	"fmt"
	"strings"

	"tenon/internal/core/change"
)

// Audit is what the audit trail records of it.
func (e BranchProtected) Audit() []change.Entry {
	return e.Row().record("protected_branch_created", "Added protected branch with "+e.Row().words())
}

// Audit is what the audit trail records of it.
func (e BranchProtectionUpdated) Audit() []change.Entry {
	return e.Row().record("protected_branch_updated", "Changed protected branch with "+e.Row().words())
}

// Audit is what the audit trail records of it.
func (e BranchUnprotected) Audit() []change.Entry {
	return e.Row().record("protected_branch_removed", "Unprotected branch")
}

// Audit is what the audit trail records of it.
func (e GroupBranchProtected) Audit() []change.Entry {
	return e.After.record("protected_branch_created", "Added protected branch with "+e.After.words())
}

// Audit is what the audit trail records of it.
func (e GroupBranchProtectionUpdated) Audit() []change.Entry {
	return e.After.record("protected_branch_updated", "Changed protected branch with "+e.After.words())
}

// Audit is what the audit trail records of it.
func (e GroupBranchUnprotected) Audit() []change.Entry {
	return e.Before.record("protected_branch_removed", "Unprotected branch")
}

// Audit is what the audit trail records of it.
func (e TagProtected) Audit() []change.Entry {
	return change.Record("protected_tag_created", "Added protected tag", "create_access_levels", e.Row().roles(ActionCreateTag))
}

// Audit is what the audit trail records of it.
func (TagUnprotected) Audit() []change.Entry {
	return change.Record("protected_tag_removed", "Unprotected tag")
}

// record is an entry with the state of a rule for branches.
func (r *Rule) record(event, message string) []change.Entry {
	return change.Record(event, message, "push_access_levels", r.roles(ActionPush), "merge_access_levels", r.roles(ActionMerge),
		"allow_force_push", r.AllowForcePush, "code_owner_approval_required", r.CodeOwners)
}

// words are the state of a rule for branches.
func (r *Rule) words() string {
	return fmt.Sprintf("[allowed to push: [%s], allowed to merge: [%s], allow force push: %t, code owner approval required: %t]",
		strings.Join(r.roles(ActionPush), ", "), strings.Join(r.roles(ActionMerge), ", "), r.AllowForcePush, r.CodeOwners)
}

// roles returns the words for the levels that a rule has for an action.
func (r *Rule) roles(action string) []string {
	out := []string{}
	for _, l := range r.Levels {
		switch {
		case l.Action != action:
		case l.UserID != nil:
			out = append(out, fmt.Sprintf("user %d", *l.UserID))
		case l.GroupID != nil:
			out = append(out, fmt.Sprintf("group %d", *l.GroupID))
		case l.DeployKeyID != nil:
			out = append(out, fmt.Sprintf("deploy key %d", *l.DeployKeyID))
		case l.Level != nil:
			out = append(out, LevelWords(*l.Level))
		}
	}
	return out
}

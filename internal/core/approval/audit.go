package approval

import (
	"fmt"
	"strconv"

	"tenon/internal/core/change"
)

// Audit is what the audit trail records of it.
func (e RuleCreated) Audit() []change.Entry {
	return change.Record("approval_rule_created",
		"Added approval rule with number of required approvals of "+strconv.FormatInt(e.After.Required, 10))
}

// Audit is what the audit trail records of it.
func (e RuleUpdated) Audit() []change.Entry {
	return change.Record("approval_rule_updated",
		fmt.Sprintf("Changed number of required approvals from %d to %d", e.Before.Required, e.After.Required),
		"change", "number of required approvals", "from", e.Before.Required, "to", e.After.Required)
}

// Audit is what the audit trail records of it.
func (RuleDeleted) Audit() []change.Entry {
	return change.Record("approval_rule_deleted", "Deleted approval rule")
}

// Audit has an entry for each setting that changed.
func (e SettingsChanged) Audit() []change.Entry {
	var out []change.Entry
	for _, c := range []struct {
		what     string
		old, now bool
	}{
		{"prevent merge request approval from authors", !e.Before.AuthorApproval.On, !e.After.AuthorApproval.On},
		{"prevent merge request approval from committers", !e.Before.CommitterApproval.On, !e.After.CommitterApproval.On},
		{"require new approvals when new commits are added to an MR", !e.Before.RetainOnPush.On, !e.After.RetainOnPush.On},
		{"prevent users from modifying MR approval rules in merge requests", !e.Before.Overrides.On, !e.After.Overrides.On},
		{"require user password for approvals", e.Before.RequirePassword.On, e.After.RequirePassword.On},
	} {
		if c.old != c.now {
			out = append(out, change.RecordValue("{kind}_merge_request_approval_setting_updated", c.what, c.old, c.now))
		}
	}
	return out
}

// Changed is the event in its generic form; it is about the place, whose settings these are.
func (e SettingsChanged) Changed() change.Fact {
	f := e.Of.Changed()
	f.Subject.Type, f.Subject.ID, f.Subject.Title = "Project", e.Place.ID, e.Place.Path
	if e.Place.Group {
		f.Subject.Type = "Group"
	}
	return f
}

package statuscheck

import (
	"strings"

	"tenon/internal/core/change"
)

// Audit is what the audit trail records of it.
func (Created) Audit() []change.Entry {
	return change.Record("create_status_check", "Added external status check {title}")
}

// Audit has an entry for each attribute that changed. Of the shared secret it says only that it did.
func (e Updated) Audit() []change.Entry {
	const event = "update_status_check"
	var out []change.Entry
	for _, c := range []struct{ what, old, now string }{
		{"name", e.Before.Name, e.After.Name},
		{"external url", e.Before.URL, e.After.URL},
		{"protected branches", e.Before.branches(), e.After.branches()},
	} {
		if c.old != c.now {
			message := "Changed " + c.what + " of external status check from {from} to {to}"
			out = append(out, change.Record(event, message, "change", c.what, "from", c.old, "to", c.now)...)
		}
	}
	if f := e.Changed(); f.Has("shared_secret") {
		out = append(out, change.Record(event, "Changed shared secret of external status check")...)
	}
	return out
}

// Audit is what the audit trail records of it.
func (Deleted) Audit() []change.Entry {
	return change.Record("delete_status_check", "Removed external status check {title}")
}

// Audit is what the audit trail records of it.
func (e Responded) Audit() []change.Entry {
	status := string(e.Response.Status)
	details := []any{"change", "status", "to", status, "sha", e.Response.SHA}
	if e.Was != nil {
		details = append(details, "from", string(e.Was.Status))
	}
	return change.Record("status_check_response_update",
		"Set status of external status check for merge request "+e.MergeRequest.IID.Reference()+" to "+status, details...)
}

// branches names the protected branches of a check.
func (c *Check) branches() string {
	if len(c.Branches) == 0 {
		return "all branches"
	}
	names := make([]string, len(c.Branches))
	for i, b := range c.Branches {
		names[i] = b.Name
	}
	return strings.Join(names, ", ")
}

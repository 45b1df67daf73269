package jobtoken

import "tenon/internal/core/change"

// Changed is the event in its generic form, about the project that opens itself.
func (e ScopeChanged) Changed() change.Fact {
	return change.View(e.Stamp, e.Project.Place(), &e.Project, &e.Project)
}

// Audit is what the audit trail records of it.
func (e ScopeChanged) Audit() []change.Entry {
	return change.RecordEither(e.Inbound, "secure_ci_job_token_inbound_disabled", "Secure ci_job_token was disabled for inbound",
		"secure_ci_job_token_inbound_enabled", "Secure ci_job_token was enabled for inbound")
}

// Changed is the event in its generic form, about the project that lets in.
func (e Listing) Changed() change.Fact {
	return change.View(e.Stamp, e.Project.Place(), &e.Project, &e.Project)
}

// Audit is what the audit trail records of it.
func (e Allowed) Audit() []change.Entry { return e.record("added", "added to") }

// Audit is what the audit trail records of it.
func (e Disallowed) Audit() []change.Entry { return e.record("removed", "removed from") }

func (e *Listing) record(done, words string) []change.Entry {
	kind, title := "project", "Project "
	if e.Group {
		kind, title = "group", "Group "
	}
	return change.Record("secure_ci_job_token_"+kind+"_"+done, title+e.Name+" was "+words+" inbound list of allowed projects for ci_job_token")
}

package project

import "tenon/internal/core/change"

// Audit is what the audit trail records of it.
func (Created) Audit() []change.Entry { return change.Record("project_created", "Added project") }

// Audit is what the audit trail records of it.
func (e Archived) Audit() []change.Entry {
	return change.RecordEither(e.Undone, "project_archived", "Project archived", "project_unarchived", "Project unarchived")
}

// Audit is what the audit trail records of it.
func (e Deleted) Audit() []change.Entry {
	return change.Record("project_destroyed", "Project '"+e.Row().FullPath+"' was deleted")
}

// Audit is what the audit trail records of it.
func (e Transferred) Audit() []change.Entry {
	from, to := e.Before.FullPath, e.Row().FullPath
	return change.Record("project_namespace_updated", "Changed namespace from "+from+" to "+to, "change", "namespace", "from", from, "to", to)
}

// Audit is what the audit trail records of it.
func (e ForkLinked) Audit() []change.Entry {
	return change.Record("project_fork_relationship_created", "Made a fork of "+e.Source.FullPath)
}

// Audit is what the audit trail records of it.
func (e Unforked) Audit() []change.Entry {
	if e.Deleted {
		return nil
	}
	return change.Record("project_fork_relationship_removed", "Removed fork relationship")
}

package audit

import "tenon/internal/core/project"

// projects is about projects.
func (t table) projects() {
	many(t, projectUpdated)
	record(t, "", "", func(e project.Marked, out *Entry) {
		out.Event = either(e.Restored, "project_restored", "project_deletion_marked")
		out.Message = either(e.Restored, "Project restored", "Project marked for deletion")
		out.EntityPath, out.TargetDetails = e.Before.FullPath, either(e.Restored, e.Row().Name, e.Before.Name)
	})
	record(t, "project_fork_operation", "", func(e project.Forked, out *Entry) {
		out.Message, out.EntityID, out.EntityPath = "Forked project to "+e.Row().FullPath, int64(e.Source.ID), e.Source.FullPath
		out.TargetID, out.TargetDetails = int64(e.Source.ID), e.Source.FullPath
	})
}

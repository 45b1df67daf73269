package audit

import (
	"context"

	"tenon/internal/core/project"
)

// ProjectForked records that a project was copied.
func (r *Recorder) ProjectForked(ctx context.Context, e project.Forked) error {
	out := aboutProject(e.By, e.SourceID, e.Source, e.Source, "project_fork_operation", "Forked project to "+e.FullPath)
	out.Details = map[string]any{"custom_message": "Forked project to " + e.FullPath}
	return r.Record(ctx, out)
}

// ForkLinked records that a project was declared a fork of another one.
func (r *Recorder) ForkLinked(ctx context.Context, e project.ForkLinked) error {
	return r.Record(ctx, aboutProject(e.By, e.ProjectID, e.Name, e.FullPath, "project_fork_relationship_created", "Made a fork of "+e.Source))
}

// ProjectUnforked records that a fork is a project of its own now.
func (r *Recorder) ProjectUnforked(ctx context.Context, e project.Unforked) error {
	if e.Deleted {
		return nil
	}
	return r.Record(ctx, aboutProject(e.By, e.ProjectID, e.Name, e.FullPath, "project_fork_relationship_removed", "Removed fork relationship"))
}

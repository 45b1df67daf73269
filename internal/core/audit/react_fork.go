package audit

import (
	"context"

	"tenon/internal/core/project"
)

// ProjectForked records that a project was copied.
func (r *Recorder) ProjectForked(ctx context.Context, e project.Forked) error {
	out := aboutProject(e.By, e.Source.ID, e.Source.FullPath, e.Source.FullPath, "project_fork_operation", "Forked project to "+e.Project.FullPath)
	out.Details = map[string]any{"custom_message": "Forked project to " + e.Project.FullPath}
	return r.Record(ctx, out)
}

// ForkLinked records that a project was declared a fork of another one.
func (r *Recorder) ForkLinked(ctx context.Context, e project.ForkLinked) error {
	return r.Record(ctx, projectAt(&e.Fact, e.Project.FullPath, "project_fork_relationship_created", "Made a fork of "+e.Source.FullPath))
}

// ProjectUnforked records that a fork is a project of its own now.
func (r *Recorder) ProjectUnforked(ctx context.Context, e project.Unforked) error {
	if e.Deleted {
		return nil
	}
	return r.Record(ctx, projectAt(&e.Fact, e.Project.FullPath, "project_fork_relationship_removed", "Removed fork relationship"))
}

package audit

import (
	"context"

	"tenon/internal/core/namespace"
	"tenon/internal/core/project"
)

// ProjectTransferred records that a project stands somewhere else now.
func (r *Recorder) ProjectTransferred(ctx context.Context, e project.Transferred) error {
	from, to := e.Before.FullPath, e.Project.FullPath
	out := projectAt(&e.Fact, to, "project_namespace_updated", "Changed namespace from "+from+" to "+to)
	out.Details = map[string]any{"change": "namespace", "from": from, "to": to}
	return r.Record(ctx, out)
}

// GroupTransferred records that a group stands somewhere else now.
func (r *Recorder) GroupTransferred(ctx context.Context, e namespace.GroupTransferred) error {
	from, to := e.Before.FullPath, e.Group.FullPath
	out := group(e.By, &e.Group, "group_transferred", "Changed parent group: "+from+" is "+to)
	out.Details = map[string]any{"change": "parent", "from": from, "to": to}
	return r.Record(ctx, out)
}

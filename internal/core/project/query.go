package project

import (
	"tenon/internal/base/db"
	"tenon/internal/core/authz"
	"tenon/internal/core/namespace"
)

// row is a project of a list.
type row struct {
	Project
}

// columns are those of Project but for the actor's level, over the aliases of tables.
var columns = db.Columns[Project]("p") + `, r.path AS full_path, r.name AS full_name, n.visibility, o.kind = 'user' AS personal,
	p.archived OR ` + namespace.ArchivedAbove("p.namespace_id") + ` AS archived_anywhere,
	COALESCE(d.commit_count, 0) AS commit_count, COALESCE(d.repository_size, 0) AS repository_size, COALESCE(d.readme_path, '') AS readme_path,
	COALESCE(d.license_path, '') AS license_path, COALESCE(d.license_key, '') AS license_key,
	p.only_allow_merge_if_pipeline_succeeds OR ` + namespace.PipelineAbove("p.namespace_id") + ` AS merge_needs_pipeline,
	p.only_allow_merge_if_all_discussions_are_resolved OR ` + namespace.ResolvedAbove("p.namespace_id") + ` AS merge_needs_resolved,
	COALESCE(p.allow_merge_on_skipped_pipeline, false) OR ` + namespace.SkippedAbove("p.namespace_id") + ` AS merge_takes_skipped,
	` + namespace.MarkedAbove("p.namespace_id") + ` AS marked_above`

const from = ` FROM ` + tables

const tables = `projects p JOIN namespaces n ON n.id = p.namespace_id JOIN routes r ON r.namespace_id = p.namespace_id
	JOIN namespaces o ON o.id = p.parent_id LEFT JOIN project_measures d ON d.project_id = p.id`

// project finishes the project of a row read with the actor's level.
func (r *row) project() *Project {
	r.LevelKnown = true
	return &r.Project
}

// bare returns the project of a row read for no user.
func (r *row) bare() *Project {
	r.Level = authz.NoAccess
	return &r.Project
}

package project

import (
	"tenon/internal/core/authz"
	"tenon/internal/core/namespace"
)

// row is what columns selects: the project and what its fields are made of.
type row struct {
	Project
	IssuesAccess        authz.FeatureAccess `db:"issues_access"`
	MergeRequestsAccess authz.FeatureAccess `db:"merge_requests_access"`
	RepositoryAccess    authz.FeatureAccess `db:"repository_access"`
	ForkingAccess       authz.FeatureAccess `db:"forking_access"`
	WikiAccess          authz.FeatureAccess `db:"wiki_access"`
	BuildsAccess        authz.FeatureAccess `db:"builds_access"`
	SnippetsAccess      authz.FeatureAccess `db:"snippets_access"`
	ActorLevel          authz.Level         `db:"actor_level"`
	Total               int                 `db:"total"` // of the list that the row is on, where it was counted on the way
}

// columns are those of row without actor_level and total, over the aliases p, n, r, o and d of from.
var columns = `p.id, p.namespace_id, p.parent_id, p.creator_id, p.forked_from_id, p.fork_root_id, p.name, p.path,
	r.path AS full_path, r.name AS full_name, p.description, p.avatar, p.default_branch, p.storage,
	n.visibility, o.kind = 'user' AS personal, p.archived OR ` + namespace.ArchivedAbove("p.namespace_id") + ` AS archived, p.archived AS archived_itself,
	COALESCE(d.commit_count, 0) AS commit_count, COALESCE(d.repository_size, 0) AS repository_size,
	COALESCE(d.readme_path, '') AS readme_path, COALESCE(d.license_path, '') AS license_path, COALESCE(d.license_key, '') AS license_key, p.star_count, p.forks_count, p.open_issues_count, p.topics,
	p.issues_access, p.merge_requests_access, p.repository_access, p.forking_access, p.wiki_access,
	p.builds_access, p.snippets_access, p.features, p.merge_method, p.squash_option,
	p.only_allow_merge_if_pipeline_succeeds, p.only_allow_merge_if_pipeline_succeeds OR ` + namespace.PipelineAbove("p.namespace_id") + ` AS merge_needs_pipeline,
	COALESCE(p.allow_merge_on_skipped_pipeline, false) OR ` + namespace.SkippedAbove("p.namespace_id") + ` AS merge_takes_skipped, p.allow_merge_on_skipped_pipeline,
	p.only_allow_merge_if_all_discussions_are_resolved, p.remove_source_branch_after_merge,
	p.printing_merge_request_link_enabled, p.merge_commit_template, p.squash_commit_template,
	p.suggestion_commit_message, p.issue_branch_template, p.request_access_enabled, p.lfs_enabled,
	p.autoclose_referenced_issues, p.emails_enabled, p.approvals_before_merge, p.settings,
	p.marked_for_deletion_on, ` + namespace.MarkedAbove("p.namespace_id") + ` AS marked_above, p.pending_delete, p.import_status, p.import_error, p.last_activity_at, p.created_at, p.updated_at`

const from = ` FROM ` + tables

const tables = `projects p JOIN namespaces n ON n.id = p.namespace_id JOIN routes r ON r.namespace_id = p.namespace_id
	JOIN namespaces o ON o.id = p.parent_id LEFT JOIN project_measures d ON d.project_id = p.id`

// project finishes the project of a row read with the actor's level.
func (r *row) project() *Project {
	p := r.bare()
	p.Level, p.LevelKnown = r.ActorLevel, true
	return p
}

// bare finishes the project of a row read for nobody in particular.
func (r *row) bare() *Project {
	p := r.Project
	p.Features[authz.Issues] = r.IssuesAccess
	p.Features[authz.MergeRequests] = r.MergeRequestsAccess
	p.Features[authz.Repository] = r.RepositoryAccess
	p.Features[authz.Forking] = r.ForkingAccess
	p.Features[authz.Wiki] = r.WikiAccess
	p.Features[authz.Builds] = r.BuildsAccess
	p.Features[authz.Snippets] = r.SnippetsAccess
	return &p
}

package project

// Attributes are those of a project that are stored as a call sends them: each stands for
// the column of its tag, and is a parameter of the API as it is. nil leaves one alone.
type Attributes struct {
	Name        *string `db:"name" param:"name" doc:"Name of the project"`
	Path        *string `db:"path" param:"path" doc:"Path"`
	Description *string `db:"description" param:"description" doc:"Description, at most 2000 characters"`

	MergeMethod                     *string `db:"merge_method" param:"merge_method" values:"merge,rebase_merge,ff" doc:"Merge method"`
	SquashOption                    *string `db:"squash_option" param:"squash_option" values:"never,always,default_on,default_off" doc:"Squash option"`
	OnlyMergeIfPipelineSucceeds     *bool   `db:"only_allow_merge_if_pipeline_succeeds" param:"only_allow_merge_if_pipeline_succeeds" doc:"Only allow merging if the pipeline succeeds"`
	AllowMergeOnSkippedPipeline     *bool   `db:"allow_merge_on_skipped_pipeline" param:"allow_merge_on_skipped_pipeline" doc:"Treat skipped pipelines as successful"`
	OnlyMergeIfDiscussionsResolved  *bool   `db:"only_allow_merge_if_all_discussions_are_resolved" param:"only_allow_merge_if_all_discussions_are_resolved" doc:"Only allow merging if all discussions are resolved"`
	RemoveSourceBranchAfterMerge    *bool   `db:"remove_source_branch_after_merge" param:"remove_source_branch_after_merge" doc:"Remove source branches after merging by default"`
	PrintingMergeRequestLinkEnabled *bool   `db:"printing_merge_request_link_enabled" param:"printing_merge_request_link_enabled" doc:"Show a link to create a merge request when pushing from the command line"`
	MergeCommitTemplate             *string `db:"merge_commit_template" empty:"null" param:"merge_commit_template" doc:"Template of merge commit messages"`
	SquashCommitTemplate            *string `db:"squash_commit_template" empty:"null" param:"squash_commit_template" doc:"Template of squash commit messages"`
	SuggestionCommitMessage         *string `db:"suggestion_commit_message" empty:"null" param:"suggestion_commit_message" doc:"Commit message of applied suggestions"`
	IssueBranchTemplate             *string `db:"issue_branch_template" empty:"null" param:"issue_branch_template" doc:"Template of branch names created from issues"`
	RequestAccessEnabled            *bool   `db:"request_access_enabled" param:"request_access_enabled" doc:"Allow users to request access"`
	LFSEnabled                      *bool   `db:"lfs_enabled" param:"lfs_enabled" doc:"Enable Git LFS"`
	SharedRunnersEnabled            *bool   `db:"shared_runners_enabled" param:"shared_runners_enabled" doc:"Enable instance runners"`
	GroupRunnersEnabled             *bool   `db:"group_runners_enabled" param:"group_runners_enabled" doc:"Enable group runners"`
	AutocloseReferencedIssues       *bool   `db:"autoclose_referenced_issues" param:"autoclose_referenced_issues" doc:"Auto-close referenced issues on the default branch"`
	EmailsEnabled                   *bool   `db:"emails_enabled" param:"emails_enabled" doc:"Enable email notifications"`
	ApprovalsBeforeMerge            *int64  `db:"approvals_before_merge" param:"approvals_before_merge" doc:"Number of approvals that merge requests need by default"`
}

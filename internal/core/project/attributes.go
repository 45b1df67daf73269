package project

// Attributes are those of a project that are stored as a call sends them: each stands for
// the column of its tag, and is a parameter of the API as it is. nil leaves one alone.
type Attributes struct {
	Name        *string `db:"name" param:"name" doc:"Name of the project"`
	Path        *string `db:"path" param:"path" doc:"Last part of its path"`
	Description *string `db:"description" param:"description" doc:"Description, 2000 characters at most"`

	MergeMethod                     *string `db:"merge_method" param:"merge_method" values:"merge,rebase_merge,ff" doc:"How merge requests are merged"`
	SquashOption                    *string `db:"squash_option" param:"squash_option" values:"never,always,default_on,default_off" doc:"Whether merge requests are squashed"`
	OnlyMergeIfPipelineSucceeds     *bool   `db:"only_allow_merge_if_pipeline_succeeds" param:"only_allow_merge_if_pipeline_succeeds" doc:"Merge only after a successful pipeline"`
	AllowMergeOnSkippedPipeline     *bool   `db:"allow_merge_on_skipped_pipeline" param:"allow_merge_on_skipped_pipeline" doc:"Take a skipped pipeline for a successful one"`
	OnlyMergeIfDiscussionsResolved  *bool   `db:"only_allow_merge_if_all_discussions_are_resolved" param:"only_allow_merge_if_all_discussions_are_resolved" doc:"Merge only when every thread is resolved"`
	RemoveSourceBranchAfterMerge    *bool   `db:"remove_source_branch_after_merge" param:"remove_source_branch_after_merge" doc:"Remove source branches after the merge unless told otherwise"`
	PrintingMergeRequestLinkEnabled *bool   `db:"printing_merge_request_link_enabled" param:"printing_merge_request_link_enabled" doc:"Show a link to create a merge request when pushing"`
	MergeCommitTemplate             *string `db:"merge_commit_template" empty:"null" param:"merge_commit_template" doc:"Template of merge commit messages"`
	SquashCommitTemplate            *string `db:"squash_commit_template" empty:"null" param:"squash_commit_template" doc:"Template of squash commit messages"`
	SuggestionCommitMessage         *string `db:"suggestion_commit_message" empty:"null" param:"suggestion_commit_message" doc:"Message of commits that apply suggestions"`
	IssueBranchTemplate             *string `db:"issue_branch_template" empty:"null" param:"issue_branch_template" doc:"Template of branch names made from issues"`
	RequestAccessEnabled            *bool   `db:"request_access_enabled" param:"request_access_enabled" doc:"Let users ask for membership"`
	LFSEnabled                      *bool   `db:"lfs_enabled" param:"lfs_enabled" doc:"Allow large files in Git LFS"`
	AutocloseReferencedIssues       *bool   `db:"autoclose_referenced_issues" param:"autoclose_referenced_issues" doc:"Close issues when a commit on the default branch says so"`
	EmailsEnabled                   *bool   `db:"emails_enabled" param:"emails_enabled" doc:"Send mail notifications"`
	ApprovalsBeforeMerge            *int64  `db:"approvals_before_merge" param:"approvals_before_merge" doc:"Approvals a merge request needs"`
}

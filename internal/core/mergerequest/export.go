package mergerequest

import (
	"context"
	"encoding/json"
	"strconv"

	"tenon/internal/base/db"
	"tenon/internal/core/authz"
	"tenon/internal/core/noteable"
	"tenon/internal/core/tree"
)

// exported is a merge request as it moves.
type exported struct {
	TargetBranch     string          `db:"target_branch" tree:"target_branch"`
	SourceBranch     string          `db:"source_branch" tree:"source_branch"`
	SourceProjectID  *int64          `db:"source_project_id" tree:"source_project_id,project"`
	AuthorID         int64           `db:"author_id" tree:"author_id,user"`
	Title            string          `db:"title" tree:"title,max=255"`
	CreatedAt        db.Time         `db:"created_at" tree:"created_at"`
	UpdatedAt        db.Time         `db:"updated_at" tree:"updated_at"`
	State            string          `db:"state" tree:"state,names=opened|closed|merged|locked"`
	MergeStatus      string          `db:"merge_status" tree:"merge_status,names=unchecked|can_be_merged|cannot_be_merged"`
	TargetProjectID  int64           `db:"target_project_id" tree:"target_project_id,project"`
	IID              int64           `db:"iid" tree:"iid"`
	Description      *string         `db:"description" tree:"description,max=1048576"`
	UpdatedByID      *int64          `db:"updated_by_id" tree:"updated_by_id,user"`
	MergeError       *string         `db:"merge_error" tree:"merge_error"`
	MergeParams      json.RawMessage `tree:"merge_params"`
	MergeUserID      *int64          `db:"merge_user_id" tree:"merge_user_id,user"`
	MergeCommitSHA   *string         `db:"merge_commit_sha" tree:"merge_commit_sha"`
	SquashCommitSHA  *string         `db:"squash_commit_sha" tree:"squash_commit_sha"`
	LockVersion      int64           `tree:"lock_version"`
	Approvals        *int64          `db:"approvals_before_merge" tree:"approvals_before_merge"`
	RebaseCommitSHA  *string         `db:"rebase_commit_sha" tree:"rebase_commit_sha"`
	TimeEstimate     int64           `db:"time_estimate" tree:"time_estimate"`
	Squash           bool            `db:"squash" tree:"squash"`
	LastEditedAt     *db.Time        `db:"last_edited_at" tree:"last_edited_at"`
	LastEditedByID   *int64          `db:"last_edited_by_id" tree:"last_edited_by_id,user"`
	DiscussionLocked *bool           `db:"discussion_locked" tree:"discussion_locked"`
	AllowPush        bool            `db:"allow_collaboration" tree:"allow_maintainer_to_push"`
	Draft            bool            `db:"draft" tree:"draft"`
	HeadSHA          *string         `db:"diff_head_sha" tree:"diff_head_sha"`
	SourceSHA        *string         `db:"source_branch_sha" tree:"source_branch_sha"`
	TargetSHA        *string         `db:"target_branch_sha" tree:"target_branch_sha"`
	MilestoneID      *int64          `db:"milestone_id" child:"milestone"`
	VersionID        *int64          `db:"version_id" child:"merge_request_diff"`
	RemoveSource     *bool           `db:"force_remove_source_branch"`
}

// exportedMetrics are the times of a merge request.
type exportedMetrics struct {
	CreatedAt       db.Time  `db:"created_at" tree:"created_at"`
	UpdatedAt       db.Time  `db:"updated_at" tree:"updated_at"`
	ClosedByID      *int64   `db:"closed_by_id" tree:"latest_closed_by_id,user"`
	ClosedAt        *db.Time `db:"closed_at" tree:"latest_closed_at"`
	MergedByID      *int64   `db:"merged_by_id" tree:"merged_by_id,user"`
	MergedAt        *db.Time `db:"merged_at" tree:"merged_at"`
	FirstDeployedAt *db.Time `db:"first_deployed_at" tree:"first_deployed_to_production_at"`
	CommitsCount    int64    `db:"commits_count" tree:"commits_count"`
	TargetProjectID int64    `db:"target_project_id" tree:"target_project_id,project"`
}

// exportedUser is an assignee or a reviewer.
type exportedUser struct {
	UserID    int64   `db:"user_id" tree:"user_id,user"`
	CreatedAt db.Time `db:"created_at" tree:"created_at"`
}

// exportedReviewer is a reviewer.
type exportedReviewer struct {
	UserID    int64   `db:"user_id" tree:"user_id,user"`
	CreatedAt db.Time `db:"created_at" tree:"created_at"`
	State     string  `db:"state" tree:"state,names=unreviewed|reviewed|requested_changes|approved|unapproved|review_started"`
}

const exportedColumns = `m.target_branch, m.source_branch, m.source_project_id, m.author_id, m.title, m.created_at, m.updated_at, m.state, 'unchecked' AS merge_status,
	m.target_project_id, m.iid, m.description, m.updated_by_id, m.merge_error, m.merge_user_id, m.merge_commit_sha, m.squash_commit_sha, m.approvals_before_merge,
	m.rebase_commit_sha, m.time_estimate, m.squash, m.last_edited_at, m.last_edited_by_id, m.discussion_locked, m.allow_collaboration, m.draft,
	NULLIF(m.head_sha, '') AS diff_head_sha, NULLIF(m.head_sha, '') AS source_branch_sha, NULLIF(m.start_sha, '') AS target_branch_sha, m.milestone_id, m.version_id,
	m.force_remove_source_branch`

// readableTree selects what belongs to merge requests that were selected before.
func readableTree(ctx context.Context, r *tree.Reading, _ string) (*db.Where, error) {
	return r.Within(ctx, authz.ReadMergeRequest, "true")
}

// Relations describes merge requests with what their rows and the repository have.
func (s *Service) Relations() []tree.Relation {
	absent := []string{"in_progress_merge_commit_sha", "merge_ref_sha"}
	query := tree.Query[exported]{
		Columns: exportedColumns, From: "merge_requests m", ID: "m.id",
		Where: func(ctx context.Context, r *tree.Reading, _ string) (*db.Where, error) {
			return r.Within(ctx, authz.ReadMergeRequest, "m.target_project_id = ?", r.At.ID)
		},
		Fill: func(_ context.Context, _ *tree.Reading, rows []exported) error {
			for i := range rows {
				if remove := rows[i].RemoveSource; remove != nil {
					rows[i].MergeParams = json.RawMessage(`{"force_remove_source_branch":"` + map[bool]string{true: "1", false: "0"}[*remove] + `"}`)
				}
			}
			return nil
		},
	}
	nested := query
	nested.Parent = "m.id"
	query.ByTime = "m.created_at"
	return append([]tree.Relation{
		tree.Rows(tree.Relation{
			Name: "merge_requests", Parts: true, Kind: string(noteable.MergeRequest), Tables: []string{"merge_requests"}, Absent: absent,
			Children: []string{
				"metrics", "merge_request_diff", "merge_request_assignees", "merge_request_reviewers", "approvals", "milestone", "label_links", "timelogs", "award_emoji",
				"merge_request_notes", "events", "resource_label_events", "resource_milestone_events", "resource_state_events",
			},
		}, query),
		tree.Rows(tree.Relation{Name: "merge_request", Kind: string(noteable.MergeRequest), Single: true, Absent: absent}, nested),
		tree.Rows(tree.Relation{Name: "metrics", Single: true, Absent: []string{
			"latest_build_started_at", "latest_build_finished_at", "first_comment_at", "first_commit_at", "last_commit_at", "diff_size",
			"modified_paths_size", "first_approved_at", "first_reassigned_at", "added_lines", "removed_lines",
		}}, tree.Query[exportedMetrics]{
			Columns: `m.created_at, m.updated_at, m.closed_by_id, m.closed_at, CASE WHEN m.merged_at IS NOT NULL THEN m.merge_user_id END AS merged_by_id, m.merged_at,
				f.deployed_at AS first_deployed_at, m.commits_count, m.target_project_id`,
			From: "merge_requests m LEFT JOIN first_deployments f ON f.merge_request_id = m.id", ID: "m.id", Parent: "m.id", Where: readableTree,
		}),
		tree.Rows(tree.Relation{Name: "merge_request_assignees", Tables: []string{"merge_request_assignees"}}, tree.Query[exportedUser]{
			Columns: "a.user_id, m.created_at", From: "merge_request_assignees a JOIN merge_requests m ON m.id = a.merge_request_id",
			ID: "a.user_id", Parent: "a.merge_request_id", Where: readableTree,
		}),
		tree.Rows(tree.Relation{Name: "merge_request_reviewers", Tables: []string{"merge_request_reviewers"}}, tree.Query[exportedReviewer]{
			Columns: "a.user_id, a.created_at, a.state", From: "merge_request_reviewers a", ID: "a.user_id", Parent: "a.merge_request_id", Where: readableTree,
		}),
	}, s.diffRelations()...)
}

// size is the number of changed files as the format has it: text.
func size(n int64) string { return strconv.FormatInt(n, 10) }

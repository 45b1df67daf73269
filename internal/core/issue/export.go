package issue

import (
	"context"

	"tenon/internal/base/db"
	"tenon/internal/core/authz"
	"tenon/internal/core/noteable"
	"tenon/internal/core/tree"
)

// exported is an issue as it moves.
type exported struct {
	Title            string    `db:"title" tree:"title,max=255"`
	AuthorID         int64     `db:"author_id" tree:"author_id,user"`
	ProjectID        int64     `db:"project_id" tree:"project_id,project"`
	CreatedAt        db.Time   `db:"created_at" tree:"created_at"`
	UpdatedAt        db.Time   `db:"updated_at" tree:"updated_at"`
	Description      *string   `db:"description" tree:"description,max=1048576,markdown"`
	State            string    `db:"state" tree:"state,names=opened|closed"`
	IID              int64     `db:"iid" tree:"iid"`
	UpdatedByID      *int64    `db:"updated_by_id" tree:"updated_by_id,user"`
	Confidential     bool      `db:"confidential" tree:"confidential"`
	ClosedAt         *db.Time  `db:"closed_at" tree:"closed_at"`
	ClosedByID       *int64    `db:"closed_by_id" tree:"closed_by_id,user"`
	DueDate          *string   `db:"due_date" tree:"due_date,date"`
	LockVersion      int64     `tree:"lock_version"`
	Weight           *int64    `db:"weight" tree:"weight"`
	TimeEstimate     int64     `db:"time_estimate" tree:"time_estimate"`
	Position         int64     `db:"relative_position" tree:"relative_position"`
	LastEditedAt     *db.Time  `db:"last_edited_at" tree:"last_edited_at"`
	LastEditedByID   *int64    `db:"last_edited_by_id" tree:"last_edited_by_id,user"`
	DiscussionLocked *bool     `db:"discussion_locked" tree:"discussion_locked"`
	Health           *string   `db:"health_status" tree:"health_status,names=on_track|needs_attention|at_risk"`
	Type             string    `db:"issue_type" tree:"issue_type,names=issue|incident|test_case|task"`
	WorkItem         *workItem `tree:"work_item_type"`
	MilestoneID      *int64    `db:"milestone_id" child:"milestone"`
	IterationID      *int64    `db:"iteration_id" child:"iteration"`
}

// workItem is the type of an issue as newer servers have it.
type workItem struct {
	BaseType string `json:"base_type"`
}

// exportedAssignee is an assignee of an issue.
type exportedAssignee struct {
	UserID int64 `db:"user_id" tree:"user_id,user"`
}

// Relations describes issues with their assignees.
func (s *Service) Relations() []tree.Relation {
	return []tree.Relation{
		tree.Rows(tree.Relation{
			Name: "issues", Parts: true, Kind: string(noteable.Issue), Tables: []string{"issues"},
			Children: []string{
				"issue_assignees", "milestone", "iteration", "epic_issue", "label_links", "timelogs", "award_emoji", "notes", "events",
				"resource_label_events", "resource_milestone_events", "resource_state_events", "resource_iteration_events",
			},
			Lacking: []string{"designs", "design_versions", "zoom_meetings"},
			Absent:  []string{"external_author", "sentry_issue", "issuable_sla", "work_item_description"},
		}, tree.Query[exported]{
			Columns: `i.title, i.author_id, i.project_id, i.created_at, i.updated_at, i.description, i.state, i.iid, i.updated_by_id, i.confidential, i.closed_at,
				i.closed_by_id, i.due_date, i.weight, i.time_estimate, i.relative_position, i.last_edited_at, i.last_edited_by_id, i.discussion_locked,
				i.health_status, i.issue_type, i.milestone_id, i.iteration_id`,
			From: "issues i", ID: "i.id", By: "i.relative_position", Where: func(ctx context.Context, r *tree.Reading, _ string) (*db.Where, error) {
				w, err := r.Within(ctx, authz.ReadIssue, "i.project_id = ?", r.At.ID)
				if w == nil || err != nil {
					return nil, err
				}
				cond, args := authz.ConfidentialSQL(r.As, r.At.Subject, "i")
				w.And(cond, args...)
				return w, nil
			},
			Fill: func(_ context.Context, _ *tree.Reading, rows []exported) error {
				for i := range rows {
					rows[i].WorkItem = &workItem{rows[i].Type}
				}
				return nil
			},
		}),
		tree.Rows(tree.Relation{Name: "issue_assignees", Tables: []string{"issue_assignees"}}, tree.Query[exportedAssignee]{
			Columns: "a.user_id", From: "issue_assignees a", ID: "a.user_id", Parent: "a.issue_id", Where: readableTree,
		}),
	}
}

// readableTree selects what belongs to issues that were selected before.
func readableTree(ctx context.Context, r *tree.Reading, _ string) (*db.Where, error) {
	return r.Within(ctx, authz.ReadIssue, "true")
}

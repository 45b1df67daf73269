package board

import (
	"context"

	"tenon/internal/base/db"
	"tenon/internal/core/authz"
	"tenon/internal/core/tree"
)

// exported is a board of a project or group as it moves.
type exported struct {
	ProjectID       *int64  `db:"project_id" tree:"project_id,project"`
	GroupID         *int64  `db:"group_id" tree:"group_id,group"`
	CreatedAt       db.Time `db:"created_at" tree:"created_at"`
	UpdatedAt       db.Time `db:"updated_at" tree:"updated_at"`
	Weight          *int64  `db:"weight" tree:"weight"`
	Name            string  `db:"name" tree:"name,max=255"`
	HideBacklogList bool    `db:"hide_backlog_list" tree:"hide_backlog_list"`
	HideClosedList  bool    `db:"hide_closed_list" tree:"hide_closed_list"`
	MilestoneID     *int64  `db:"milestone_id" child:"milestone"`
}

// exportedList is a list of a board as it moves.
type exportedList struct {
	ListType       string  `db:"list_type" tree:"list_type,names=label|milestone|assignee|iteration"`
	Position       int64   `db:"position" tree:"position"`
	CreatedAt      db.Time `db:"created_at" tree:"created_at"`
	UpdatedAt      db.Time `db:"updated_at" tree:"updated_at"`
	UserID         *int64  `db:"assignee_id" tree:"user_id,user"`
	MaxIssueCount  int64   `db:"max_issue_count" tree:"max_issue_count"`
	MaxIssueWeight int64   `db:"max_issue_weight" tree:"max_issue_weight"`
	LimitMetric    *string `db:"limit_metric" tree:"limit_metric,names=all_metrics|issue_count|issue_weights"`
	LabelID        *int64  `db:"label_id" child:"label"`
	MilestoneID    *int64  `db:"milestone_id" child:"milestone"`
	IterationID    *int64  `db:"iteration_id" child:"iteration"`
}

// Relations describes the boards of a project or group with their lists.
func (s *Service) Relations() []tree.Relation {
	return []tree.Relation{
		tree.Rows(tree.Relation{Name: "boards", In: tree.Both, Children: []string{"lists", "milestone"}, Tables: []string{"boards"}}, tree.Query[exported]{
			Columns: `p.id AS project_id, CASE WHEN p.id IS NULL THEN b.namespace_id END AS group_id, b.created_at, b.updated_at, b.weight, b.name, b.hide_backlog_list,
				b.hide_closed_list, b.milestone_id`,
			From: "boards b LEFT JOIN projects p ON p.namespace_id = b.namespace_id", ID: "b.id",
			Where: func(ctx context.Context, r *tree.Reading, _ string) (*db.Where, error) {
				return r.Within(ctx, authz.ReadBoard, "b.namespace_id = ?", r.At.Namespace)
			},
		}),
		tree.Rows(tree.Relation{Name: "lists", Children: []string{"label", "milestone", "iteration"}, Tables: []string{"board_lists"}}, tree.Query[exportedList]{
			Columns: `CASE WHEN l.label_id IS NOT NULL THEN 'label' WHEN l.milestone_id IS NOT NULL THEN 'milestone' WHEN l.assignee_id IS NOT NULL THEN 'assignee'
				ELSE 'iteration' END AS list_type, l.position, l.created_at, l.updated_at, l.assignee_id, l.max_issue_count, l.max_issue_weight, l.limit_metric,
				l.label_id, l.milestone_id, l.iteration_id`,
			From: "board_lists l", ID: "l.id", Parent: "l.board_id", Where: func(ctx context.Context, r *tree.Reading, _ string) (*db.Where, error) {
				return r.Within(ctx, authz.ReadBoard, "true")
			},
		}),
	}
}

package resourceevent

import (
	"context"

	"tenon/internal/base/db"
	"tenon/internal/core/tree"
)

// exportedLabel is a change of labels as it moves.
type exportedLabel struct {
	Action    string  `db:"action" tree:"action,names=add|remove"`
	UserID    *int64  `db:"user_id" tree:"user_id,user"`
	CreatedAt db.Time `db:"created_at" tree:"created_at"`
	LabelID   *int64  `db:"label_id" child:"label"`
}

// exportedMilestone is a change of the milestone as it moves.
type exportedMilestone struct {
	Action    string  `db:"action" tree:"action,names=add|remove"`
	UserID    *int64  `db:"user_id" tree:"user_id,user"`
	CreatedAt db.Time `db:"created_at" tree:"created_at"`
	State     *string `db:"state" tree:"state,names=opened|closed|merged|locked"`
	Milestone *int64  `db:"milestone_id" child:"milestone"`
}

// exportedState is a change of the state as it moves.
type exportedState struct {
	UserID       *int64  `db:"user_id" tree:"user_id,user"`
	State        *string `db:"state" tree:"state,names=opened|closed|reopened|merged"`
	CreatedAt    db.Time `db:"created_at" tree:"created_at"`
	SourceCommit *string `db:"source_commit" tree:"source_commit"`
	CloseByError bool    `tree:"close_after_error_tracking_resolve"`
	CloseByAlert bool    `tree:"close_auto_resolve_prometheus_alert"`
}

// exportedIteration is a change of the iteration as it moves.
type exportedIteration struct {
	Action      string  `db:"action" tree:"action,names=add|remove"`
	UserID      *int64  `db:"user_id" tree:"user_id,user"`
	CreatedAt   db.Time `db:"created_at" tree:"created_at"`
	IterationID *int64  `db:"iteration_id" child:"iteration"`
}

// exportedOf selects the changes of a kind to what was selected before.
func exportedOf(kind Kind) func(ctx context.Context, r *tree.Reading, of string) (*db.Where, error) {
	return func(ctx context.Context, r *tree.Reading, of string) (*db.Where, error) {
		return r.Within(ctx, r.Readable(), "e.resource_type = ? AND e.kind = ?", of, kind)
	}
}

// Relations describes the changes of labels, milestone, state and iteration. The format has none for those of the weight.
func (s *Service) Relations() []tree.Relation {
	const from, id, parent = "resource_events e", "e.id", "e.resource_id"
	return []tree.Relation{
		tree.Rows(tree.Relation{Name: "resource_label_events", Children: []string{"label"}, Tables: []string{"resource_events"}}, tree.Query[exportedLabel]{
			Columns: "e.action, e.user_id, e.created_at, e.label_id", From: from, ID: id, Parent: parent, Where: exportedOf(Label),
		}),
		tree.Rows(tree.Relation{Name: "resource_milestone_events", Children: []string{"milestone"}}, tree.Query[exportedMilestone]{
			Columns: "e.action, e.user_id, e.created_at, e.state, e.milestone_id", From: from, ID: id, Parent: parent, Where: exportedOf(Milestone),
		}),
		tree.Rows(tree.Relation{Name: "resource_state_events"}, tree.Query[exportedState]{
			Columns: "e.user_id, e.state, e.created_at, e.source_commit", From: from, ID: id, Parent: parent, Where: exportedOf(State),
		}),
		tree.Rows(tree.Relation{Name: "resource_iteration_events", Children: []string{"iteration"}}, tree.Query[exportedIteration]{
			Columns: "e.action, e.user_id, e.created_at, e.iteration_id", From: from, ID: id, Parent: parent, Where: exportedOf(Iteration),
		}),
	}
}

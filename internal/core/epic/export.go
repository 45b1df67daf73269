package epic

import (
	"context"

	"tenon/internal/base/db"
	"tenon/internal/core/tree"
)

// exportedIssue is the place of an issue in an epic as it moves.
type exportedIssue struct {
	Position  int64   `db:"relative_position" tree:"relative_position"`
	CreatedAt db.Time `db:"created_at" tree:"created_at"`
	UpdatedAt db.Time `db:"updated_at" tree:"updated_at"`
	EpicID    int64   `db:"epic_id" child:"epic"`
}

// exported is an epic of an issue as it moves.
type exported struct {
	IID              int64    `db:"iid" tree:"iid"`
	GroupID          int64    `db:"group_id" tree:"group_id,group"`
	AuthorID         int64    `db:"author_id" tree:"author_id,user"`
	Title            string   `db:"title" tree:"title,max=255"`
	Description      *string  `db:"description" tree:"description"`
	State            string   `db:"state" tree:"state,names=opened|closed"`
	Confidential     bool     `db:"confidential" tree:"confidential"`
	Color            string   `db:"color" tree:"color"`
	StartDateIsFixed bool     `db:"start_date_is_fixed" tree:"start_date_is_fixed"`
	StartDateFixed   *string  `db:"start_date_fixed" tree:"start_date_fixed,date"`
	DueDateIsFixed   bool     `db:"due_date_is_fixed" tree:"due_date_is_fixed"`
	DueDateFixed     *string  `db:"due_date_fixed" tree:"due_date_fixed,date"`
	Position         int64    `db:"relative_position" tree:"relative_position"`
	ClosedAt         *db.Time `db:"closed_at" tree:"closed_at"`
	ClosedByID       *int64   `db:"closed_by_id" tree:"closed_by_id,user"`
	CreatedAt        db.Time  `db:"created_at" tree:"created_at"`
	UpdatedAt        db.Time  `db:"updated_at" tree:"updated_at"`
}

// Relations describes the epics of issues, as far as the reader may see them.
func (s *Service) Relations() []tree.Relation {
	where := func(_ context.Context, r *tree.Reading, _ string) (*db.Where, error) {
		w := &db.Where{}
		cond, args := s.Policy.ReadableEpicsSQL(r.As, "e", "n")
		w.And(cond, args...)
		return w, nil
	}
	return []tree.Relation{
		tree.Rows(tree.Relation{Name: "epic_issue", Single: true, Children: []string{"epic"}, Tables: []string{"epic_issues"}}, tree.Query[exportedIssue]{
			Columns: "x.relative_position, x.created_at, x.updated_at, x.epic_id", From: "epic_issues x JOIN epics e ON e.id = x.epic_id JOIN namespaces n ON n.id = e.group_id",
			ID: "x.id", Parent: "x.issue_id", Where: where,
		}),
		tree.Rows(tree.Relation{Name: "epic", Single: true, Tables: []string{"epics"}}, tree.Query[exported]{
			Columns: `e.iid, e.group_id, e.author_id, e.title, e.description, e.state, e.confidential, e.color, e.start_date_is_fixed, e.start_date_fixed, e.due_date_is_fixed,
				e.due_date_fixed, e.relative_position, e.closed_at, e.closed_by_id, e.created_at, e.updated_at`,
			From: "epics e JOIN namespaces n ON n.id = e.group_id", ID: "e.id", Parent: "e.id", Where: where,
		}),
	}
}

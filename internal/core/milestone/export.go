package milestone

import (
	"context"

	"tenon/internal/base/db"
	"tenon/internal/core/authz"
	"tenon/internal/core/tree"
)

// exported is a milestone as it moves.
type exported struct {
	IID         int64   `db:"iid" tree:"iid"`
	Title       string  `db:"title" tree:"title,max=255"`
	ProjectID   *int64  `db:"project_id" tree:"project_id,project"`
	GroupID     *int64  `db:"group_id" tree:"group_id,group"`
	Description *string `db:"description" tree:"description"`
	DueDate     *string `db:"due_date" tree:"due_date,date"`
	StartDate   *string `db:"start_date" tree:"start_date,date"`
	State       string  `db:"state" tree:"state,names=active|closed"`
	CreatedAt   db.Time `db:"created_at" tree:"created_at"`
	UpdatedAt   db.Time `db:"updated_at" tree:"updated_at"`
}

// kind is what events call milestones.
const kind = "Milestone"

// Relations describes milestones, and the one of something else.
func (s *Service) Relations() []tree.Relation {
	query := tree.Query[exported]{
		Columns: `m.iid, m.title, p.id AS project_id, CASE WHEN p.id IS NULL THEN m.namespace_id END AS group_id, m.description, m.due_date, m.start_date,
			m.state, m.created_at, m.updated_at`,
		From: "milestones m LEFT JOIN projects p ON p.namespace_id = m.namespace_id", ID: "m.id",
		Where: func(ctx context.Context, r *tree.Reading, _ string) (*db.Where, error) {
			return r.Within(ctx, authz.ReadMilestone, "m.namespace_id = ?", r.At.Namespace)
		},
	}
	nested := query
	nested.Parent = "m.id"
	nested.Where = func(ctx context.Context, r *tree.Reading, _ string) (*db.Where, error) {
		return r.Within(ctx, authz.ReadMilestone, "m.namespace_id IN (SELECT a.ancestor_id FROM namespace_ancestors a WHERE a.namespace_id = ?)", r.At.Namespace)
	}
	return []tree.Relation{
		tree.Rows(tree.Relation{Name: "milestones", In: tree.Both, Kind: kind, Children: []string{"events"}, Tables: []string{"milestones"}}, query),
		tree.Rows(tree.Relation{Name: "milestone", Kind: kind, Single: true, Children: []string{"events"}}, nested),
	}
}

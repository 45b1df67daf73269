package iteration

import (
	"context"

	"tenon/internal/base/db"
	"tenon/internal/core/authz"
	"tenon/internal/core/tree"
)

// exportedOfCadence is an iteration of a cadence as it moves.
type exportedOfCadence struct {
	IID         int64   `db:"iid" tree:"iid"`
	StartDate   string  `db:"start_date" tree:"start_date,date"`
	DueDate     string  `db:"due_date" tree:"due_date,date"`
	Description *string `db:"description" tree:"description"`
	GroupID     int64   `db:"group_id" tree:"group_id,group"`
	CreatedAt   db.Time `db:"created_at" tree:"created_at"`
	UpdatedAt   db.Time `db:"updated_at" tree:"updated_at"`
}

// exported is the iteration of an issue as it moves.
type exported struct {
	exportedOfCadence
	CadenceID int64 `db:"cadence_id" child:"iterations_cadence"`
}

// exportedCadence is the cadence of an iteration as it moves.
type exportedCadence struct {
	Title string `db:"title" tree:"title,max=255"`
}

// exportedOfGroup is a cadence of a group as it moves.
type exportedOfGroup struct {
	Title       string  `db:"title" tree:"title,max=255"`
	Description *string `db:"description" tree:"description"`
	StartDate   *string `db:"start_date" tree:"start_date,date"`
	Active      bool    `db:"active" tree:"active"`
	RollOver    bool    `tree:"roll_over"`
	GroupID     int64   `db:"group_id" tree:"group_id,group"`
	CreatedAt   db.Time `db:"created_at" tree:"created_at"`
	UpdatedAt   db.Time `db:"updated_at" tree:"updated_at"`
}

// Relations describes the cadences of groups with their iterations, and the iterations of issues.
func (s *Service) Relations() []tree.Relation {
	const above = " IN (SELECT a.ancestor_id FROM namespace_ancestors a WHERE a.namespace_id = ?)"
	return []tree.Relation{
		tree.Rows(tree.Relation{Name: "iterations_cadences", In: tree.Groups, Children: []string{"iterations"}, Absent: []string{"sequence"}}, tree.Query[exportedOfGroup]{
			Columns: "c.title, c.description, c.start_date, c.active, c.namespace_id AS group_id, c.created_at, c.updated_at", From: "iteration_cadences c", ID: "c.id",
			Where: func(ctx context.Context, r *tree.Reading, _ string) (*db.Where, error) {
				return r.Within(ctx, authz.ReadIteration, "c.namespace_id = ?", r.At.Namespace)
			},
		}),
		tree.Rows(tree.Relation{Name: "iterations"}, tree.Query[exportedOfCadence]{
			Columns: "t.iid, t.start_date, t.due_date, t.description, t.namespace_id AS group_id, t.created_at, t.updated_at", From: "iterations t", ID: "t.id",
			Parent: "t.cadence_id", Where: func(ctx context.Context, r *tree.Reading, _ string) (*db.Where, error) {
				return r.Within(ctx, authz.ReadIteration, "t.namespace_id = ?", r.At.Namespace)
			},
		}),
		tree.Rows(tree.Relation{Name: "iteration", Single: true, Children: []string{"iterations_cadence"}, Tables: []string{"iterations"}}, tree.Query[exported]{
			Columns: "t.iid, t.start_date, t.due_date, t.description, t.namespace_id AS group_id, t.created_at, t.updated_at, t.cadence_id",
			From:    "iterations t", ID: "t.id", Parent: "t.id", Where: func(ctx context.Context, r *tree.Reading, _ string) (*db.Where, error) {
				return r.Within(ctx, authz.ReadIteration, "t.namespace_id"+above, r.At.Namespace)
			},
		}),
		tree.Rows(tree.Relation{Name: "iterations_cadence", Single: true, Tables: []string{"iteration_cadences"}}, tree.Query[exportedCadence]{
			Columns: "c.title", From: "iteration_cadences c", ID: "c.id", Parent: "c.id", Where: func(ctx context.Context, r *tree.Reading, _ string) (*db.Where, error) {
				return r.Within(ctx, authz.ReadIteration, "c.namespace_id"+above, r.At.Namespace)
			},
		}),
	}
}

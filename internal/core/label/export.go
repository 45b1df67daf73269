package label

import (
	"context"

	"tenon/internal/base/db"
	"tenon/internal/core/authz"
	"tenon/internal/core/tree"
)

// exported is a label as it moves. The type says whether it belongs to the project or a group above it.
type exported struct {
	Title       string  `db:"title" tree:"title,max=255"`
	Color       string  `db:"color" tree:"color,max=7"`
	Description *string `db:"description" tree:"description,max=524288"`
	ProjectID   *int64  `db:"project_id" tree:"project_id,project"`
	GroupID     *int64  `db:"group_id" tree:"group_id,group"`
	Template    bool    `tree:"template"`
	Type        string  `db:"type" tree:"type,names=ProjectLabel|GroupLabel"`
	CreatedAt   db.Time `db:"created_at" tree:"created_at"`
	UpdatedAt   db.Time `db:"updated_at" tree:"updated_at"`
}

const (
	exportedColumns = `l.title, l.color, l.description, l.created_at, l.updated_at, p.id AS project_id,
		CASE WHEN p.id IS NULL THEN l.namespace_id END AS group_id, CASE WHEN p.id IS NULL THEN 'GroupLabel' ELSE 'ProjectLabel' END AS type`
	exportedFrom = "labels l LEFT JOIN projects p ON p.namespace_id = l.namespace_id"
)

// exportedPriority is the priority of a label in the project.
type exportedPriority struct {
	ProjectID int64   `db:"project_id" tree:"project_id,project"`
	Priority  int64   `db:"priority" tree:"priority"`
	CreatedAt db.Time `db:"created_at" tree:"created_at"`
	UpdatedAt db.Time `db:"updated_at" tree:"updated_at"`
}

// exportedLink is a label of something.
type exportedLink struct {
	TargetType string  `db:"target_type" tree:"target_type"`
	CreatedAt  db.Time `db:"created_at" tree:"created_at"`
	UpdatedAt  db.Time `db:"updated_at" tree:"updated_at"`
	LabelID    int64   `db:"label_id" child:"label"`
}

// Relations describes labels, and what they are attached to.
func (s *Service) Relations() []tree.Relation {
	children := []string{"priorities"}
	return []tree.Relation{
		tree.Rows(tree.Relation{Name: "labels", In: tree.Both, Children: children, Tables: []string{"labels"}}, tree.Query[exported]{
			Columns: exportedColumns, From: exportedFrom, ID: "l.id", Where: func(ctx context.Context, r *tree.Reading, _ string) (*db.Where, error) {
				return r.Within(ctx, authz.ReadLabel, "l.namespace_id = ?", r.At.Namespace)
			},
		}),
		tree.Rows(tree.Relation{Name: "label", Single: true, Children: children, Tables: []string{"labels"}}, tree.Query[exported]{
			Columns: exportedColumns, From: exportedFrom, ID: "l.id", Parent: "l.id", Where: func(ctx context.Context, r *tree.Reading, _ string) (*db.Where, error) {
				return r.Within(ctx, authz.ReadLabel, "l.namespace_id IN (SELECT a.ancestor_id FROM namespace_ancestors a WHERE a.namespace_id = ?)", r.At.Namespace)
			},
		}),
		tree.Rows(tree.Relation{Name: "priorities", Tables: []string{"label_priorities"}}, tree.Query[exportedPriority]{
			Columns: "o.project_id, o.priority, l.created_at, l.updated_at", From: "label_priorities o JOIN labels l ON l.id = o.label_id",
			ID: "o.project_id", Parent: "o.label_id", Where: func(ctx context.Context, r *tree.Reading, _ string) (*db.Where, error) {
				if r.At.Group {
					return nil, nil // they are of projects
				}
				return r.Within(ctx, authz.ReadLabel, "o.project_id = ?", r.At.ID)
			},
		}),
		tree.Rows(tree.Relation{Name: "label_links", Children: []string{"label"}, Tables: []string{"label_links"}}, tree.Query[exportedLink]{
			Columns: "k.target_type, k.label_id, l.created_at, l.updated_at", From: "label_links k JOIN labels l ON l.id = k.label_id",
			ID: "k.label_id", Parent: "k.target_id", Where: func(ctx context.Context, r *tree.Reading, of string) (*db.Where, error) {
				return r.Within(ctx, authz.ReadLabel, "k.target_type = ?", of)
			},
		}),
	}
}

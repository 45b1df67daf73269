package badge

import (
	"context"

	"tenon/internal/base/db"
	"tenon/internal/core/tree"
)

// exportedParts are those of badges of projects and groups alike.
type exportedParts struct {
	CreatedAt db.Time `db:"created_at" tree:"created_at"`
	UpdatedAt db.Time `db:"updated_at" tree:"updated_at"`
	ImageURL  string  `db:"image_url" tree:"image_url"`
	LinkURL   string  `db:"link_url" tree:"link_url"`
	Name      *string `db:"name" tree:"name"`
}

// exported is a badge of a project as it moves.
type exported struct {
	exportedParts
	ProjectID int64  `db:"project_id" tree:"project_id,project"`
	Type      string `db:"type" tree:"type,names=ProjectBadge"`
}

// exportedOfGroup is a badge of a group as it moves.
type exportedOfGroup struct {
	exportedParts
	GroupID int64  `db:"group_id" tree:"group_id,group"`
	Type    string `db:"type" tree:"type,names=GroupBadge"`
}

// Relations describes the badges of a project or group itself.
func (s *Service) Relations() []tree.Relation {
	where := func(ctx context.Context, r *tree.Reading, _ string) (*db.Where, error) {
		return r.Within(ctx, read(r.At), "b.namespace_id = ?", r.At.Namespace)
	}
	return []tree.Relation{
		tree.Rows(tree.Relation{Name: "project_badges", Tables: []string{"badges"}}, tree.Query[exported]{
			Columns: "b.created_at, b.updated_at, b.image_url, b.link_url, b.name, p.id AS project_id, 'ProjectBadge' AS type",
			From:    "badges b JOIN projects p ON p.namespace_id = b.namespace_id", ID: "b.id",
			Where: where,
		}),
		tree.Rows(tree.Relation{Name: "badges", In: tree.Groups}, tree.Query[exportedOfGroup]{
			Columns: "b.created_at, b.updated_at, b.image_url, b.link_url, b.name, b.namespace_id AS group_id, 'GroupBadge' AS type", From: "badges b", ID: "b.id",
			Where: where,
		}),
	}
}

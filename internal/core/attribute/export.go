package attribute

import (
	"context"

	"tenon/internal/base/db"
	"tenon/internal/core/tree"
)

// exported is a custom attribute of a project as it moves.
type exported struct {
	CreatedAt db.Time `db:"created_at" tree:"created_at"`
	UpdatedAt db.Time `db:"updated_at" tree:"updated_at"`
	ProjectID int64   `db:"owner_id" tree:"project_id,project"`
	Key       string  `db:"attribute_key" tree:"key,max=255"`
	Value     string  `db:"value" tree:"value"`
}

// Relations describes the custom attributes of a project, which administrators alone may read.
func (s *Service) Relations() []tree.Relation {
	return []tree.Relation{
		tree.Rows(tree.Relation{Name: "custom_attributes", Tables: []string{"project_attributes"}}, tree.Query[exported]{
			Columns: "a.created_at, a.updated_at, a.owner_id, a.attribute_key, a.value", From: "project_attributes a", ID: "(SELECT count(*) FROM project_attributes b WHERE b.owner_id = a.owner_id AND b.attribute_key < a.attribute_key)",
			Where: func(_ context.Context, r *tree.Reading, _ string) (*db.Where, error) {
				if !r.As.Admin {
					return nil, nil
				}
				w := &db.Where{}
				w.And("a.owner_id = ?", r.At.ID)
				return w, nil
			},
		}),
	}
}

package packages

import (
	"context"

	"tenon/internal/base/db"
	"tenon/internal/core/authz"
	"tenon/internal/core/tree"
)

// exported is a package that an archive of its project names. It does not move: importers count it as lost.
type exported struct {
	Name      string  `db:"name" tree:"name"`
	Version   *string `db:"version" tree:"version"`
	Kind      string  `db:"kind" tree:"package_type"`
	ProjectID int64   `db:"project_id" tree:"project_id,project"`
	CreatedAt db.Time `db:"created_at" tree:"created_at"`
}

// Relations describes the packages of a project, which nothing writes on import.
func (s *Service) Relations() []tree.Relation {
	return []tree.Relation{
		tree.Rows(tree.Relation{Name: "packages"}, tree.Query[exported]{
			Columns: "k.name, k.version, k.kind, k.project_id, k.created_at", From: "packages k", ID: "k.id",
			Where: func(ctx context.Context, r *tree.Reading, _ string) (*db.Where, error) {
				w, err := r.Within(ctx, authz.ReadPrivatePackage, "k.project_id = ?", r.At.ID)
				if w != nil {
					w.In("k.status", append(Installable(), Hidden))
					w.And("NOT (k.kind = ? AND k.version IS NULL)", Debian) // files that wait for a .changes
				}
				return w, err
			},
		}),
	}
}

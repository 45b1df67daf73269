package account

import (
	"context"

	"tenon/internal/base/db"
	"tenon/internal/core/tree"
)

// exported is what moves of a user whose numbers other rows have. An importer finds the user by the public address.
type exported struct {
	ID          int64  `db:"id" tree:"id,user"`
	Username    string `db:"username" tree:"username,max=255"`
	PublicEmail string `db:"public_email" tree:"public_email"`
}

// exportedName is what moves of the author of a note.
type exportedName struct {
	Name string `db:"name" tree:"name,max=255"`
}

// Relations describes users as far as others name them.
func (s *Service) Relations() []tree.Relation {
	where := func(ctx context.Context, r *tree.Reading, _ string) (*db.Where, error) {
		return r.Within(ctx, r.Readable(), "true")
	}
	return []tree.Relation{
		tree.Rows(tree.Relation{Name: "user", Single: true, Tables: []string{"users"}}, tree.Query[exported]{
			Columns: "u.id, u.username, u.public_email", From: "users u", ID: "u.id", Parent: "u.id", Where: where,
		}),
		tree.Rows(tree.Relation{Name: "author", Single: true}, tree.Query[exportedName]{Columns: "u.name", From: "users u", ID: "u.id", Parent: "u.id", Where: where}),
	}
}

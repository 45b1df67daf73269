package award

import (
	"context"

	"tenon/internal/base/db"
	"tenon/internal/core/tree"
)

// exported is a reaction as it moves.
type exported struct {
	UserID        int64   `db:"user_id" tree:"user_id,user"`
	Name          string  `db:"name" tree:"name,max=255"`
	AwardableType string  `db:"awardable_type" tree:"awardable_type"`
	CreatedAt     db.Time `db:"created_at" tree:"created_at"`
	UpdatedAt     db.Time `db:"updated_at" tree:"updated_at"`
}

// Relations describes reactions to what was read before.
func (s *Service) Relations() []tree.Relation {
	return []tree.Relation{
		tree.Rows(tree.Relation{Name: "award_emoji", Tables: []string{"award_emoji"}}, tree.Query[exported]{
			Columns: "w.user_id, w.name, w.awardable_type, w.created_at, w.updated_at", From: "award_emoji w", ID: "w.id", Parent: "w.awardable_id",
			Where: func(ctx context.Context, r *tree.Reading, of string) (*db.Where, error) {
				return r.Within(ctx, r.Readable(), "w.awardable_type = ?", of)
			},
		}),
	}
}

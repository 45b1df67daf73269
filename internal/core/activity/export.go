package activity

import (
	"context"

	"tenon/internal/base/db"
	"tenon/internal/core/tree"
)

// exported is an event as it moves.
type exported struct {
	ProjectID  *int64  `db:"project_id" tree:"project_id,project"`
	TargetType *string `db:"target_type" tree:"target_type"`
	Action     string  `db:"action" tree:"action,names=created|updated|closed|reopened|pushed|commented|merged|joined|left|destroyed|expired|approved"`
	AuthorID   int64   `db:"author_id" tree:"author_id,user"`
	CreatedAt  db.Time `db:"created_at" tree:"created_at"`
	UpdatedAt  db.Time `db:"updated_at" tree:"updated_at"`
}

// Relations describes the events of what is in a project or group. Pushes stay.
func (r *Recorder) Relations() []tree.Relation {
	return []tree.Relation{
		tree.Rows(tree.Relation{Name: "events", Absent: []string{"fingerprint"}, Tables: []string{"events"}}, tree.Query[exported]{
			Columns: "e.project_id, e.target_type, e.action, e.author_id, e.created_at, e.created_at AS updated_at", From: "events e",
			ID: "e.id", Parent: "e.target_id", Where: func(ctx context.Context, r *tree.Reading, of string) (*db.Where, error) {
				column, id := r.Owner()
				return r.Within(ctx, r.Readable(), "e.target_type = ? AND e."+column+" = ?", of, id)
			},
		}),
	}
}

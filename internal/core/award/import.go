package award

import (
	"context"
	"fmt"

	"tenon/internal/base/db"
	"tenon/internal/core/authz"
	"tenon/internal/core/noteable"
	"tenon/internal/core/tree"
)

// Writers says how reactions are imported: those of users who were found.
func (s *Service) Writers() []tree.Writer {
	return []tree.Writer{tree.Write("award_emoji", s.importAll)}
}

func (s *Service) importAll(ctx context.Context, _ *tree.Writing, rows []*tree.Row[exported]) error {
	type reaction struct {
		Name      string        `db:"name"`
		UserID    authz.UserID  `db:"user_id"`
		Kind      noteable.Kind `db:"awardable_type"`
		TargetID  int64         `db:"awardable_id"`
		CreatedAt db.Time       `db:"created_at"`
		UpdatedAt db.Time       `db:"updated_at"`
	}
	var out []reaction
	for _, r := range rows {
		name, ok := Canonical(r.Value.Name)
		switch {
		case r.Unmatched("user_id"):
			r.Lose(r.NotFound("the user", "user_id"))
		case !ok:
			r.Fail("name is not a valid emoji name")
		default:
			out = append(out, reaction{name, authz.UserID(r.Value.UserID), noteable.Kind(r.Of), r.Parent, r.Value.CreatedAt, r.Value.UpdatedAt})
		}
	}
	if err := db.InsertRows(ctx, s.DB, "award_emoji", out, "ON CONFLICT DO NOTHING"); err != nil {
		return fmt.Errorf("insert reactions: %w", err)
	}
	return nil
}

package attribute

import (
	"context"
	"fmt"
	"unicode/utf8"

	"tenon/internal/base/db"
	"tenon/internal/core/tree"
)

// Writers says how custom attributes are imported: for administrators, who alone may set them.
func (s *Service) Writers() []tree.Writer {
	return []tree.Writer{tree.Write("custom_attributes", s.importAll)}
}

func (s *Service) importAll(ctx context.Context, w *tree.Writing, rows []*tree.Row[exported]) error {
	type attribute struct {
		OwnerID   int64   `db:"owner_id"`
		Key       string  `db:"attribute_key"`
		Value     string  `db:"value"`
		CreatedAt db.Time `db:"created_at"`
		UpdatedAt db.Time `db:"updated_at"`
	}
	var out []attribute
	for _, r := range rows {
		v := r.Value
		switch {
		case !w.As.Admin:
			r.Lose("custom attributes are imported by administrators alone")
		case v.Key == "" || v.Value == "" || utf8.RuneCountInString(v.Value) > maxText:
			r.Fail("key or value is invalid")
		default:
			out = append(out, attribute{w.At.ID, v.Key, v.Value, v.CreatedAt, v.UpdatedAt})
		}
	}
	if err := db.InsertRows(ctx, s.DB, "project_attributes", out, "ON CONFLICT DO NOTHING"); err != nil {
		return fmt.Errorf("insert custom attributes: %w", err)
	}
	return nil
}

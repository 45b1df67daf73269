package badge

import (
	"context"
	"fmt"

	"tenon/internal/base/db"
	"tenon/internal/core/tree"
)

// Writers says how badges are imported.
func (s *Service) Writers() []tree.Writer {
	return []tree.Writer{
		tree.Write("project_badges", func(ctx context.Context, w *tree.Writing, rows []*tree.Row[exported]) error {
			return s.importAll(ctx, w, len(rows), func(i int) (*tree.State, *exportedParts) { return rows[i].State, &rows[i].Value.exportedParts })
		}),
		tree.Write("badges", func(ctx context.Context, w *tree.Writing, rows []*tree.Row[exportedOfGroup]) error {
			return s.importAll(ctx, w, len(rows), func(i int) (*tree.State, *exportedParts) { return rows[i].State, &rows[i].Value.exportedParts })
		}),
	}
}

func (s *Service) importAll(ctx context.Context, w *tree.Writing, n int, row func(i int) (*tree.State, *exportedParts)) error {
	var made []Badge
	for i := range n {
		state, v := row(i)
		b := Badge{NamespaceID: w.At.Namespace, Name: v.Name, LinkURL: v.LinkURL, ImageURL: v.ImageURL, CreatedAt: v.CreatedAt, UpdatedAt: v.UpdatedAt}
		if err := check(&b); err != nil {
			state.Fail(err.Error())
			continue
		}
		made = append(made, b)
	}
	if _, err := db.InsertAll(ctx, s.DB, "badges", made); err != nil {
		return fmt.Errorf("insert badges: %w", err)
	}
	return nil
}

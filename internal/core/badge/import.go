package badge

import (
	"context"
	"fmt"

	"tenon/internal/base/db"
	"tenon/internal/core/tree"
)

// Writers says how badges are imported.
func (s *Service) Writers() []tree.Writer {
	return []tree.Writer{tree.Write("project_badges", s.importAll)}
}

func (s *Service) importAll(ctx context.Context, w *tree.Writing, rows []*tree.Row[exported]) error {
	var made []Badge
	for _, r := range rows {
		b := Badge{
			NamespaceID: w.At.Namespace, Name: r.Value.Name, LinkURL: r.Value.LinkURL, ImageURL: r.Value.ImageURL, CreatedAt: r.Value.CreatedAt, UpdatedAt: r.Value.UpdatedAt,
		}
		if err := check(&b); err != nil {
			r.Fail(err.Error())
			continue
		}
		made = append(made, b)
	}
	if _, err := db.InsertAll(ctx, s.DB, "badges", made); err != nil {
		return fmt.Errorf("insert badges: %w", err)
	}
	return nil
}

package label

import (
	"context"
	"fmt"

	"tenon/internal/base/db"
	"tenon/internal/core/tree"
)

// Writers says how labels are imported: one of a group that is not here becomes the project's. A group gets its own ones.
func (s *Service) Writers() []tree.Writer {
	return []tree.Writer{
		tree.Write("labels", s.importLabels),
		tree.Write("label", s.importLabels),
		tree.Write("priorities", s.importPriorities),
		tree.Write("label_links", s.importLinks),
	}
}

func (s *Service) importLabels(ctx context.Context, w *tree.Writing, rows []*tree.Row[exported]) error {
	titles := make([]string, len(rows))
	for i, r := range rows {
		titles[i] = r.Value.Title
	}
	known, err := s.named(ctx, w.At.Namespace, titles)
	if err != nil {
		return fmt.Errorf("labels by title: %w", err)
	}
	var made []Label
	var of [][]*tree.Row[exported] // rows that are one label
	places := map[string]int{}
	for _, r := range rows {
		if l, ok := known[r.Value.Title]; ok && (l.NamespaceID == w.At.Namespace || !w.Owns(r.Value.GroupID)) {
			r.Merge(int64(l.ID))
			continue
		}
		if at, ok := places[r.Value.Title]; ok {
			of[at] = append(of[at], r)
			continue
		}
		l := Label{
			NamespaceID: w.At.Namespace, Title: r.Value.Title, Description: r.Value.Description, Color: r.Value.Color, CreatedAt: r.Value.CreatedAt,
			UpdatedAt: r.Value.UpdatedAt,
		}
		if err := l.validate(); err != nil {
			r.Fail(err.Error())
			continue
		}
		if r.Value.Type == "GroupLabel" && !w.At.Group {
			r.Change("the group's label became one of the project")
		}
		places[l.Title] = len(made)
		made, of = append(made, l), append(of, []*tree.Row[exported]{r})
	}
	ids, err := db.InsertAll(ctx, s.DB, "labels", made)
	if err != nil {
		return fmt.Errorf("insert labels: %w", err)
	}
	for i, id := range ids {
		of[i][0].ID = id
		for _, again := range of[i][1:] {
			again.Merge(id)
		}
	}
	return nil
}

func (s *Service) importPriorities(ctx context.Context, w *tree.Writing, rows []*tree.Row[exportedPriority]) error {
	type priority struct {
		LabelID   int64 `db:"label_id"`
		ProjectID int64 `db:"project_id"`
		Priority  int64 `db:"priority"`
	}
	var out []priority
	for _, r := range rows {
		if w.At.Group {
			r.Lose("priorities belong to projects")
			continue
		}
		if r.Value.Priority < 0 {
			r.Fail("priority is negative")
			continue
		}
		out = append(out, priority{r.Parent, w.At.ID, r.Value.Priority})
	}
	if err := db.InsertRows(ctx, s.DB, "label_priorities", out, "ON CONFLICT DO NOTHING"); err != nil {
		return fmt.Errorf("insert priorities of labels: %w", err)
	}
	return nil
}

func (s *Service) importLinks(ctx context.Context, _ *tree.Writing, rows []*tree.Row[exportedLink]) error {
	type link struct {
		Type    string `db:"target_type"`
		ID      int64  `db:"target_id"`
		LabelID int64  `db:"label_id"`
	}
	var out []link
	for _, r := range rows {
		if r.Value.LabelID == 0 {
			r.Lose("its label is lost")
			continue
		}
		out = append(out, link{r.Of, r.Parent, r.Value.LabelID})
	}
	if err := db.InsertRows(ctx, s.DB, "label_links", out, "ON CONFLICT DO NOTHING"); err != nil {
		return fmt.Errorf("insert links of labels: %w", err)
	}
	return nil
}

package label

import (
	"context"
	"fmt"
	"slices"

	"tenon/internal/base/db"
	"tenon/internal/core/authz"
	"tenon/internal/core/namespace"
)

// prioritize reads the priorities that labels have in the project of a place; those of a group
// have none.
func (s *Service) prioritize(ctx context.Context, at authz.Place, labels []Label) error {
	if !at.IsProject() || len(labels) == 0 {
		return nil
	}
	ids, byID := make([]ID, len(labels)), make(map[ID]*Label, len(labels))
	for i := range labels {
		ids[i], byID[labels[i].ID] = labels[i].ID, &labels[i]
	}
	type row struct {
		LabelID  ID    `db:"label_id"`
		Priority int64 `db:"priority"`
	}
	var w db.Where
	w.And("project_id = ?", at.ID)
	w.In("label_id", ids)
	rows, err := db.Select[row](ctx, s.DB, "SELECT label_id, priority FROM label_priorities"+w.SQL()+" ORDER BY label_id", w.Args()...)
	if err != nil {
		return fmt.Errorf("priorities of labels: %w", err)
	}
	for _, r := range rows {
		byID[r.LabelID].Priority = &r.Priority
	}
	return nil
}

// setPriority writes the priority of a label in the project of a place.
func (s *Service) setPriority(ctx context.Context, at authz.Place, l *Label) error {
	if !at.IsProject() {
		return nil
	}
	var err error
	if l.Priority != nil {
		_, err = db.InsertRow(ctx, s.DB, "label_priorities", db.Values{"label_id": l.ID, "project_id": at.ID, "priority": *l.Priority},
			"ON CONFLICT (label_id, project_id) DO UPDATE SET priority = excluded.priority")
	} else {
		row := db.Row{Table: "label_priorities", Key: "label_id", ID: l.ID}
		row.And.And("project_id = ?", at.ID)
		_, err = db.Drop(ctx, s.DB, row)
	}
	if err != nil {
		return fmt.Errorf("priority of label: %w", err)
	}
	return nil
}

// changePriority reads the priority of a locked label, and changes it where c says so.
func (s *Service) changePriority(ctx context.Context, at authz.Place, l *Label, c Changes) error {
	one := []Label{*l}
	if err := s.prioritize(ctx, at, one); err != nil {
		return err
	}
	before := one[0].Priority
	l.Priority = before
	if !at.IsProject() || c.Priority == nil && !c.ClearPriority {
		return nil
	}
	if before == c.Priority || before != nil && c.Priority != nil && *before == *c.Priority {
		return nil
	}
	l.Priority, l.UpdatedAt = c.Priority, db.At(s.Now())
	return s.setPriority(ctx, at, l)
}

// movePriorities copies the priorities of former labels in the projects of a place to new ones that have none. The
// statements begin with the pairs of the former and the new labels.
func (s *Service) movePriorities(ctx context.Context, at authz.Place, with string, pairs []any) error {
	const inside = "project_id IN (SELECT p.id FROM projects p WHERE p.namespace_id IN " + namespace.InsideSQL + ")"
	args := append(slices.Clone(pairs), at.Namespace)
	if _, err := s.DB.Exec(ctx, with+`INSERT INTO label_priorities (label_id, project_id, priority)
		SELECT pairs.b, lp.project_id, MIN(lp.priority) FROM label_priorities lp JOIN pairs ON pairs.a = lp.label_id WHERE `+inside+`
		GROUP BY pairs.b, lp.project_id ON CONFLICT DO NOTHING`, args...); err != nil {
		return fmt.Errorf("priorities of labels: %w", err)
	}
	if _, err := s.DB.Exec(ctx, with+"DELETE FROM label_priorities WHERE label_id IN (SELECT a FROM pairs) AND "+inside, args...); err != nil {
		return fmt.Errorf("priorities of labels: %w", err)
	}
	return nil
}

package iteration

import (
	"context"
	"fmt"

	"tenon/internal/base/db"
	"tenon/internal/core/tree"
)

// issueWriters says how the iterations of issues are found, in the groups above the project.
func (s *Service) issueWriters() []tree.Writer {
	return []tree.Writer{tree.Write("iteration", s.findIterations), tree.Write("iterations_cadence", s.findCadences)}
}

// importedIteration is the iteration of an issue of an archive.
type importedIteration struct {
	StartDate string `tree:"start_date,date"`
	DueDate   string `tree:"due_date,date"`
	CadenceID int64  `child:"iterations_cadence"`
}

const inGroupsAbove = " IN (SELECT a.ancestor_id FROM namespace_ancestors a WHERE a.namespace_id = ?)"

func (s *Service) findCadences(ctx context.Context, w *tree.Writing, rows []*tree.Row[exportedCadence]) error {
	for _, r := range rows {
		id, err := tree.Memo(w, "cadence:"+r.Value.Title, func() (int64, error) {
			ids, err := db.Select[int64](ctx, s.DB, "SELECT id FROM iteration_cadences WHERE title = ? AND namespace_id"+inGroupsAbove+" ORDER BY id LIMIT 1", r.Value.Title, w.At.Namespace)
			if err != nil || len(ids) == 0 {
				return 0, err
			}
			return ids[0], nil
		})
		if err != nil {
			return fmt.Errorf("cadences by title: %w", err)
		}
		if id == 0 {
			r.Lose("the groups above have no such cadence")
			continue
		}
		r.Merge(id)
	}
	return nil
}

func (s *Service) findIterations(ctx context.Context, w *tree.Writing, rows []*tree.Row[importedIteration]) error {
	for _, r := range rows {
		v := r.Value
		if v.CadenceID == 0 {
			r.Lose("its cadence was not found")
			continue
		}
		id, err := tree.Memo(w, fmt.Sprintf("iteration:%d:%s:%s", v.CadenceID, v.StartDate, v.DueDate), func() (int64, error) {
			ids, err := db.Select[int64](ctx, s.DB, "SELECT id FROM iterations WHERE cadence_id = ? AND start_date = ? AND due_date = ? ORDER BY id LIMIT 1", v.CadenceID, v.StartDate, v.DueDate)
			if err != nil || len(ids) == 0 {
				return 0, err
			}
			return ids[0], nil
		})
		if err != nil {
			return fmt.Errorf("iterations by dates: %w", err)
		}
		if id == 0 {
			r.Lose("its cadence has no such iteration")
			continue
		}
		r.Merge(id)
	}
	return nil
}

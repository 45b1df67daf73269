package mergerequest

import (
	"context"
	"fmt"

	"tenon/internal/base/db"
	"tenon/internal/core/tree"
)

// importedNumber is a merge request that a row names.
type importedNumber struct {
	IID int64 `tree:"iid"`
}

// findImported finds the merge requests of numbers, which were written before.
func (s *Service) findImported(ctx context.Context, w *tree.Writing, rows []*tree.Row[importedNumber]) error {
	iids := make([]int64, len(rows))
	for i, r := range rows {
		iids[i] = r.Value.IID
	}
	var where db.Where
	where.And("target_project_id = ?", w.At.ID)
	where.In("iid", iids)
	type numbered struct {
		ID  int64 `db:"id"`
		IID int64 `db:"iid"`
	}
	found, err := db.Select[numbered](ctx, s.DB, "SELECT id, iid FROM merge_requests"+where.SQL()+" ORDER BY id", where.Args()...)
	if err != nil {
		return fmt.Errorf("merge requests of pipelines: %w", err)
	}
	ids := map[int64]int64{}
	for _, m := range found {
		ids[m.IID] = m.ID
	}
	for _, r := range rows {
		if id := ids[r.Value.IID]; id != 0 {
			r.Merge(id)
			continue
		}
		r.Lose("the merge request was not found")
	}
	return nil
}

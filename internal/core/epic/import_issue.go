package epic

import (
	"context"
	"fmt"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/core/tree"
)

// issueWriters says how issues find their epics: those of the groups above that have number and title, as far as the importing user may link
// issues to them.
func (s *Service) issueWriters() []tree.Writer {
	return []tree.Writer{tree.Write("epic_issue", s.importIssues), tree.Write("epic", s.findEpics)}
}

// importedEpic is the epic of an issue of an archive.
type importedEpic struct {
	IID   int64  `tree:"iid"`
	Title string `tree:"title,max=255"`
}

func (s *Service) findEpics(ctx context.Context, w *tree.Writing, rows []*tree.Row[importedEpic]) error {
	for _, r := range rows {
		v := r.Value
		id, err := tree.Memo(w, fmt.Sprintf("epic:%d:%s", v.IID, v.Title), func() (ID, error) {
			ids, err := db.Select[ID](ctx, s.DB, `SELECT e.id FROM epics e JOIN namespace_ancestors a ON a.ancestor_id = e.group_id WHERE a.namespace_id = ? AND e.iid = ?
				AND e.title = ? ORDER BY a.depth DESC, e.id LIMIT 1`, w.At.Namespace, v.IID, v.Title)
			if err != nil || len(ids) == 0 {
				return 0, err
			}
			_, _, err = s.anywhere(ctx, w.As, ids[0])
			if errs.Is(err, errs.NotFound) || errs.Is(err, errs.Forbidden) {
				return 0, nil
			}
			return ids[0], err
		})
		if err != nil {
			return fmt.Errorf("epics by number: %w", err)
		}
		if id == 0 {
			r.Lose("the groups above have no such epic")
			continue
		}
		r.Merge(int64(id))
	}
	return nil
}

func (s *Service) importIssues(ctx context.Context, _ *tree.Writing, rows []*tree.Row[exportedIssue]) error {
	type member struct {
		EpicID    int64   `db:"epic_id"`
		IssueID   int64   `db:"issue_id"`
		Position  int64   `db:"relative_position"`
		CreatedAt db.Time `db:"created_at"`
		UpdatedAt db.Time `db:"updated_at"`
	}
	var out []member
	for _, r := range rows {
		if r.Value.EpicID == 0 {
			r.Lose("the groups above have no such epic")
			continue
		}
		out = append(out, member{r.Value.EpicID, r.Parent, r.Value.Position, r.Value.CreatedAt, r.Value.UpdatedAt})
	}
	if err := db.InsertRows(ctx, s.DB, "epic_issues", out, "ON CONFLICT DO NOTHING"); err != nil {
		return fmt.Errorf("insert issues of epics: %w", err)
	}
	return nil
}

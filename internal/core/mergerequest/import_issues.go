package mergerequest

import (
	"context"
	"fmt"
	"os"

	"tenon/internal/base/db"
	"tenon/internal/core/project"
	"tenon/internal/core/tree"
)

// namesAtOnce bounds the merge requests of one transaction that names issues.
const namesAtOnce = 10

// takeIssues records which issues imported merge requests name and close, as the importing user may read them: archives have no such rows.
func (s *Service) takeIssues(ctx context.Context, w *tree.Writing, _ *os.Root) error {
	found, err := s.Projects.Load(ctx, []project.ID{project.ID(w.At.ID)}) // with the settings of the archive
	if err != nil {
		return fmt.Errorf("project of merge requests: %w", err)
	}
	p := found[project.ID(w.At.ID)]
	if p == nil {
		return nil
	}
	for after := ID(0); ; {
		rows, err := db.Select[MergeRequest](ctx, s.DB, "SELECT id, title, description, target_branch FROM merge_requests WHERE target_project_id = ? AND id > ? ORDER BY id LIMIT ?",
			p.ID, after, namesAtOnce)
		if err != nil {
			return fmt.Errorf("list merge requests: %w", err)
		}
		if len(rows) == 0 {
			return nil
		}
		after = rows[len(rows)-1].ID
		err = s.DB.InTx(ctx, func(ctx context.Context) error {
			for i := range rows {
				if err := s.noteIssues(ctx, w.As, p, &rows[i]); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
}

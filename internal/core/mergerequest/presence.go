package mergerequest

import (
	"context"
	"fmt"

	"tenon/internal/base/db"
	"tenon/internal/core/repo"
)

// maxOfBranch is how many open requests from one branch are told that it went or came.
const maxOfBranch = 100

// present says which open requests had their source branch deleted or restored, in the
// transaction of the push. A branch that a request has waited for is not restored by coming.
func (s *Service) present(ctx context.Context, e repo.Pushed, sources map[string]bool) error {
	for _, c := range e.Changes {
		name := c.Ref.Short()
		if !c.Ref.IsBranch() || !sources[name] || c.Old.IsZero() == c.New.IsZero() {
			continue
		}
		rows, err := s.rows(ctx, " WHERE m.source_project_id = ? AND m.source_branch = ? AND m.state = 'opened' AND m.head_sha <> '' ORDER BY m.id LIMIT ?",
			e.ProjectID, name, maxOfBranch)
		if err != nil {
			return fmt.Errorf("merge requests of a branch: %w", err)
		}
		projects, err := s.Projects.Load(ctx, projectsOf(rows))
		if err != nil {
			return err
		}
		for _, m := range rows {
			p := projects[m.ProjectID]
			if p == nil {
				continue
			}
			f, err := s.fact(ctx, e.By, p, db.Change[MergeRequest]{Before: *m, After: *m})
			if err != nil {
				return err
			}
			if c.New.IsZero() {
				err = s.Bus.Publish(ctx, SourceBranchDeleted{f})
			} else {
				err = s.Bus.Publish(ctx, SourceBranchRestored{f})
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

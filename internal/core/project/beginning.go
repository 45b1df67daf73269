package project

import (
	"context"
	"fmt"
	"strings"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/core/authz"
)

// maxParts is how many parts the full path of a project has at most.
const maxParts = 22

// Beginning returns the project that the longest beginning of a path names, now or before a rename, and that beginning.
// It returns NotFound if the actor may read none.
func (s *Service) Beginning(ctx context.Context, as authz.Actor, path string) (*Project, string, error) {
	parts := strings.Split(path, "/")
	parts = parts[:min(len(parts), maxParts)]
	var folds []string
	for n := 2; n <= len(parts); n++ {
		folds = append(folds, db.Fold(strings.Join(parts[:n], "/")))
	}
	if len(folds) == 0 {
		return nil, "", errs.Missing("Project")
	}
	type place struct {
		ID   ID     `db:"id"`
		Fold string `db:"path_fold"`
	}
	marks, args := db.Marks(folds)
	found, err := db.Select[place](ctx, s.DB, `SELECT p.id, r.path_fold FROM routes r JOIN projects p ON p.namespace_id = r.namespace_id WHERE r.path_fold IN (`+marks+`)
		UNION ALL SELECT p.id, o.path_fold FROM redirect_routes o JOIN projects p ON p.namespace_id = o.namespace_id WHERE o.path_fold IN (`+marks+`)
		ORDER BY path_fold`, append(args, args...)...)
	if err != nil {
		return nil, "", fmt.Errorf("projects at the beginning of a path: %w", err)
	}
	ids := make([]ID, len(found))
	for i := range found {
		ids[i] = found[i].ID
	}
	projects, err := s.ByIDs(ctx, as, ids)
	if err != nil {
		return nil, "", err
	}
	for i := len(found) - 1; i >= 0; i-- { // each begins with the one before it
		if p := projects[found[i].ID]; p != nil {
			return p, strings.Join(parts[:strings.Count(found[i].Fold, "/")+1], "/"), nil
		}
	}
	return nil, "", errs.Missing("Project")
}

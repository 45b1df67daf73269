package repo

import (
	"context"
	"fmt"

	"tenon/internal/base/db"
	"tenon/internal/base/gitcmd"
	"tenon/internal/core/project"
)

// Missing is what a look for missing repositories found.
type Missing struct {
	Projects int      // that have a repository
	Count    int      // of those, the ones whose repository is not there
	Paths    []string // of the first ones, full paths
}

// missingPaths is how many projects Missing names.
const missingPaths = 5

// Missing counts the projects whose repositories are not there: the folder is another one, or a
// disk is not mounted. It reads no repository and asks for no permission. [Service.Check] tells
// all there is.
func (s *Service) Missing(ctx context.Context) (Missing, error) { return FindMissing(ctx, s.db, s.git) }

// FindMissing is [Service.Missing] for a program that has no services, and no more than the
// first schema.
func FindMissing(ctx context.Context, d *db.DB, git *gitcmd.Git) (Missing, error) {
	const existing = " FROM projects p WHERE NOT p.pending_delete AND p.import_status NOT IN ('scheduled', 'started')"
	ids, err := db.Select[project.ID](ctx, d, "SELECT p.id"+existing+" ORDER BY p.id")
	if err != nil {
		return Missing{}, fmt.Errorf("list projects: %w", err)
	}
	out := Missing{Projects: len(ids)}
	for _, id := range ids {
		if git.Repo(diskPath(id)).Exists() {
			continue
		}
		if err := ctx.Err(); err != nil {
			return out, err
		}
		// One that is just being made or deleted is no matter.
		there, err := db.Get[int](ctx, d, "SELECT count(*)"+existing+" AND p.id = ?", id)
		if err != nil {
			return out, fmt.Errorf("look for project: %w", err)
		}
		if there == 0 || git.Repo(diskPath(id)).Exists() {
			continue
		}
		if out.Count++; len(out.Paths) < missingPaths {
			path, err := db.Select[string](ctx, d, "SELECT r.path FROM projects p JOIN routes r ON r.namespace_id = p.namespace_id WHERE p.id = ? LIMIT 1", id)
			if err != nil {
				return out, fmt.Errorf("look for project: %w", err)
			}
			out.Paths = append(out.Paths, path...)
		}
	}
	return out, nil
}

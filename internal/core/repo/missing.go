package repo

import (
	"context"
	"fmt"
	"slices"
	"time"

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
func (s *Service) Missing(ctx context.Context) (Missing, error) { return FindMissing(ctx, s.DB, s.Git) }

// MissingAtRest is Missing for a server that serves meanwhile: it rests after each piece for four
// times as long as the piece took, so that the disk and the database are the callers'.
func (s *Service) MissingAtRest(ctx context.Context) (Missing, error) {
	return findMissing(ctx, s.DB, s.Git, func(took time.Duration) error {
		rest := time.NewTimer(4 * took)
		defer rest.Stop()
		select {
		case <-rest.C:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	})
}

// FindMissing is [Service.Missing] for a program that has no services, and no more than the
// first schema.
func FindMissing(ctx context.Context, d *db.DB, git *gitcmd.Git) (Missing, error) {
	return findMissing(ctx, d, git, func(time.Duration) error { return ctx.Err() })
}

// missingPiece is how many projects are looked at between two rests.
const missingPiece = 200

const existing = " FROM projects p WHERE NOT p.pending_delete AND p.import_status NOT IN ('scheduled', 'started')"

// findMissing calls rest after each piece with the time that it took.
func findMissing(ctx context.Context, d *db.DB, git *gitcmd.Git, rest func(took time.Duration) error) (Missing, error) {
	var out Missing
	for last := project.ID(0); ; {
		began := time.Now()
		ids, err := db.Select[project.ID](ctx, d, "SELECT p.id"+existing+" AND p.id > ? ORDER BY p.id LIMIT ?", last, missingPiece)
		if err != nil {
			return out, fmt.Errorf("list projects: %w", err)
		}
		if len(ids) == 0 {
			return out, nil
		}
		last = ids[len(ids)-1]
		out.Projects += len(ids)
		if err := out.look(ctx, d, git, ids); err != nil {
			return out, err
		}
		if err := rest(time.Since(began)); err != nil {
			return out, err
		}
	}
}

// look adds those of the projects whose repositories are missing, in one statement for all and one for each path.
func (m *Missing) look(ctx context.Context, d *db.DB, git *gitcmd.Git, ids []project.ID) error {
	exists := func(id project.ID) bool { return git.Repo(diskPath(id)).Exists() }
	if ids = slices.DeleteFunc(ids, exists); len(ids) == 0 {
		return nil
	}
	// A project that is just being created or deleted does not count.
	marks, args := db.Marks(ids)
	ids, err := db.Select[project.ID](ctx, d, "SELECT p.id"+existing+" AND p.id IN ("+marks+") ORDER BY p.id", args...)
	if err != nil {
		return fmt.Errorf("look for projects: %w", err)
	}
	for _, id := range slices.DeleteFunc(ids, exists) {
		if m.Count++; m.Count > missingPaths {
			continue
		}
		path, err := db.Select[string](ctx, d, "SELECT r.path FROM projects p JOIN routes r ON r.namespace_id = p.namespace_id WHERE p.id = ? LIMIT 1", id)
		if err != nil {
			return fmt.Errorf("look for project: %w", err)
		}
		m.Paths = append(m.Paths, path...)
	}
	return nil
}

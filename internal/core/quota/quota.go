// Package quota bounds the bytes that repositories, large objects of Git LFS and attached
// files may take: for each project, for each user, and for users in projects of others.
package quota

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/core/authz"
	"tenon/internal/core/project"
	"tenon/internal/core/setting"
)

// Deps is what a Service is made of.
type Deps struct {
	DB       *db.DB
	Policy   *authz.Policy
	Settings *setting.Store
}

// Service knows the limits and what counts against them. It is safe for concurrent use. A
// nil Service limits nothing.
type Service struct {
	Deps

	mu       sync.Mutex
	accounts map[string]*account // by the key of the limit
}

// New builds the service.
func New(d Deps) *Service {
	return &Service{Deps: d, accounts: map[string]*account{}}
}

// Bytes writes a number of bytes as people read it.
func Bytes(n int64) string {
	for _, unit := range []struct {
		size int64
		name string
	}{{1 << 30, "GiB"}, {1 << 20, "MiB"}, {1 << 10, "KiB"}} {
		switch {
		case n >= unit.size && n%unit.size == 0:
			return fmt.Sprintf("%d %s", n/unit.size, unit.name)
		case n >= unit.size:
			return fmt.Sprintf("%.1f %s", float64(n)/float64(unit.size), unit.name)
		}
	}
	return fmt.Sprintf("%d bytes", n)
}

// RepositoryLimit returns how many bytes the repository of a project may have together with
// its large objects: what the project says, else the nearest group above that says
// something, else the instance. 0 is any number. It asks for no permission.
func (s *Service) RepositoryLimit(ctx context.Context, id project.ID) (int64, error) {
	if s == nil {
		return 0, nil
	}
	type row struct {
		Own   *int64 `db:"own"`
		Above *int64 `db:"above"`
	}
	r, err := db.Get[row](ctx, s.DB, `SELECT p.repository_size_limit AS own, (SELECT g.repository_size_limit FROM namespace_ancestors a
		JOIN groups g ON g.namespace_id = a.ancestor_id WHERE a.namespace_id = p.namespace_id AND g.repository_size_limit IS NOT NULL
		ORDER BY a.depth LIMIT 1) AS above FROM projects p WHERE p.id = ?`, id)
	switch {
	case errors.Is(err, db.ErrNotFound):
		return 0, errs.Missing("Project")
	case err != nil:
		return 0, fmt.Errorf("read limit of repository: %w", err)
	case r.Own != nil:
		return *r.Own, nil
	case r.Above != nil:
		return *r.Above, nil
	}
	return s.Settings.Current().RepositorySizeLimit, nil
}

// Large returns how many bytes the large objects of a project have. It asks for no permission.
func (s *Service) Large(ctx context.Context, id project.ID) (int64, error) {
	return s.sum(ctx, sumLarge, id)
}

func (s *Service) sum(ctx context.Context, query string, args ...any) (int64, error) {
	n, err := db.Get[int64](ctx, s.DB, query, args...)
	if err != nil {
		return 0, fmt.Errorf("add up what is stored: %w", err)
	}
	return n, nil
}

// What is stored, by what it counts against.
const (
	sumPackages = `SELECT CAST(COALESCE(SUM(f.size), 0) AS BIGINT) AS n FROM package_files f WHERE f.project_id = ?`
	sumLarge    = `SELECT CAST(COALESCE(SUM(o.size), 0) AS BIGINT) AS n FROM lfs_links l JOIN lfs_objects o ON o.id = l.object_id WHERE l.project_id = ?`
	sumUploads  = `SELECT CAST(COALESCE(SUM(u.size), 0) AS BIGINT) AS n FROM uploads u WHERE u.namespace_id = ?`
	sumOfUser   = `SELECT CAST(COALESCE(SUM(x.size), 0) AS BIGINT) AS n FROM (
		SELECT u.size AS size FROM uploads u WHERE u.user_id = ?
		UNION ALL SELECT f.size AS size FROM package_files f WHERE f.user_id = ?
		UNION ALL SELECT o.size AS size FROM lfs_links l JOIN lfs_objects o ON o.id = l.object_id WHERE l.user_id = ?) x`
	// In places that are not the user's own.
	sumElsewhere = `SELECT CAST(COALESCE(SUM(x.size), 0) AS BIGINT) AS n FROM (
		SELECT u.size AS size FROM uploads u LEFT JOIN projects p ON p.namespace_id = u.namespace_id
			WHERE u.user_id = ? AND (p.id IS NULL OR p.parent_id <> COALESCE((SELECT v.namespace_id FROM users v WHERE v.id = ?), 0))
		UNION ALL SELECT f.size AS size FROM package_files f JOIN projects p ON p.id = f.project_id
			WHERE f.user_id = ? AND p.parent_id <> COALESCE((SELECT v.namespace_id FROM users v WHERE v.id = ?), 0)
		UNION ALL SELECT o.size AS size FROM lfs_links l JOIN lfs_objects o ON o.id = l.object_id JOIN projects p ON p.id = l.project_id
			WHERE l.user_id = ? AND p.parent_id <> COALESCE((SELECT v.namespace_id FROM users v WHERE v.id = ?), 0)) x`
	// In one place.
	sumHere = `SELECT CAST(COALESCE(SUM(x.size), 0) AS BIGINT) AS n FROM (
		SELECT u.size AS size FROM uploads u WHERE u.user_id = ? AND u.namespace_id = ?
		UNION ALL SELECT f.size AS size FROM package_files f WHERE f.user_id = ? AND f.project_id = ?
		UNION ALL SELECT o.size AS size FROM lfs_links l JOIN lfs_objects o ON o.id = l.object_id WHERE l.user_id = ? AND l.project_id = ?) x`
)

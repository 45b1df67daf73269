package repo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"

	"tenon/internal/base/db"
	"tenon/internal/base/gitcmd"
	"tenon/internal/base/gitstore"
	"tenon/internal/core/authz"
	"tenon/internal/core/project"
)

// Stored is a repository of a project, wiki or snippet, or a pool that forks borrow objects
// from.
type Stored struct {
	ID      int64  `db:"id"`      // of the project or pool
	Path    string `db:"path"`    // of the project, or what an attached repository belongs to; "" for a pool
	Borrows int64  `db:"borrows"` // the pool that the project is a member of, 0 for none

	Attached AttachedID `db:"-"` // the repository of a wiki or snippet; "" for one of a project and a pool
}

// Pool reports whether this is a pool.
func (o Stored) Pool() bool { return o.Path == "" }

// Inventory lists every pool, then the repository of every project, also of those that are
// being deleted, then those of wikis and snippets. It asks for no permission.
func (s *Service) Inventory(ctx context.Context) ([]Stored, error) {
	out, err := db.Select[Stored](ctx, s.DB, "SELECT id, '' AS path, 0 AS borrows FROM pools ORDER BY id")
	if err != nil {
		return nil, fmt.Errorf("list pools: %w", err)
	}
	projects, err := db.Select[Stored](ctx, s.DB, `SELECT p.id, r.path, COALESCE(m.pool_id, 0) AS borrows FROM projects p
		JOIN routes r ON r.namespace_id = p.namespace_id LEFT JOIN pool_members m ON m.project_id = p.id ORDER BY p.id`)
	if err != nil {
		return nil, fmt.Errorf("list projects: %w", err)
	}
	attached, err := s.attachedAll(ctx)
	if err != nil {
		return nil, err
	}
	return slices.Concat(out, projects, attached), nil
}

// attachedAll lists the repositories of wikis and snippets.
func (s *Service) attachedAll(ctx context.Context) ([]Stored, error) {
	type row struct {
		Name    AttachedID `db:"name"`
		Snippet *int64     `db:"snippet_id"`
		Project *int64     `db:"project_id"`
		Group   *int64     `db:"group_id"`
	}
	rows, err := db.Select[row](ctx, s.DB, `SELECT a.name, s.id AS snippet_id, w.project_id, w.group_id FROM attached_repositories a
		LEFT JOIN snippets s ON s.repository = a.name LEFT JOIN wikis w ON w.repository = a.name WHERE a.kind <> ? ORDER BY a.name`, gone)
	if err != nil {
		return nil, fmt.Errorf("list repositories of wikis and snippets: %w", err)
	}
	out := make([]Stored, len(rows))
	for i, r := range rows {
		out[i] = Stored{Attached: r.Name, Path: "attached repository " + string(r.Name)}
		switch {
		case r.Snippet != nil:
			out[i].Path = fmt.Sprintf("snippet %d", *r.Snippet)
		case r.Project != nil:
			out[i].Path = fmt.Sprintf("wiki of project %d", *r.Project)
		case r.Group != nil:
			out[i].Path = fmt.Sprintf("wiki of group %d", *r.Group)
		}
	}
	return out, nil
}

func (s *Service) stored(st Stored) *gitcmd.Repo {
	switch {
	case st.Pool():
		return s.Git.Repo(poolPath(poolID(st.ID)))
	case st.Attached != "":
		return s.Git.Repo(attachedPath(st.Attached))
	}
	return s.Git.Repo(diskPath(project.ID(st.ID)))
}

// Export hands the references and objects of a repository to put, see [gitcmd.Repo.Export].
// A project goes on borrowing the objects of its pool where pools has that one; otherwise it
// gets them. A repository that is not there is gitstore.ErrNotFound. It asks for no permission.
func (s *Service) Export(ctx context.Context, st Stored, pools map[int64]bool, put func(name string, size int64, content io.Reader) error) error {
	keep := func(pool *gitcmd.Repo) bool {
		return pools[st.Borrows] && pool.Path() == s.Git.Repo(poolPath(poolID(st.Borrows))).Path()
	}
	if err := s.stored(st).Export(ctx, keep, put); err != nil {
		return fmt.Errorf("export %s: %w", st, err)
	}
	return nil
}

// String names it for the operator.
func (o Stored) String() string {
	if o.Pool() {
		return "pool " + strconv.FormatInt(o.ID, 10)
	}
	return o.Path
}

// Deleted reports whether a project is gone or being deleted by now.
func (s *Service) Deleted(ctx context.Context, id int64) (bool, error) {
	n, err := db.Get[int](ctx, s.DB, "SELECT count(*) FROM projects WHERE id = ? AND NOT pending_delete", id)
	if err != nil {
		return false, fmt.Errorf("look for project: %w", err)
	}
	return n == 0, nil
}

// Restore makes a repository of what Export gave, where none is. A pool is restored before
// the projects that borrow from it. It asks for no permission.
func (s *Service) Restore(ctx context.Context, st Stored, next func() (name string, content io.Reader, err error)) error {
	var pool *gitcmd.Repo
	if st.Borrows != 0 {
		pool = s.Git.Repo(poolPath(poolID(st.Borrows)))
	}
	if err := s.stored(st).Import(ctx, pool, next); err != nil {
		return fmt.Errorf("restore %s: %w", st, err)
	}
	return nil
}

// Complete makes an empty repository for each project that has none and never had a branch,
// and finishes the deletion of projects whose repositories were deleted while the backup was
// made. It asks for no permission.
func (s *Service) Complete(ctx context.Context, deleted []int64) error {
	gone := make(map[int64]bool, len(deleted))
	for _, id := range deleted {
		gone[id] = true
	}
	all, err := s.Inventory(ctx)
	if err != nil {
		return err
	}
	for _, st := range all {
		if st.Pool() || st.Attached != "" || s.stored(st).Exists() { // one that is attached is made when it is opened
			continue
		}
		p, err := s.Projects.FindByID(ctx, authz.System(), project.ID(st.ID))
		if err != nil {
			if gone, err := s.Deleted(ctx, st.ID); err == nil && gone {
				continue
			}
			return fmt.Errorf("find project %s: %w", st.Path, err)
		}
		switch {
		case gone[st.ID]:
			err = s.Projects.Remove(ctx, p)
		case p.DefaultBranch == nil:
			if err = s.stored(st).Init(ctx, s.firstBranch(p)); errors.Is(err, gitstore.ErrExists) {
				err = nil
			}
		}
		if err != nil {
			return fmt.Errorf("complete %s: %w", st.Path, err)
		}
	}
	return nil
}

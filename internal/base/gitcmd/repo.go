package gitcmd

import (
	"context"

	"tenon/internal/base/gitstore"
)

// Repo is a handle of one bare repository, or of a view of it that sees the objects
// of a quarantine as well. Its files are read and written by gitstore, whatever else
// needs a git process by Repo itself. A handle is cheap and needs no close.
type Repo struct {
	*gitstore.Repo
	git    *Git
	merges *merges // made in this quarantine; nil elsewhere
}

// Repo returns the handle of the repository at a path below the root. The path is
// confined to the root whatever it says, and nothing need exist there.
func (g *Git) Repo(path string) *Repo { return &Repo{Repo: g.store.Repo(path), git: g} }

// main is the repository without its quarantine.
func (r *Repo) main() *Repo {
	if r.NewObjects() == "" {
		return r
	}
	return r.git.Repo(r.Path())
}

// Remove deletes the repository. Removing what is not there is no error.
func (r *Repo) Remove(ctx context.Context) error {
	return r.Repo.Remove(ctx, func() { r.git.forget(r) })
}

// Rename moves the repository to another path below the root, which must be free.
func (r *Repo) Rename(ctx context.Context, to *Repo) error {
	if err := r.Repo.Rename(ctx, to.Repo); err != nil {
		return err
	}
	r.git.forget(r)
	return nil
}

// Recycle ends the kept-open processes of the repository; housekeeping calls it,
// because they hold deleted packs.
func (r *Repo) Recycle() { r.git.pool.recycle(r.Path()) }

// forget drops everything remembered about a repository that is no longer there.
func (g *Git) forget(r *Repo) {
	g.pool.recycle(r.Path())
	g.objects.Clear()
	g.blobs.Clear()
	g.results.Clear()
	g.store.Trim()
}

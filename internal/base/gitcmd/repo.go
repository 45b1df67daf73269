package gitcmd

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Repo is a handle of one bare repository, or of a view of it that sees the objects
// of a quarantine as well. A handle is cheap, keeps nothing open and needs no close.
type Repo struct {
	git     *Git
	path    string
	objects string   // object folder of a quarantine; "" for the repository itself
	staging *staging // what a quarantine of ours holds in memory
}

// Repo gives the handle of the repository at a path below the root. The path is
// confined to the root whatever it says, and nothing need exist there.
func (g *Git) Repo(path string) *Repo {
	if rel, err := filepath.Rel(g.config.Root, path); err == nil && filepath.IsAbs(path) && filepath.IsLocal(rel) {
		path = rel
	}
	return &Repo{git: g, path: filepath.Join(g.config.Root, filepath.Clean("/"+path))}
}

// Path gives the absolute folder of the repository.
func (r *Repo) Path() string { return r.path }

// objectDir is where new objects go.
func (r *Repo) objectDir() string {
	if r.objects != "" {
		return r.objects
	}
	return filepath.Join(r.path, "objects")
}

// main is the repository without its quarantine.
func (r *Repo) main() *Repo {
	if r.objects == "" {
		return r
	}
	return &Repo{git: r.git, path: r.path}
}

// Init makes an empty bare repository with this default branch. A second Init fails with ErrExists.
func (r *Repo) Init(ctx context.Context, defaultBranch string) error {
	head, err := BranchRef(defaultBranch)
	if err != nil {
		return err
	}
	if r.Exists() {
		return fmt.Errorf("init %s: %w", r.path, ErrExists)
	}
	if err := os.MkdirAll(filepath.Dir(r.path), 0o750); err != nil {
		return fmt.Errorf("init repository: %w", err)
	}
	// The repository appears whole: a crash leaves a folder nobody looks at.
	tmp, err := os.MkdirTemp(filepath.Dir(r.path), ".init-*")
	if err != nil {
		return fmt.Errorf("init repository: %w", err)
	}
	defer func() { _ = os.RemoveAll(tmp) }()
	err = writeSkeleton(tmp, head)
	if err != nil {
		return fmt.Errorf("init repository: %w", err)
	}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("init repository: %w", err)
	}
	if err := os.Rename(tmp, r.path); err != nil {
		if r.Exists() { // somebody else made it meanwhile
			return fmt.Errorf("init %s: %w", r.path, ErrExists)
		}
		return fmt.Errorf("init repository: %w", err)
	}
	return syncDir(filepath.Dir(r.path))
}

// writeSkeleton writes what makes a folder a bare repository; git needs no more than this.
func writeSkeleton(dir string, head RefName) error {
	for _, sub := range []string{"objects/info", "objects/pack", "refs/heads", "refs/tags", "info"} {
		if err := os.MkdirAll(filepath.Join(dir, sub), 0o750); err != nil {
			return err
		}
	}
	files := map[string]string{
		"HEAD":   "ref: " + string(head) + "\n",
		"config": "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = true\n",
	}
	for name, content := range files {
		if err := writeFileSync(filepath.Join(dir, name), []byte(content), 0o640); err != nil {
			return err
		}
	}
	return os.Chmod(dir, 0o750)
}

// Exists reports whether there is a repository.
func (r *Repo) Exists() bool {
	_, err := os.Lstat(filepath.Join(r.path, "HEAD"))
	return err == nil
}

// Remove deletes the repository. Removing what is not there is no error.
func (r *Repo) Remove(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if r.path == r.git.config.Root {
		return fmt.Errorf("remove %s: is the root: %w", r.path, ErrBadName)
	}
	// Away from its name first, so that nobody opens half a repository.
	gone := filepath.Join(filepath.Dir(r.path), fmt.Sprintf(".removed-%s-%d", filepath.Base(r.path), r.git.serial.Add(1)))
	_ = os.RemoveAll(gone)
	err := os.Rename(r.path, gone)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("remove repository: %w", err)
	}
	r.git.forget(r)
	if err := os.RemoveAll(gone); err != nil {
		return fmt.Errorf("remove repository: %w", err)
	}
	return nil
}

// Rename moves the repository to another path below the root, which must be free.
func (r *Repo) Rename(ctx context.Context, to *Repo) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if to.Exists() {
		return fmt.Errorf("rename repository: %w", ErrExists)
	}
	if err := os.MkdirAll(filepath.Dir(to.path), 0o750); err != nil {
		return fmt.Errorf("rename repository: %w", err)
	}
	if err := os.Rename(r.path, to.path); err != nil {
		return fmt.Errorf("rename repository: %w", err)
	}
	r.git.forget(r)
	return nil
}

// Recycle ends the kept-open processes of the repository; housekeeping calls it,
// because they hold deleted packs.
func (r *Repo) Recycle() { r.git.pool.recycle(r.path) }

// forget drops everything remembered about a repository that is no longer there.
func (g *Git) forget(r *Repo) {
	g.pool.recycle(r.path)
	g.objects.clear()
	g.blobs.clear()
	g.results.clear()
	g.packs.clear()
}

// Size gives the bytes that the files of the repository take, without its quarantines.
func (r *Repo) Size(ctx context.Context) (int64, error) {
	var sum int64
	err := filepath.WalkDir(r.path, func(_ string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if incoming(d) {
			return fs.SkipDir
		}
		if !d.Type().IsRegular() {
			return nil
		}
		info, err := d.Info()
		if err == nil {
			sum += info.Size()
		}
		return nil
	})
	if err != nil {
		return 0, fmt.Errorf("measure repository: %w", err)
	}
	return sum, nil
}

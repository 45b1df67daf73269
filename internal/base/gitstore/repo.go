package gitstore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"tenon/internal/base/intx"
)

// Repo is a handle of one bare repository, or of a view of it that sees the objects
// of a quarantine as well. A handle is cheap, keeps nothing open and needs no close.
type Repo struct {
	store   *Store
	path    string
	objects string   // object folder of a quarantine; "" for the repository itself
	staging *staging // what a quarantine of ours holds in memory
}

// Path returns the absolute folder of the repository.
func (r *Repo) Path() string { return r.path }

// NewObjects returns the folder of objects that only this view sees, "" for a repository
// itself. It need not exist: see Spill.
func (r *Repo) NewObjects() string { return r.objects }

// objectDir is where new objects go.
func (r *Repo) objectDir() string {
	if r.objects != "" {
		return r.objects
	}
	return filepath.Join(r.path, "objects")
}

// Init makes an empty bare repository with this default branch. A second Init fails with ErrExists.
func (r *Repo) Init(ctx context.Context, defaultBranch string) error {
	head, err := BranchRef(defaultBranch)
	if err != nil {
		return err
	}
	if err := r.Create(ctx, head, func(*Repo) error { return nil }); err != nil {
		return fmt.Errorf("init repository: %w", err)
	}
	return nil
}

// Create makes a bare repository whose HEAD names a branch. It appears whole, after fill
// has filled it: a crash leaves a folder that is never looked at. ErrExists is a
// repository that is there already.
func (r *Repo) Create(ctx context.Context, head RefName, fill func(unseen *Repo) error) error {
	intx.MustNot(ctx, "a repository is changed")
	if r.Exists() {
		return fmt.Errorf("%s: %w", r.path, ErrExists)
	}
	if err := os.MkdirAll(filepath.Dir(r.path), 0o750); err != nil {
		return err
	}
	tmp, err := os.MkdirTemp(filepath.Dir(r.path), ".init-*")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(tmp) }()
	if err := writeSkeleton(tmp, head); err != nil {
		return err
	}
	if err := fill(&Repo{store: r.store, path: tmp}); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := os.Rename(tmp, r.path); err != nil {
		if r.Exists() { // another caller made it meanwhile
			return fmt.Errorf("%s: %w", r.path, ErrExists)
		}
		return err
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

// Remove deletes the repository, and calls gone as soon as it has left its place. Removing
// what is not there is no error.
func (r *Repo) Remove(ctx context.Context, gone func()) error {
	intx.MustNot(ctx, "a repository is changed")
	if err := ctx.Err(); err != nil {
		return err
	}
	if r.path == r.store.root {
		return fmt.Errorf("remove %s: is the root: %w", r.path, ErrBadName)
	}
	// Away from its name first, so that no process opens half a repository.
	away := filepath.Join(filepath.Dir(r.path), fmt.Sprintf(".removed-%s-%d", filepath.Base(r.path), r.store.serial.Add(1)))
	_ = os.RemoveAll(away)
	err := os.Rename(r.path, away)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("remove repository: %w", err)
	}
	r.store.Trim()
	gone()
	if err := os.RemoveAll(away); err != nil {
		return fmt.Errorf("remove repository: %w", err)
	}
	return nil
}

// Rename moves the repository to another path below the root, which must be free.
func (r *Repo) Rename(ctx context.Context, to *Repo) error {
	intx.MustNot(ctx, "a repository is changed")
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
	r.store.Trim()
	return nil
}

// Size returns the bytes that the files of the repository take, without its quarantines.
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

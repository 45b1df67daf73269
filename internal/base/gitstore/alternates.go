package gitstore

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Link lets the repository read the objects of a pool beside its own. The pool must stay
// until Unlink.
func (r *Repo) Link(pool *Repo) error {
	switch other, err := pool.Linked(); {
	case err != nil:
		return err
	case !pool.Exists():
		return fmt.Errorf("link to pool: %w", ErrNotFound)
	case other != nil || pool.path == r.path:
		return fmt.Errorf("link to pool: borrows objects itself: %w", ErrBadName)
	}
	// Relative, so that the data folder can be moved.
	path, err := filepath.Rel(filepath.Join(r.path, "objects"), filepath.Join(pool.path, "objects"))
	if err != nil || strings.ContainsAny(path, "\n\"#") {
		return fmt.Errorf("link to pool: path %q: %w", clip(path), ErrBadName)
	}
	name := r.alternates()
	if err := os.MkdirAll(filepath.Dir(name), 0o750); err != nil {
		return fmt.Errorf("link to pool: %w", err)
	}
	tmp := fmt.Sprintf("%s.tmp-%d-%d", name, os.Getpid(), r.store.serial.Add(1))
	err = writeFileSync(tmp, []byte(path+"\n"), 0o640)
	if err == nil {
		err = os.Rename(tmp, name)
	}
	if err != nil {
		_ = os.Remove(tmp)
		return fmt.Errorf("link to pool: %w", err)
	}
	return syncDir(filepath.Dir(name))
}

func (r *Repo) alternates() string { return filepath.Join(r.path, "objects", "info", "alternates") }

// Linked returns the pool whose objects the repository reads, nil for none. A link that
// leaves the root, or that is not one of ours, is an error.
func (r *Repo) Linked() (*Repo, error) {
	content, err := os.ReadFile(r.alternates())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read link to pool: %w", err)
	}
	line, rest, _ := strings.Cut(string(content), "\n")
	objects := filepath.Join(r.path, "objects", line)
	rel, err := filepath.Rel(r.store.root, objects)
	if err != nil || rest != "" || filepath.IsAbs(line) || !filepath.IsLocal(rel) || filepath.Base(rel) != "objects" {
		return nil, fmt.Errorf("link to pool %q: %w", clip(string(content)), ErrBadName)
	}
	return r.store.Repo(filepath.Dir(rel)), nil
}

// Unlink ends the link to a pool. The repository first gets all that the pool holds, so
// that a process that reads or writes meanwhile misses nothing; housekeeping drops in time what
// it does not need.
func (r *Repo) Unlink(ctx context.Context) error {
	pool, err := r.Linked()
	if err != nil || pool == nil {
		return err
	}
	if err := r.adopt(ctx, filepath.Join(pool.path, "objects")); err != nil {
		return fmt.Errorf("take objects of pool: %w", err)
	}
	if err := os.Remove(r.alternates()); err != nil {
		return fmt.Errorf("unlink from pool: %w", err)
	}
	return syncDir(filepath.Dir(r.alternates()))
}

// adopt gives the repository the files of an objects folder, without copying them where
// the file system allows it: a pack never changes.
func (r *Repo) adopt(ctx context.Context, objects string) error {
	files, err := objectFiles(objects)
	if err != nil {
		return err
	}
	place := placeIn(filepath.Join(r.path, "objects"))
	for _, name := range files {
		if err := ctx.Err(); err != nil {
			return err
		}
		loose := len(name) == len("ab/")+38 && IsHex(strings.Replace(name, "/", "", 1))
		switch filepath.Ext(name) {
		case ".pack", ".rev", ".idx":
		default: // bitmaps and the like belong to the whole repository
			if !loose {
				continue
			}
		}
		target := filepath.Join(place.objects, name)
		if _, err := os.Lstat(target); err == nil {
			continue // the name says what is in it
		}
		tmp := filepath.Join(place.objects, fmt.Sprintf("tmp_adopt-%d-%d", os.Getpid(), r.store.serial.Add(1)))
		if err := LinkOrCopy(filepath.Join(objects, name), tmp); err != nil {
			return err
		}
		if err := place.put(tmp, target); err != nil {
			_ = os.Remove(tmp)
			return err
		}
	}
	return place.sync()
}

// LinkOrCopy gives a file a second name, or copies it durably where it cannot have one.
func LinkOrCopy(from, to string) error {
	if os.Link(from, to) == nil {
		return nil
	}
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o440)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	if err = errors.Join(err, out.Sync(), out.Close()); err != nil {
		_ = os.Remove(to)
	}
	return err
}

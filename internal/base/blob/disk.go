package blob

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// stagingName is no valid part of a key.
const stagingName = ".staging"

// disk keeps every object in a file of its own below a folder.
type disk struct{ dir string }

func (d *disk) path(key string) string { return filepath.Join(d.dir, filepath.FromSlash(key)) }

func (d *disk) adopt(_ context.Context, key, file string) error {
	path := d.path(key)
	err := os.Rename(file, path)
	if errors.Is(err, fs.ErrNotExist) {
		if err := d.makeFolder(filepath.Dir(path)); err != nil {
			return err
		}
		err = os.Rename(file, path)
	}
	if err != nil {
		return err
	}
	return syncFolder(filepath.Dir(path))
}

// makeFolder makes a folder and those above it, and makes their names durable.
func (d *disk) makeFolder(dir string) error {
	err := os.Mkdir(dir, 0o700)
	if errors.Is(err, fs.ErrNotExist) && dir != d.dir {
		if err := d.makeFolder(filepath.Dir(dir)); err != nil {
			return err
		}
		err = os.Mkdir(dir, 0o700)
	}
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return syncFolder(filepath.Dir(dir))
}

func syncFolder(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

func (d *disk) fill(ctx context.Context, key string, size int64, from io.Reader) error {
	path := d.path(key)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	n, err := copyUpTo(ctx, f, from, size)
	if err == nil && n != size {
		err = ErrMismatch
	}
	return errors.Join(err, f.Close())
}

func (d *disk) sync(context.Context) error {
	f, err := os.Open(d.dir)
	if err != nil {
		return err
	}
	return errors.Join(unix.Syncfs(int(f.Fd())), f.Close())
}

func (d *disk) open(_ context.Context, key string) (*Object, error) {
	f, err := os.Open(d.path(key))
	if err != nil {
		return nil, missing(err)
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = ErrNotFound // a folder of other objects
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &Object{ReadSeekCloser: f, Info: describe(key, info)}, nil
}

func (d *disk) stat(_ context.Context, key string) (Info, error) {
	info, err := os.Lstat(d.path(key))
	if err != nil {
		return Info{}, missing(err)
	}
	if !info.Mode().IsRegular() {
		return Info{}, ErrNotFound
	}
	return describe(key, info), nil
}

func (d *disk) remove(ctx context.Context, key string) error {
	if _, err := d.stat(ctx, key); err != nil {
		return err
	}
	return missing(os.Remove(d.path(key)))
}

func (d *disk) list(ctx context.Context, prefix string) iter.Seq2[Info, error] {
	return func(yield func(Info, error) bool) {
		err := filepath.WalkDir(d.path(prefix), func(path string, entry fs.DirEntry, err error) error {
			switch {
			case ctx.Err() != nil:
				return context.Cause(ctx)
			case errors.Is(err, fs.ErrNotExist):
				return nil // it went meanwhile
			case err != nil:
				return err
			case entry.IsDir() && strings.HasPrefix(entry.Name(), ".") && path != d.dir:
				return fs.SkipDir
			case !entry.Type().IsRegular():
				return nil
			}
			info, err := entry.Info()
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			if err != nil {
				return err
			}
			key, err := filepath.Rel(d.dir, path)
			if err != nil {
				return err
			}
			if !yield(describe(filepath.ToSlash(key), info), nil) {
				return fs.SkipAll
			}
			return nil
		})
		if err != nil {
			yield(Info{}, fmt.Errorf("list objects: %w", err))
		}
	}
}

func describe(key string, info fs.FileInfo) Info {
	return Info{Key: key, Size: info.Size(), Modified: info.ModTime().UTC()}
}

// missing translates the error of a file that is not there.
func missing(err error) error {
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return ErrNotFound
	}
	return err
}

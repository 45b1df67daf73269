// Package scratch makes folders for one run of a program, and removes those of runs that
// were killed.
//
// A folder is locked as long as its program runs, by a lock that the kernel lets go of
// however the program ends. Sweep takes a folder away only where all of this holds: it
// is in the folder for temporary files under the name that Make gives, it is a folder
// and no link, it belongs to this user and to no other user by its mode, it holds the mark
// that Make writes, or nothing at all, and it is not locked.
package scratch

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// mark is the file that says what a folder is.
const mark = "scratch-folder"

// Dir is a folder of this run.
type Dir struct {
	Path string
	lock *os.File
}

// Make makes a folder below parent whose name begins with prefix; parent "" is the
// folder for temporary files. Remove it in the end.
func Make(parent, prefix string) (*Dir, error) {
	if parent == "" {
		parent = os.TempDir()
	}
	for {
		path, err := os.MkdirTemp(parent, prefix+"*")
		if err != nil {
			return nil, fmt.Errorf("make folder: %w", err)
		}
		d, err := hold(path)
		if err == nil {
			err = os.WriteFile(filepath.Join(path, mark), []byte(text(prefix)), 0o600)
			if err == nil {
				return d, nil
			}
			return nil, errors.Join(fmt.Errorf("mark folder: %w", err), d.Remove())
		}
		// Another program swept the folder away before it was locked.
		if !errors.Is(err, errHeld) && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
}

func text(prefix string) string { return prefix + " folder of one run: removed when the run is over\n" }

var (
	errHeld    = errors.New("a program works in it")
	errForeign = errors.New("it belongs to others")
)

// hold locks a folder that no other user can read.
func hold(path string) (*Dir, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return nil, fmt.Errorf("open folder: %w", err)
	}
	d := &Dir{Path: path, lock: f}
	if err := d.claim(); err != nil {
		return nil, errors.Join(fmt.Errorf("lock %s: %w", path, err), f.Close())
	}
	return d, nil
}

func (d *Dir) claim() error {
	own, err := d.lock.Stat()
	if err != nil {
		return err
	}
	if s, ok := own.Sys().(*syscall.Stat_t); !ok || int(s.Uid) != os.Geteuid() || own.Mode().Perm() != 0o700 {
		return errForeign
	}
	err = syscall.Flock(int(d.lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return errHeld
	}
	if err != nil {
		return err
	}
	there, err := os.Lstat(d.Path)
	if err == nil && !os.SameFile(own, there) {
		err = fs.ErrNotExist
	}
	return err
}

// Remove removes the folder with all it holds, then lets go of the lock. The mark goes last,
// so that a folder with something left is known to the next Sweep.
func (d *Dir) Remove() error {
	err := d.empty()
	if err == nil {
		err = os.RemoveAll(d.Path)
	}
	if err != nil {
		err = fmt.Errorf("remove folder: %w", err)
	}
	return errors.Join(err, d.lock.Close())
}

// empty removes all but the mark.
func (d *Dir) empty() error {
	entries, err := os.ReadDir(d.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, e := range entries {
		if e.Name() != mark {
			err = errors.Join(err, os.RemoveAll(filepath.Join(d.Path, e.Name())))
		}
	}
	return err
}

// Sweep removes the folders of the same parent and prefix whose programs are gone. It
// ends early with ctx. What it may not or cannot remove it leaves.
func Sweep(ctx context.Context, parent, prefix string) {
	if parent == "" {
		parent = os.TempDir()
	}
	entries, err := os.ReadDir(parent)
	if err != nil {
		return
	}
	for _, e := range entries {
		if ctx.Err() != nil {
			return
		}
		if strings.HasPrefix(e.Name(), prefix) && e.IsDir() {
			sweep(filepath.Join(parent, e.Name()), prefix)
		}
	}
}

func sweep(path, prefix string) {
	d, err := hold(path)
	if err != nil {
		return
	}
	if found, err := os.ReadFile(filepath.Join(path, mark)); err == nil && string(found) == text(prefix) {
		_ = d.Remove() // what is left is tried again by the next
		return
	}
	_ = os.Remove(path) // killed before it was marked; does nothing where it holds anything
	_ = d.lock.Close()
}

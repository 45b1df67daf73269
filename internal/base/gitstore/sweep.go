package gitstore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// abandoned is after how long what no process wrote to belongs to no process, even where it was
// begun by a process of ours.
const abandoned = 24 * time.Hour

// Sweep removes what a crash left: the locks of processes before this one, and objects
// that never came in, once no process can be at work on them any more. It returns the bytes it
// freed.
func (r *Repo) Sweep(ctx context.Context, now time.Time) (int64, error) {
	if err := r.DropAllStaleLocks(); err != nil {
		return 0, err
	}
	var freed int64
	objects := filepath.Join(r.path, "objects")
	for _, dir := range []string{objects, filepath.Join(objects, "pack")} {
		entries, err := os.ReadDir(dir)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return freed, fmt.Errorf("sweep repository: %w", err)
		}
		for _, e := range entries {
			if ctx.Err() != nil {
				return freed, fmt.Errorf("sweep repository: %w", context.Cause(ctx))
			}
			if !unfinished(e) {
				continue
			}
			name := filepath.Join(dir, e.Name())
			size, last, err := lastTouched(name)
			if err != nil || !r.store.left(last, now) {
				continue // it went away meanwhile, or a process is at it
			}
			if err := os.RemoveAll(name); err != nil {
				return freed, fmt.Errorf("sweep repository: %w", err)
			}
			freed += size
		}
	}
	return freed, nil
}

// unfinished reports whether something in a folder of objects has a name that only what
// is being written has.
func unfinished(e fs.DirEntry) bool {
	if e.IsDir() {
		return incoming(e)
	}
	return strings.HasPrefix(e.Name(), "tmp_")
}

// incoming reports whether something is a folder of objects that are coming in.
func incoming(e fs.DirEntry) bool {
	return e.IsDir() && (strings.HasPrefix(e.Name(), "tmp_objdir-") || strings.HasPrefix(e.Name(), "incoming-"))
}

// left reports whether what was written to last at a time has been left by a process that
// is gone: by an earlier server, whose processes have ended since, or long ago.
func (s *Store) left(last, now time.Time) bool {
	return now.Sub(last) > abandoned || last.Before(s.since) && now.Sub(last) > stale
}

// lastTouched returns the size of everything at a path and when something of it was
// written to last.
func lastTouched(path string) (size int64, last time.Time, err error) {
	err = filepath.WalkDir(path, func(_ string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		if info.ModTime().After(last) {
			last = info.ModTime()
		}
		if info.Mode().IsRegular() {
			size += info.Size()
		}
		return nil
	})
	return size, last, err
}

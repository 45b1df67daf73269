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

// stale is after how long a lock, or a folder of incoming objects, belongs to no process.
const stale = time.Hour

// BrokenRefs says which files of references hold something else than they should, as when
// the power went while one was written. Those among refs could be read.
func (r *Repo) BrokenRefs(refs []Ref) ([]string, error) {
	known := make(map[RefName]bool, len(refs))
	for _, ref := range refs {
		known[ref.Name] = true
	}
	var found []string
	err := filepath.WalkDir(filepath.Join(r.path, "refs"), func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, os.ErrNotExist) || err == nil && d.IsDir() {
			return nil
		}
		if err != nil {
			return err
		}
		name := RefName(filepath.ToSlash(strings.TrimPrefix(path, r.path+string(filepath.Separator))))
		if known[name] || strings.HasSuffix(string(name), ".lock") {
			return nil
		}
		_, next, err := r.readLooseRef(name)
		switch {
		case errors.Is(err, ErrNotFound): // it went away meanwhile
		case !name.Valid():
			found = append(found, fmt.Sprintf("the file %q is no reference", name))
		case err != nil:
			found = append(found, string(name)+" holds no object id")
		case next != "":
			found = append(found, fmt.Sprintf("%s names %s, which is not there", name, next))
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("look at references: %w", err)
	}
	return found, nil
}

// Leftovers looks for locks that are held too long and objects that never came in.
func (r *Repo) Leftovers(ctx context.Context, now time.Time) ([]string, error) {
	var found []string
	err := filepath.WalkDir(r.path, func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, os.ErrNotExist) { // it went away meanwhile
			return nil
		}
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return err
		}
		name, rel := d.Name(), strings.TrimPrefix(path, r.path+string(filepath.Separator))
		lock := !d.IsDir() && isLock(name)
		incoming := incoming(d)
		if lock || incoming {
			info, err := d.Info()
			if err == nil && now.Sub(info.ModTime()) > stale {
				found = append(found, map[bool]string{true: "stale lock ", false: "objects that never came in: "}[lock]+rel)
			}
		}
		if d.IsDir() && (incoming || len(name) == 2 && IsHex(name) || name == "pack" || name == "logs") {
			return fs.SkipDir
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("look for leftovers: %w", err)
	}
	return found, nil
}

package gitcmd

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

// stale is after how long a lock, or a folder of incoming objects, belongs to nobody.
const stale = time.Hour

// Inspect looks at a repository without reading its objects, and says in a few words
// each what is wrong: files that a crash left, references to nothing, a HEAD that is
// none, a pool that is not there.
func (r *Repo) Inspect(ctx context.Context, now time.Time) ([]string, error) {
	if !r.Exists() {
		return []string{"the repository is not there"}, nil
	}
	found, err := r.leftovers(ctx, now)
	if err != nil {
		return nil, err
	}
	if head, err := r.Head(ctx); err != nil || !head.IsBranch() {
		found = append(found, "HEAD names no branch")
	}
	if pool, err := r.Linked(); err != nil {
		found = append(found, "the file of alternates cannot be read")
	} else if pool != nil && !pool.Exists() {
		found = append(found, "it borrows objects from "+pool.Path()+", which is not there")
	}
	refs, err := r.Refs(ctx, "refs/")
	if err != nil {
		return append(found, "the references cannot be read: "+err.Error()), nil
	}
	for _, ref := range refs {
		_, err := r.Info(ctx, ref.ID)
		switch {
		case errors.Is(err, ErrNotFound):
			found = append(found, fmt.Sprintf("%s names %s, which is not there", ref.Name, ref.ID))
		case err != nil:
			return nil, err
		}
	}
	return found, nil
}

// leftovers looks for locks that are held too long and objects that never came in.
func (r *Repo) leftovers(ctx context.Context, now time.Time) ([]string, error) {
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
		lock := !d.IsDir() && strings.HasSuffix(name, ".lock")
		incoming := incoming(d)
		if lock || incoming {
			info, err := d.Info()
			if err == nil && now.Sub(info.ModTime()) > stale {
				found = append(found, map[bool]string{true: "stale lock ", false: "objects that never came in: "}[lock]+rel)
			}
		}
		if d.IsDir() && (incoming || len(name) == 2 && isHex(name) || name == "pack" || name == "logs") {
			return fs.SkipDir
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("look for leftovers: %w", err)
	}
	return found, nil
}

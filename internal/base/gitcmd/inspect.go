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
	broken, err := r.brokenRefs(ctx)
	if err != nil {
		return nil, err
	}
	return append(found, broken...), nil
}

// brokenRefs looks for references that name nothing, or whose files hold something else
// than they should, as when the power went while one was written.
func (r *Repo) brokenRefs(ctx context.Context) ([]string, error) {
	refs, err := r.refNames(ctx, "refs/")
	if err != nil {
		return []string{"the references cannot be read: " + err.Error()}, ctx.Err()
	}
	known := make(map[string]bool, len(refs))
	ids := make([]ObjectID, len(refs))
	for i, ref := range refs {
		known[ref.name], ids[i] = true, ref.id
	}
	var found []string
	err = filepath.WalkDir(filepath.Join(r.path, "refs"), func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, os.ErrNotExist) || err == nil && d.IsDir() {
			return nil
		}
		if err != nil {
			return err
		}
		name := filepath.ToSlash(strings.TrimPrefix(path, r.path+string(filepath.Separator)))
		if known[name] || strings.HasSuffix(name, ".lock") {
			return nil
		}
		_, next, err := r.readLooseRef(name)
		switch {
		case errors.Is(err, ErrNotFound): // it went away meanwhile
		case !RefName(name).Valid():
			found = append(found, fmt.Sprintf("the file %q is no reference", name))
		case err != nil:
			found = append(found, name+" holds no object id")
		case next != "":
			found = append(found, fmt.Sprintf("%s names %s, which is not there", name, next))
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("look at references: %w", err)
	}
	absent, err := r.Absent(ctx, ids)
	if failed, ok := errors.AsType[*Error](err); ok && ctx.Err() == nil {
		return append(found, "git cannot read the repository: "+strings.Join(strings.Fields(failed.Stderr), " ")), nil
	}
	if err != nil {
		return nil, err
	}
	for _, ref := range refs {
		if absent[ref.id] {
			found = append(found, fmt.Sprintf("%s names %s, which is not there", ref.name, ref.id))
		}
	}
	return found, nil
}

// Absent says which of the objects are not there, or cannot be read at all. A process of
// its own looks: the cache and those that are kept open know what was there before.
func (r *Repo) Absent(ctx context.Context, ids []ObjectID) (map[ObjectID]bool, error) {
	var in strings.Builder
	for _, id := range ids {
		in.WriteString(id.String() + "\n")
	}
	const line = 64 // bytes of an answer, and some
	out, err := r.git.output(ctx, call{
		repo: r, args: []string{"cat-file", "--batch-check=%(objectname) %(objecttype)"}, stdin: strings.NewReader(in.String()), load: long,
	}, line*len(ids)+line)
	if err != nil {
		return nil, err
	}
	absent := map[ObjectID]bool{}
	for text := range strings.Lines(string(out)) {
		name, what, _ := strings.Cut(strings.TrimSpace(text), " ")
		id, err := ParseObjectID(name)
		if err != nil {
			return nil, fmt.Errorf("git cat-file answered %q: %w", clip(text), err)
		}
		if what == "missing" {
			absent[id] = true
		}
	}
	return absent, nil
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
		lock := !d.IsDir() && isLock(name)
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

package gitstore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"tenon/internal/base/intx"
)

// RefUpdate moves one reference. Old zero means that it must not exist yet, New zero deletes it.
type RefUpdate struct {
	Ref    RefName
	Old    ObjectID
	New    ObjectID
	AnyOld bool // move it whatever it holds; Old is ignored
}

// Objects looks up objects wherever git keeps them, packs and pools included.
type Objects interface {
	// Kind returns the kind of an object, ErrNotFound where it is missing.
	Kind(ctx context.Context, id ObjectID) (Kind, error)
	// Peeled follows annotated tags to what they name in the end. An object that is missing is left out.
	Peeled(ctx context.Context, ids []ObjectID) (map[ObjectID]Info, error)
}

// UpdateRefs moves all references in one transaction or none of them. A few references
// that are only moved or made become files; many, and deletions, are written to
// packed-refs at once. Whatever is out of the ordinary, such as a value that is not the
// expected one or a lock of another process, is ErrUnsure: git update-ref has to look at
// it. The new objects must be in the repository, not in a quarantine.
func (r *Repo) UpdateRefs(ctx context.Context, updates []RefUpdate, objects Objects) error {
	intx.MustNot(ctx, "references are written")
	if len(updates) == 0 {
		return nil
	}
	for _, u := range updates {
		if err := u.Ref.check(); err != nil {
			return err
		}
		if u.Ref == HEAD {
			return fmt.Errorf("move HEAD: %w", ErrBadName)
		}
	}
	if len(updates) > fewRefs || slices.ContainsFunc(updates, func(u RefUpdate) bool { return u.New.IsZero() }) {
		return r.moveMany(ctx, updates, objects)
	}
	return r.moveFiles(ctx, updates, objects)
}

// newPackedRefs is what git writes before it replaces the packed references, under their
// lock. Where it was killed the file stays, and git refuses to begin another one.
const newPackedRefs = "packed-refs.new"

// isLock reports whether a file of this name keeps git from its work.
func isLock(name string) bool { return strings.HasSuffix(name, ".lock") || name == newPackedRefs }

// DropTransactionLocks removes the lock files of a change of these references that are
// older than this process: the process that made them is gone, with the power or with the server
// before. git locks packed-refs as well, and HEAD where it names one of them. It reports
// whether there was one.
func (r *Repo) DropTransactionLocks(updates []RefUpdate) bool {
	names := []string{"packed-refs.lock", newPackedRefs, "HEAD.lock"}
	for _, u := range updates {
		names = append(names, string(u.Ref)+".lock")
	}
	dropped := false
	for _, name := range names {
		dropped = r.dropStaleLock(filepath.Join(r.path, filepath.FromSlash(name))) || dropped
	}
	return dropped
}

func (r *Repo) dropStaleLock(path string) bool {
	info, err := os.Lstat(path)
	if err != nil || !info.ModTime().Before(r.store.since) || os.Remove(path) != nil {
		return false
	}
	r.store.log.Warn("removed a lock that a crash left", "path", path)
	return true
}

// DropStaleLocks removes the locks of these references that a crash left, for those who
// know that it happened.
func (r *Repo) DropStaleLocks(names ...RefName) {
	for _, name := range names {
		if name.Valid() && name != HEAD {
			r.dropStaleLock(r.refFile(name) + ".lock")
		}
	}
}

// DropAllStaleLocks removes every lock that is older than this process. git would take
// it for one of a process that is at work, and refuse to pack or to write a commit graph.
func (r *Repo) DropAllStaleLocks() error {
	for _, pattern := range []string{"*.lock", newPackedRefs, "objects/info/*.lock", "objects/info/commit-graphs/*.lock", "objects/pack/*.lock"} {
		found, err := filepath.Glob(filepath.Join(r.path, filepath.FromSlash(pattern)))
		if err != nil {
			return fmt.Errorf("look for locks: %w", err)
		}
		for _, path := range found {
			r.dropStaleLock(path)
		}
	}
	err := filepath.WalkDir(filepath.Join(r.path, "refs"), func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) { // it went away meanwhile
			return nil
		}
		if err == nil && !d.IsDir() && isLock(d.Name()) {
			r.dropStaleLock(path)
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("look for locks: %w", err)
	}
	return nil
}

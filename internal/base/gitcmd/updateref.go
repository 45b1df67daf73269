package gitcmd

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// RefUpdate moves one reference. Old zero means that it must not exist yet, New zero deletes it.
type RefUpdate struct {
	Ref    RefName
	Old    ObjectID
	New    ObjectID
	AnyOld bool // move it whatever it holds; Old is ignored
}

// UpdateRefs moves all references in one transaction or none of them. ErrRefMoved says
// that one did not hold its old value or is being moved by another process,
// ErrRefConflict that a name cannot stand beside another one. A few references that are
// only moved or made become files; many, and deletions, are written to packed-refs at
// once. git update-ref is run for what is out of the ordinary.
func (r *Repo) UpdateRefs(ctx context.Context, updates []RefUpdate) error {
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
	move := r.moveFiles
	if len(updates) > fewRefs || slices.ContainsFunc(updates, func(u RefUpdate) bool { return u.New.IsZero() }) {
		move = r.moveMany
	}
	if err := move(ctx, updates); !errors.Is(err, errUnsure) {
		return err
	}
	var in strings.Builder
	in.WriteString("start\n")
	for _, u := range updates {
		switch {
		case u.AnyOld && u.New.IsZero():
			fmt.Fprintf(&in, "delete %s\n", u.Ref)
		case u.New.IsZero():
			fmt.Fprintf(&in, "delete %s %s\n", u.Ref, u.Old)
		case u.AnyOld:
			fmt.Fprintf(&in, "update %s %s\n", u.Ref, u.New)
		default:
			fmt.Fprintf(&in, "update %s %s %s\n", u.Ref, u.New, u.Old)
		}
	}
	in.WriteString("prepare\n")
	// References never move towards objects that only a quarantine holds.
	err := r.updateRef(ctx, in.String())
	if errors.Is(err, errLocked) && r.dropStaleLocks(updates) {
		err = r.updateRef(ctx, in.String())
	}
	return err
}

func (r *Repo) updateRef(ctx context.Context, commands string) error {
	return refError(r.git.run(ctx, call{
		repo: r.main(), args: []string{"update-ref", "--no-deref", "--stdin"}, stdin: strings.NewReader(commands + "commit\n"),
	}))
}

// errLocked is beside ErrRefMoved where another process holds a reference, or held it
// when it was killed.
var errLocked = errors.New("reference is locked")

// newPackedRefs is what git writes before it replaces the packed references, under their
// lock. Where it was killed the file stays, and git refuses to begin another one.
const newPackedRefs = "packed-refs.new"

// isLock reports whether a file of this name keeps git from its work.
func isLock(name string) bool { return strings.HasSuffix(name, ".lock") || name == newPackedRefs }

// dropStaleLocks removes the lock files of these references that are older than this
// process: whoever made them is gone, with the power or with the server before. git locks
// HEAD as well where it names one of them. It reports whether there was one.
func (r *Repo) dropStaleLocks(updates []RefUpdate) bool {
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
	if err != nil || !info.ModTime().Before(r.git.since) || os.Remove(path) != nil {
		return false
	}
	r.git.config.Logger.Warn("removed a lock that a crash left", "path", path)
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

// dropAllStaleLocks removes every lock that is older than this process. git would take
// it for one of somebody who is at work, and refuse to pack or to write a commit graph.
func (r *Repo) dropAllStaleLocks() error {
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

// refError types what git says about a refused transaction.
func refError(err error) error {
	var e *Error
	if !errors.As(err, &e) || e.Code != 128 {
		return err
	}
	for _, m := range []struct {
		text string
		is   error
	}{
		{"but expected", ErrRefMoved},
		{"reference already exists", ErrRefMoved},
		{"unable to resolve reference", ErrRefMoved},
		{"reference is missing but expected", ErrRefMoved},
		{".lock': File exists", errors.Join(ErrRefMoved, errLocked)},
		{newPackedRefs + ": File exists", errors.Join(ErrRefMoved, errLocked)},
		{"exists; cannot create", ErrRefConflict},
		{"there is a non-empty directory", ErrRefConflict},
		{"cannot process", ErrRefConflict},
		{"couldn't set", ErrRefConflict}, // somebody made a reference below this one at the same moment
		{"nonexistent object", ErrNotFound},
		{"multiple updates for", ErrBadName},
		{"non-commit object", ErrWrongKind},
	} {
		if strings.Contains(e.Stderr, m.text) {
			return fmt.Errorf("move references: %w: %w", m.is, err)
		}
	}
	return err
}

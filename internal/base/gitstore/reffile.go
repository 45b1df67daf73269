package gitstore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// fewRefs is up to how many references are moved without a process.
const fewRefs = 16

// moveFiles moves a few references as git does, without a process: it locks each with a
// file beside it, compares under the locks, and renames the locks, which hold the new
// values durably. The locks come last, so that a kill hardly ever leaves one. Whatever is
// out of the ordinary, such as a deletion, a lock that a process holds or a value that is
// not the expected one, is ErrUnsure.
func (r *Repo) moveFiles(ctx context.Context, updates []RefUpdate, objects Objects) error {
	for i, u := range updates {
		if u.New.IsZero() || !mayName(ctx, u, objects) {
			return ErrUnsure
		}
		for _, other := range updates[:i] {
			if contains(u.Ref, other.Ref) || contains(other.Ref, u.Ref) {
				return ErrUnsure
			}
		}
	}
	files := make([]string, len(updates)) // temporary at first, then locks
	defer func() {
		for _, name := range files {
			if name != "" {
				_ = os.Remove(name)
			}
		}
	}()
	for i, u := range updates {
		var err error
		if files[i], err = r.writeValue(u.New); err != nil {
			return ErrUnsure
		}
	}
	made := false
	for i, u := range updates {
		lock := r.refFile(u.Ref) + ".lock"
		fresh, err := r.lockRef(files[i], lock)
		if err != nil {
			return ErrUnsure
		}
		files[i], made = lock, made || fresh
	}
	for _, u := range updates {
		if !r.standsAt(u) {
			return ErrUnsure
		}
	}
	for i, u := range updates {
		err := os.Rename(files[i], r.refFile(u.Ref))
		if err != nil && i == 0 {
			return ErrUnsure
		}
		if err != nil {
			return fmt.Errorf("move reference %q: %w", u.Ref, err)
		}
		files[i] = "" // a lock of that name belongs to another process from now on
	}
	return r.syncRefs(updates, made)
}

// contains reports whether one reference is another, or stands where its folder would be.
func contains(a, b RefName) bool { return a == b || strings.HasPrefix(string(b), string(a)+"/") }

func (r *Repo) refFile(name RefName) string {
	return filepath.Join(r.path, filepath.FromSlash(string(name)))
}

// mayName reports whether the new object is there, and a commit where a branch is to name it.
func mayName(ctx context.Context, u RefUpdate, objects Objects) bool {
	kind, err := objects.Kind(ctx, u.New)
	return err == nil && (kind == KindCommit || !u.Ref.IsBranch())
}

// writeValue writes the new value of a reference to a temporary file, where housekeeping
// finds what a crash leaves.
func (r *Repo) writeValue(id ObjectID) (string, error) {
	name := filepath.Join(r.path, "objects", fmt.Sprintf("tmp_ref-%d-%d", os.Getpid(), r.store.serial.Add(1)))
	err := writeFileSync(name, []byte(id.String()+"\n"), 0o640)
	if err != nil {
		_ = os.Remove(name) // a disk that is full took the name, but not the value
	}
	return name, err
}

// lockRef makes a written value the lock of its reference, unless there is one, and says
// whether a folder had to be made for it. A process that deletes references removes folders that
// are empty, at any moment. A lock that a crash left is harmless.
func (r *Repo) lockRef(tmp, lock string) (made bool, err error) {
	for range 3 {
		switch err = unix.Renameat2(unix.AT_FDCWD, tmp, unix.AT_FDCWD, lock, unix.RENAME_NOREPLACE); {
		case errors.Is(err, fs.ErrNotExist):
			if err := os.MkdirAll(filepath.Dir(lock), 0o750); err != nil {
				return made, err
			}
			made = true
		case errors.Is(err, fs.ErrExist) && r.dropStaleLock(lock):
		default:
			return made, err
		}
	}
	return made, err
}

// standsAt reports whether a reference that is locked has its expected value, or that none
// is in the way of one to be made.
func (r *Repo) standsAt(u RefUpdate) bool {
	at, next, err := r.readLooseRef(u.Ref)
	if next != "" || err != nil && !errors.Is(err, ErrNotFound) {
		return false
	}
	packed, perr := r.packed()
	if perr != nil {
		return false
	}
	if err != nil {
		p, ok := packed.find(u.Ref)
		if !ok {
			// After the look at the folder: moveMany removes empty ones when packed-refs is written.
			if !r.hasNoFile(u.Ref) {
				return false
			}
			packed, err := r.packed()
			return err == nil && (u.AnyOld || u.Old.IsZero()) && packed.isFree(u.Ref)
		}
		at = p.ID
		// Where its file is to go there may be a folder that has become empty.
		if _, err := os.Lstat(r.refFile(u.Ref)); err == nil {
			return false
		}
	}
	return u.AnyOld || at == u.Old
}

// hasNoFile reports whether neither a file nor a folder stands where the file of a
// reference would be. Its lock is there, so its folders are.
func (r *Repo) hasNoFile(name RefName) bool {
	_, err := os.Lstat(r.refFile(name))
	return errors.Is(err, fs.ErrNotExist)
}

// isFree reports whether no packed reference stands where the folders of a new one would
// be, nor below it.
func (p *packedRefs) isFree(name RefName) bool {
	below := name + "/"
	if i := p.from(below); i < len(p.refs) && strings.HasPrefix(string(p.refs[i].Name), string(below)) {
		return false
	}
	for i := range name {
		if name[i] != '/' {
			continue
		}
		if _, taken := p.find(name[:i]); taken {
			return false
		}
	}
	return true
}

// syncRefs makes the names durable that have moved, with the folders above them where some
// are new.
func (r *Repo) syncRefs(updates []RefUpdate, made bool) error {
	done := map[string]bool{}
	for _, u := range updates {
		for dir := filepath.Dir(r.refFile(u.Ref)); len(dir) >= len(r.path) && !done[dir]; dir = filepath.Dir(dir) {
			done[dir] = true
			err := syncDir(dir)
			gone := errors.Is(err, fs.ErrNotExist) // packed meanwhile, with the folder that was left empty
			if err != nil && !gone {
				return err
			}
			if !made && !gone {
				break
			}
		}
	}
	return nil
}

package gitstore

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// How long a lock that another process holds is waited for, as the settings of git say.
const (
	refLockPatience    = 3 * time.Second
	packedLockPatience = 5 * time.Second
)

// manyFolders is from how many folders on the file system is synced as a whole.
const manyFolders = 16

// packedUpdate is a transaction that writes its new values to packed-refs, all of them at
// once. It holds the lock of each reference, as git does, and that of packed-refs.
type packedUpdate struct {
	repo    *Repo
	updates []RefUpdate // sorted by name
	peeled  map[ObjectID]ObjectID
	locks   []string         // lock files that were made
	file    string           // all locks are names of this one
	loose   []string         // references of the updates that have a file of their own
	clear   map[RefName]bool // folders whose names are not locked as references
}

// moveMany moves or deletes references by replacing packed-refs once, without a process
// for each and with a constant number of syncs. Where something is out of the ordinary,
// such as a value that is not the expected one, it is ErrUnsure and nothing has changed.
func (r *Repo) moveMany(ctx context.Context, updates []RefUpdate, objects Objects) error {
	u := &packedUpdate{repo: r, updates: slices.Clone(updates), clear: map[RefName]bool{}}
	slices.SortFunc(u.updates, func(a, b RefUpdate) int { return cmp.Compare(a.Ref, b.Ref) })
	if u.collide() {
		return ErrUnsure
	}
	var err error
	if u.peeled, err = mayNameMany(ctx, u.updates, objects); err != nil {
		return err
	}
	defer u.release()
	if err := u.lock(ctx); err != nil {
		return err
	}
	packed, err := r.packed()
	if err != nil {
		return ErrUnsure
	}
	if err := u.verify(packed); err != nil {
		return err
	}
	if u.changes(packed) {
		if err := u.write(packed); err != nil {
			return err
		}
	}
	return u.unlink()
}

// collide reports whether one name is there twice, or stands where the folder of another
// one would be.
func (u *packedUpdate) collide() bool {
	names := make(map[RefName]bool, len(u.updates))
	for _, c := range u.updates {
		if names[c.Ref] {
			return true
		}
		names[c.Ref] = true
	}
	for _, c := range u.updates {
		for i := range c.Ref {
			if c.Ref[i] == '/' && names[c.Ref[:i]] {
				return true
			}
		}
	}
	return false
}

// mayNameMany returns what the new values are once annotated tags are followed. A missing
// object, and a branch of anything but a commit, are ErrUnsure.
func mayNameMany(ctx context.Context, updates []RefUpdate, objects Objects) (map[ObjectID]ObjectID, error) {
	asked := make(map[ObjectID]bool, len(updates))
	var ask []ObjectID
	for _, u := range updates {
		if !u.New.IsZero() && !asked[u.New] {
			asked[u.New] = true
			ask = append(ask, u.New)
		}
	}
	if len(ask) == 0 {
		return nil, nil
	}
	found, err := objects.Peeled(ctx, ask)
	if err != nil {
		return nil, err
	}
	peeled := make(map[ObjectID]ObjectID, len(found))
	for id, info := range found {
		peeled[id] = info.ID
	}
	for _, u := range updates {
		if u.New.IsZero() {
			continue
		}
		info, ok := found[u.New]
		isCommit := info.Kind == KindCommit && info.ID == u.New
		if !ok || u.Ref.IsBranch() && !isCommit {
			return nil, ErrUnsure
		}
	}
	return peeled, nil
}

// lock takes the locks of the references in the order of their names, then that of
// packed-refs.
func (u *packedUpdate) lock(ctx context.Context) error {
	// One file with many names: where thousands of files have just been deleted, as the
	// locks of the push before, ext4 takes its time to find place for new ones.
	file := filepath.Join(u.repo.path, "objects", fmt.Sprintf("tmp_lock-%d-%d", os.Getpid(), u.repo.store.serial.Add(1)))
	if os.WriteFile(file, nil, 0o600) != nil {
		return ErrUnsure
	}
	u.file = file
	for _, c := range u.updates {
		if err := u.take(ctx, u.repo.refFile(c.Ref)+".lock", refLockPatience); err != nil {
			return err
		}
	}
	return u.take(ctx, filepath.Join(u.repo.path, "packed-refs.lock"), packedLockPatience)
}

// take makes one lock file, and waits for another process that holds it.
func (u *packedUpdate) take(ctx context.Context, lock string, patience time.Duration) error {
	var end time.Time
	for tries := 0; ; {
		err := os.Link(u.file, lock)
		if errors.Is(err, syscall.EMLINK) || errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.ENOTSUP) {
			err = createNew(lock) // more names than a file may have, or a file system without
		}
		switch {
		case err == nil:
			u.locks = append(u.locks, lock)
			return nil
		case errors.Is(err, fs.ErrNotExist) && tries < maxPlacing: // a folder that others remove as soon as it is empty
			tries++
			if os.MkdirAll(filepath.Dir(lock), 0o750) != nil {
				return ErrUnsure
			}
			continue
		case !errors.Is(err, fs.ErrExist):
			return ErrUnsure
		}
		if u.repo.dropStaleLock(lock) {
			continue
		}
		if end.IsZero() {
			end = time.Now().Add(patience)
		} else if time.Now().After(end) {
			return ErrUnsure
		}
		select {
		case <-time.After(10 * time.Millisecond):
		case <-ctx.Done():
			return fmt.Errorf("wait for lock: %w", context.Cause(ctx))
		}
	}
}

// createNew makes an empty file where there is none.
func createNew(name string) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	return f.Close()
}

// verify compares the references with the expected values, now that they are locked.
func (u *packedUpdate) verify(packed *packedRefs) error {
	for _, c := range u.updates {
		at, next, err := u.repo.readLooseRef(c.Ref)
		if next != "" || err != nil && !errors.Is(err, ErrNotFound) {
			return ErrUnsure
		}
		if err == nil {
			u.loose = append(u.loose, u.repo.refFile(c.Ref))
		} else {
			p, ok := packed.find(c.Ref)
			at = p.ID
			switch {
			case !ok && c.New.IsZero(): // there is nothing to delete
				return ErrUnsure
			case !ok && !(u.repo.hasNoFile(c.Ref) && packed.isFree(c.Ref) && u.undisputed(c.Ref)):
				return ErrUnsure
			}
		}
		if !c.AnyOld && at != c.Old {
			return ErrUnsure
		}
	}
	return nil
}

// undisputed reports whether no other process is about to make a reference where the
// folders of a new one would be. The folders exist until the locks are released.
func (u *packedUpdate) undisputed(name RefName) bool {
	for i := range name {
		if name[i] != '/' || strings.Count(string(name[:i]), "/") < 2 || u.clear[name[:i]] {
			continue
		}
		if _, err := os.Lstat(u.repo.refFile(name[:i]) + ".lock"); !errors.Is(err, fs.ErrNotExist) {
			return false
		}
		u.clear[name[:i]] = true
	}
	return true
}

// changes reports whether packed-refs will differ: it does not where only references are
// deleted that have nothing but a file of their own.
func (u *packedUpdate) changes(packed *packedRefs) bool {
	return slices.ContainsFunc(u.updates, func(c RefUpdate) bool {
		_, there := packed.find(c.Ref)
		return there || !c.New.IsZero()
	})
}

// write replaces packed-refs, durably, while its lock is held.
func (u *packedUpdate) write(packed *packedRefs) error {
	name := filepath.Join(u.repo.path, newPackedRefs)
	_ = os.Remove(name) // git was killed over it; the lock is ours
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o640)
	if err != nil {
		return fmt.Errorf("write packed references: %w", err)
	}
	err = u.merge(f, packed)
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = os.Rename(name, filepath.Join(u.repo.path, "packed-refs"))
	}
	if err != nil {
		_ = os.Remove(name)
		return fmt.Errorf("write packed references: %w", err)
	}
	// Before the files of references go: whatever a crash leaves, each has a value.
	return syncDir(u.repo.path)
}

// merge writes what packed-refs holds with the updates in it.
func (u *packedUpdate) merge(f io.Writer, packed *packedRefs) error {
	out := bufio.NewWriterSize(f, 64<<10)
	traits := "sorted"
	if packed.whole || len(packed.refs) == 0 {
		traits = "peeled fully-peeled sorted"
	}
	_, _ = out.WriteString("# pack-refs with: " + traits + " \n")
	put := func(p Ref) {
		_, _ = out.WriteString(p.ID.String() + " " + string(p.Name) + "\n")
		if !p.Peeled.IsZero() && p.Peeled != p.ID {
			_, _ = out.WriteString("^" + p.Peeled.String() + "\n")
		}
	}
	rest := packed.refs
	for _, c := range u.updates {
		for len(rest) > 0 && rest[0].Name < c.Ref {
			put(rest[0])
			rest = rest[1:]
		}
		if len(rest) > 0 && rest[0].Name == c.Ref {
			rest = rest[1:]
		}
		if !c.New.IsZero() {
			put(Ref{Name: c.Ref, ID: c.New, Peeled: u.peeled[c.New]})
		}
	}
	for _, p := range rest {
		put(p)
	}
	return out.Flush()
}

// unlink removes the files of the references, whose values packed-refs has or no longer
// has, and makes that durable.
func (u *packedUpdate) unlink() error {
	if len(u.loose) == 0 {
		return nil
	}
	folders := map[string]bool{}
	for _, name := range u.loose {
		folders[filepath.Dir(name)] = true
		if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("remove file of reference: %w", err)
		}
	}
	if len(folders) >= manyFolders {
		return syncFS(u.repo.path)
	}
	for dir := range folders {
		if err := syncDir(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// release removes the locks, that of packed-refs first, and the folders that they leave
// empty.
func (u *packedUpdate) release() {
	if u.file != "" {
		_ = os.Remove(u.file)
	}
	for _, lock := range slices.Backward(u.locks) {
		_ = os.Remove(lock)
	}
	done := map[string]bool{}
	for _, lock := range u.locks {
		for dir := filepath.Dir(lock); !done[dir] && u.repo.prunable(dir); dir = filepath.Dir(dir) {
			done[dir] = true
			if err := syscall.Rmdir(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
				break // there are others in it
			}
		}
	}
}

// prunable reports whether a folder of references may go when it is empty: those right
// below refs/ stay, as git has it.
func (r *Repo) prunable(dir string) bool {
	rel, err := filepath.Rel(r.path, dir)
	return err == nil && strings.Count(filepath.ToSlash(rel), "/") >= 2 && strings.HasPrefix(rel, "refs"+string(filepath.Separator))
}

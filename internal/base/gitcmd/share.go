package gitcmd

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Pool makes r, where nothing may stand yet, a repository of the branches and tags of
// from: of all that can be reached from them and of nothing else. Others may then Link to
// it. A pool is never written again.
func (r *Repo) Pool(ctx context.Context, from *Repo) error {
	if r.Exists() {
		return fmt.Errorf("make pool: %w", ErrExists)
	}
	var refs []Ref
	for _, prefix := range []string{Branches, Tags} {
		some, err := from.Refs(ctx, prefix)
		if err != nil {
			return fmt.Errorf("make pool: %w", err)
		}
		refs = append(refs, some...)
	}
	if err := os.MkdirAll(filepath.Dir(r.path), 0o750); err != nil {
		return fmt.Errorf("make pool: %w", err)
	}
	// It appears whole: a crash leaves a folder nobody looks at.
	tmp, err := os.MkdirTemp(filepath.Dir(r.path), ".init-*")
	if err != nil {
		return fmt.Errorf("make pool: %w", err)
	}
	defer func() { _ = os.RemoveAll(tmp) }()
	if err := writeSkeleton(tmp, RefName(Branches+"main")); err != nil {
		return fmt.Errorf("make pool: %w", err)
	}
	made := &Repo{git: r.git, path: tmp}
	ids := make([]ObjectID, len(refs))
	for i, ref := range refs {
		ids[i] = ref.ID
	}
	copied, err := made.Copy(ctx, from, ids)
	if err != nil {
		return fmt.Errorf("make pool: %w", err)
	}
	if err := made.Begin(ctx, refs); err != nil {
		return fmt.Errorf("make pool: %w", err)
	}
	if copied >= bitmapFrom {
		if err := made.Maintain(ctx, Maintenance{Full: true}); err != nil {
			return fmt.Errorf("make pool: %w", err)
		}
	}
	r.git.forget(made)
	if err := os.Rename(tmp, r.path); err != nil {
		return fmt.Errorf("make pool: %w", err)
	}
	return syncDir(filepath.Dir(r.path))
}

// bitmapFrom is how many bytes of objects make a bitmap worth its while.
const bitmapFrom = 1 << 20

// looseUpTo is how many copied objects become files of their own rather than a pack.
const looseUpTo = 100

// maxHaves bounds the references that tell which objects need no copy.
const maxHaves = 10_000

// Copy brings everything that can be reached from the wanted objects of another
// repository into r, but for what the references of r, or of the pool it is linked to,
// reach already. It moves no reference and gives the bytes that were copied; into a
// quarantine where r is one's view. What from does not have is ErrNotFound.
func (r *Repo) Copy(ctx context.Context, from *Repo, want []ObjectID) (int64, error) {
	have, err := r.haves(ctx, from)
	if err != nil {
		return 0, fmt.Errorf("copy objects: %w", err)
	}
	var in strings.Builder
	asked := make(map[ObjectID]bool, len(want))
	for _, id := range want {
		if !asked[id] && !have[id] {
			asked[id] = true
			in.WriteString(id.String() + "\n")
		}
	}
	if len(asked) == 0 {
		return 0, nil
	}
	in.WriteString("--not\n")
	for id := range have {
		in.WriteString(id.String() + "\n")
	}
	pack, err := r.git.stream(ctx, call{
		repo: from.main(), config: modest(), load: long, stdin: strings.NewReader(in.String()),
		args: []string{"pack-objects", "--revs", "--thin", "--delta-base-offset", "--stdout", "--quiet"},
	})
	if err != nil {
		return 0, fmt.Errorf("copy objects: %w", err)
	}
	n, err := r.receive(ctx, pack)
	if err = errors.Join(err, pack.Close()); err != nil {
		return 0, missing(fmt.Errorf("copy objects: %w", err))
	}
	return n, nil
}

// haves lists what need not be copied: all that it reaches is in r.
func (r *Repo) haves(ctx context.Context, from *Repo) (map[ObjectID]bool, error) {
	sides := []*Repo{r.main()}
	pool, err := r.Linked()
	if err != nil {
		return nil, err
	}
	if pool != nil {
		sides = append(sides, pool)
	}
	have := make(map[ObjectID]bool)
	for _, side := range sides {
		names, err := side.refNames(ctx, "refs/")
		if err != nil {
			return nil, err
		}
		for _, ref := range names {
			if len(have) == maxHaves {
				break
			}
			if have[ref.id] {
				continue
			}
			_, err := from.Info(ctx, ref.id)
			if errors.Is(err, ErrNotFound) {
				continue
			}
			if err != nil {
				return nil, err
			}
			have[ref.id] = true
		}
	}
	return have, nil
}

// receive stores the objects of a pack that may lack what r has.
func (r *Repo) receive(ctx context.Context, pack io.Reader) (int64, error) {
	in := bufio.NewReader(pack)
	head, err := in.Peek(12) // "PACK", version, number of objects
	if err != nil {
		return 0, err
	}
	number := binary.BigEndian.Uint32(head[8:])
	args := []string{"index-pack", "--stdin", "--fix-thin"}
	switch {
	case number == 0:
		_, err := io.Copy(io.Discard, in)
		return 0, err
	case number < looseUpTo:
		args = []string{"unpack-objects", "-q"}
	}
	counted := &countingReader{in: in}
	// It runs beside the process that makes the pack, so it does not wait for the same permits.
	err = r.git.run(ctx, call{repo: r, config: modest(), args: args, stdin: counted, stdout: io.Discard})
	return counted.n, err
}

type countingReader struct {
	in io.Reader
	n  int64
}

func (c *countingReader) Read(p []byte) (int, error) {
	n, err := c.in.Read(p)
	c.n += int64(n)
	return n, err
}

// Begin gives a repository without references its first ones, all at once. Where there
// are some already it is ErrExists.
func (r *Repo) Begin(ctx context.Context, refs []Ref) error {
	if len(refs) == 0 {
		return nil
	}
	var out strings.Builder
	out.WriteString("# pack-refs with: peeled fully-peeled sorted \n")
	for i, ref := range refs {
		if err := ref.Name.check(); err != nil {
			return err
		}
		if i > 0 && refs[i-1].Name >= ref.Name {
			return fmt.Errorf("first references: not in order: %w", ErrBadName)
		}
		fmt.Fprintf(&out, "%s %s\n", ref.ID, ref.Name)
		if ref.Annotated() {
			fmt.Fprintf(&out, "^%s\n", ref.Peeled)
		}
	}
	name := filepath.Join(r.path, "packed-refs")
	lock := name + ".lock" // as git takes it
	err := writeFileSync(lock, []byte(out.String()), 0o640)
	if errors.Is(err, fs.ErrExist) && r.dropStaleLocks(nil) {
		err = writeFileSync(lock, []byte(out.String()), 0o640)
	}
	if err != nil {
		return fmt.Errorf("first references: %w", err)
	}
	some, err := r.HasRefs(ctx, "refs/")
	if err == nil && some {
		err = ErrExists
	}
	if err == nil {
		err = os.Rename(lock, name)
	}
	if err != nil {
		_ = os.Remove(lock)
		return fmt.Errorf("first references: %w", err)
	}
	return syncDir(r.path)
}

// Link lets the repository read the objects of a pool beside its own. The pool must stay
// until Unlink.
func (r *Repo) Link(ctx context.Context, pool *Repo) error {
	release, err := r.tend(ctx)
	if err != nil {
		return err
	}
	defer release()
	switch other, err := pool.Linked(); {
	case err != nil:
		return err
	case !pool.Exists():
		return fmt.Errorf("link to pool: %w", ErrNotFound)
	case other != nil || pool.path == r.path:
		return fmt.Errorf("link to pool: borrows objects itself: %w", ErrBadName)
	}
	// Relative, so that the data folder can be moved.
	path, err := filepath.Rel(filepath.Join(r.path, "objects"), filepath.Join(pool.path, "objects"))
	if err != nil || strings.ContainsAny(path, "\n\"#") {
		return fmt.Errorf("link to pool: path %q: %w", clip(path), ErrBadName)
	}
	name := r.alternates()
	if err := os.MkdirAll(filepath.Dir(name), 0o750); err != nil {
		return fmt.Errorf("link to pool: %w", err)
	}
	tmp := fmt.Sprintf("%s.tmp-%d-%d", name, os.Getpid(), r.git.serial.Add(1))
	err = writeFileSync(tmp, []byte(path+"\n"), 0o640)
	if err == nil {
		err = os.Rename(tmp, name)
	}
	if err != nil {
		_ = os.Remove(tmp)
		return fmt.Errorf("link to pool: %w", err)
	}
	r.Recycle()
	return syncDir(filepath.Dir(name))
}

func (r *Repo) alternates() string { return filepath.Join(r.path, "objects", "info", "alternates") }

// Linked gives the pool whose objects the repository reads, nil for none. A link that
// leaves the root, or that is not one of ours, is an error.
func (r *Repo) Linked() (*Repo, error) {
	content, err := os.ReadFile(r.alternates())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read link to pool: %w", err)
	}
	line, rest, _ := strings.Cut(string(content), "\n")
	objects := filepath.Join(r.path, "objects", line)
	rel, err := filepath.Rel(r.git.config.Root, objects)
	if err != nil || rest != "" || filepath.IsAbs(line) || !filepath.IsLocal(rel) || filepath.Base(rel) != "objects" {
		return nil, fmt.Errorf("link to pool %q: %w", clip(string(content)), ErrBadName)
	}
	return r.git.Repo(filepath.Dir(rel)), nil
}

// Unlink ends the link to a pool. The repository first gets all that the pool holds, so
// that whoever reads or writes meanwhile misses nothing; housekeeping drops in time what
// it does not need.
func (r *Repo) Unlink(ctx context.Context) error {
	release, err := r.tend(ctx)
	if err != nil {
		return err
	}
	defer release()
	pool, err := r.Linked()
	if err != nil || pool == nil {
		return err
	}
	if err := r.adopt(ctx, filepath.Join(pool.path, "objects")); err != nil {
		return fmt.Errorf("take objects of pool: %w", err)
	}
	if err := os.Remove(r.alternates()); err != nil {
		return fmt.Errorf("unlink from pool: %w", err)
	}
	r.Recycle()
	return syncDir(filepath.Dir(r.alternates()))
}

// adopt gives the repository the files of an objects folder, without copying them where
// the file system allows it: a pack never changes.
func (r *Repo) adopt(ctx context.Context, objects string) error {
	files, err := objectFiles(objects)
	if err != nil {
		return err
	}
	place := placeIn(filepath.Join(r.path, "objects"))
	for _, name := range files {
		if err := ctx.Err(); err != nil {
			return err
		}
		loose := len(name) == len("ab/")+38 && isHex(strings.Replace(name, "/", "", 1))
		switch filepath.Ext(name) {
		case ".pack", ".rev", ".idx":
		default: // bitmaps and the like belong to the whole repository
			if !loose {
				continue
			}
		}
		target := filepath.Join(place.objects, name)
		if _, err := os.Lstat(target); err == nil {
			continue // the name says what is in it
		}
		tmp := filepath.Join(place.objects, fmt.Sprintf("tmp_adopt-%d-%d", os.Getpid(), r.git.serial.Add(1)))
		if err := linkOrCopy(filepath.Join(objects, name), tmp); err != nil {
			return err
		}
		if err := place.put(tmp, target); err != nil {
			_ = os.Remove(tmp)
			return err
		}
	}
	return place.sync()
}

// linkOrCopy gives a file a second name, or copies it durably where it cannot have one.
func linkOrCopy(from, to string) error {
	if os.Link(from, to) == nil {
		return nil
	}
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o440)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	if err = errors.Join(err, out.Sync(), out.Close()); err != nil {
		_ = os.Remove(to)
	}
	return err
}

// tend waits until nobody else repacks the repository or changes what it borrows; give
// way by calling the function.
func (r *Repo) tend(ctx context.Context) (release func(), err error) {
	var sum uint32
	for i := range len(r.path) {
		sum = sum*31 + uint32(r.path[i])
	}
	lane := r.git.tending[sum%uint32(len(r.git.tending))]
	select {
	case lane <- struct{}{}:
		return func() { <-lane }, nil
	case <-ctx.Done():
		return nil, fmt.Errorf("wait for housekeeping: %w", context.Cause(ctx))
	}
}

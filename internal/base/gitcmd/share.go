package gitcmd

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync/atomic"

	"tenon/internal/base/gitstore"
)

// Pool makes r, where nothing may stand yet, a repository of the branches and tags of
// from: of all that can be reached from them and of nothing else. Others may then Link to
// it. A pool is never written again.
func (r *Repo) Pool(ctx context.Context, from *Repo) error {
	if r.Exists() {
		return fmt.Errorf("make pool: %w", gitstore.ErrExists)
	}
	var refs []gitstore.Ref
	for _, prefix := range []string{gitstore.Branches, gitstore.Tags} {
		some, err := from.Refs(ctx, prefix)
		if err != nil {
			return fmt.Errorf("make pool: %w", err)
		}
		refs = append(refs, some...)
	}
	err := r.Create(ctx, gitstore.RefName(gitstore.Branches+"main"), func(unseen *gitstore.Repo) error {
		made := &Repo{Repo: unseen, git: r.git}
		defer r.git.forget(made)
		return made.fillPool(ctx, from, refs)
	})
	if err != nil {
		return fmt.Errorf("make pool: %w", err)
	}
	return nil
}

// fillPool gives a repository that has just been made the references and their objects.
func (r *Repo) fillPool(ctx context.Context, from *Repo, refs []gitstore.Ref) error {
	ids := make([]gitstore.ObjectID, len(refs))
	for i, ref := range refs {
		ids[i] = ref.ID
	}
	copied, err := r.Copy(ctx, from, ids)
	if err != nil {
		return err
	}
	if err := r.Begin(ctx, refs); err != nil {
		return err
	}
	if copied < bitmapFrom {
		return nil
	}
	return r.Maintain(ctx, Maintenance{Full: true})
}

// bitmapFrom is how many bytes of objects make a bitmap worth its while.
const bitmapFrom = 1 << 20

// looseUpTo is how many copied objects become files of their own rather than a pack.
const looseUpTo = 100

// maxHaves bounds the references that tell which objects need no copy.
const maxHaves = 10_000

// Copy brings everything that can be reached from the wanted objects of another
// repository into r, but for what the references of r, or of the pool it is linked to,
// reach already. It moves no reference and returns the bytes that were copied; into a
// quarantine where r is one's view. What from does not have is ErrNotFound.
func (r *Repo) Copy(ctx context.Context, from *Repo, want []gitstore.ObjectID) (int64, error) {
	have, err := r.haves(ctx, from)
	if err != nil {
		return 0, fmt.Errorf("copy objects: %w", err)
	}
	var in strings.Builder
	asked := make(map[gitstore.ObjectID]bool, len(want))
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
func (r *Repo) haves(ctx context.Context, from *Repo) (map[gitstore.ObjectID]bool, error) {
	sides := []*Repo{r.main()}
	pool, err := r.Linked()
	if err != nil {
		return nil, err
	}
	if pool != nil {
		sides = append(sides, pool)
	}
	have := make(map[gitstore.ObjectID]bool)
	for _, side := range sides {
		names, err := side.RefNames(ctx, "refs/")
		if err != nil {
			return nil, err
		}
		for _, ref := range names {
			if len(have) == maxHaves {
				break
			}
			if have[ref.ID] {
				continue
			}
			_, err := from.Info(ctx, ref.ID)
			if errors.Is(err, gitstore.ErrNotFound) {
				continue
			}
			if err != nil {
				return nil, err
			}
			have[ref.ID] = true
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
	return counted.n.Load(), err
}

// countingReader counts what is read. git may end before the last read returns.
type countingReader struct {
	in io.Reader
	n  atomic.Int64
}

func (c *countingReader) Read(p []byte) (int, error) {
	n, err := c.in.Read(p)
	c.n.Add(int64(n))
	return n, err
}

// Link lets the repository read the objects of a pool beside its own. The pool must stay
// until Unlink.
func (r *Repo) Link(ctx context.Context, pool *Repo) error {
	release, err := r.tend(ctx)
	if err != nil {
		return err
	}
	defer release()
	defer r.Recycle()
	return r.Repo.Link(pool.Repo)
}

// Linked returns the pool whose objects the repository reads, nil for none. A link that
// leaves the root, or that is not one of ours, is an error.
func (r *Repo) Linked() (*Repo, error) {
	pool, err := r.Repo.Linked()
	if pool == nil || err != nil {
		return nil, err
	}
	return &Repo{Repo: pool, git: r.git}, nil
}

// Unlink ends the link to a pool. The repository first gets all that the pool holds, so
// that a process that reads or writes meanwhile misses nothing; housekeeping drops in time what
// it does not need.
func (r *Repo) Unlink(ctx context.Context) error {
	release, err := r.tend(ctx)
	if err != nil {
		return err
	}
	defer release()
	defer r.Recycle()
	return r.Repo.Unlink(ctx)
}

// tend waits until no other process repacks the repository or changes what it borrows; give
// way by calling the function.
func (r *Repo) tend(ctx context.Context) (release func(), err error) {
	var sum uint32
	for i := range len(r.Path()) {
		sum = sum*31 + uint32(r.Path()[i])
	}
	lane := r.git.tending[sum%uint32(len(r.git.tending))]
	select {
	case lane <- struct{}{}:
		return func() { <-lane }, nil
	case <-ctx.Done():
		return nil, fmt.Errorf("wait for housekeeping: %w", context.Cause(ctx))
	}
}

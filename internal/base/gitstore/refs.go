package gitstore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"syscall"

	"tenon/internal/base/intx"
)

// Ref is a reference and what it names.
type Ref struct {
	Name   RefName
	ID     ObjectID // what it holds: for an annotated tag the tag object
	Peeled ObjectID // what is left after following annotated tags: usually a commit; zero where RefNames does not know
}

// Annotated reports whether the reference names an annotated tag.
func (r Ref) Annotated() bool { return r.ID != r.Peeled }

// maxSymbolic bounds references that name references.
const maxSymbolic = 5

// Ref reads one reference as it is now, without starting a process; ErrNotFound
// where there is none, which includes the HEAD of an empty repository.
func (r *Repo) Ref(ctx context.Context, name RefName) (ObjectID, error) {
	intx.MustNot(ctx, "references are read")
	if err := name.check(); err != nil {
		return ObjectID{}, err
	}
	for range maxSymbolic {
		if err := ctx.Err(); err != nil {
			return ObjectID{}, fmt.Errorf("read reference: %w", err)
		}
		id, next, err := r.readLooseRef(name)
		switch {
		case err == nil && next == "":
			return id, nil
		case err == nil:
			name = next
			continue
		case !errors.Is(err, ErrNotFound):
			return ObjectID{}, err
		}
		// The loose file first and packed-refs after it: packing writes in the opposite order.
		packed, err := r.packed()
		if err != nil {
			return ObjectID{}, err
		}
		if p, ok := packed.find(name); ok {
			return p.ID, nil
		}
		return ObjectID{}, fmt.Errorf("reference %q: %w", name, ErrNotFound)
	}
	return ObjectID{}, fmt.Errorf("reference %q: symbolic too often: %w", name, ErrNotFound)
}

// readLooseRef reads the file of a reference: an id, or the name of another reference.
func (r *Repo) readLooseRef(name RefName) (ObjectID, RefName, error) {
	content, err := os.ReadFile(filepath.Join(r.path, filepath.FromSlash(string(name))))
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR), errors.Is(err, syscall.EISDIR), errors.Is(err, syscall.ENAMETOOLONG):
		return ObjectID{}, "", fmt.Errorf("reference %q: %w", name, ErrNotFound)
	case err != nil:
		return ObjectID{}, "", fmt.Errorf("read reference %q: %w", name, err)
	}
	text := strings.TrimSpace(string(content))
	if target, ok := strings.CutPrefix(text, "ref:"); ok {
		next, err := ParseRefName(strings.TrimSpace(target))
		return ObjectID{}, next, err
	}
	id, err := ParseObjectID(text)
	return id, "", err
}

// Head returns the branch that HEAD names, whether or not that branch exists yet.
func (r *Repo) Head(ctx context.Context) (RefName, error) {
	if err := ctx.Err(); err != nil {
		return "", fmt.Errorf("read HEAD: %w", err)
	}
	_, name, err := r.readLooseRef(HEAD)
	if err != nil {
		return "", err
	}
	if name == "" {
		return "", fmt.Errorf("HEAD names no branch: %w", ErrNotFound)
	}
	return name, nil
}

// Branch returns the commit of a branch by its short name.
func (r *Repo) Branch(ctx context.Context, name string) (ObjectID, error) {
	ref, err := BranchRef(name)
	if err != nil {
		return ObjectID{}, fmt.Errorf("branch %q: %w", clip(name), ErrNotFound)
	}
	return r.Ref(ctx, ref)
}

// HasRefs reports whether any reference lies below a prefix, without reading objects.
func (r *Repo) HasRefs(ctx context.Context, prefix string) (bool, error) {
	intx.MustNot(ctx, "references are read")
	names, err := r.RefNames(ctx, prefix)
	return len(names) > 0, err
}

// RefNames lists the references below a prefix such as refs/heads/ in the order of their
// bytes. It reads no objects: Peeled is zero for a tag unless packed-refs knows it.
func (r *Repo) RefNames(ctx context.Context, prefix string) ([]Ref, error) {
	intx.MustNot(ctx, "references are read")
	if !ValidPrefix(prefix) {
		return nil, fmt.Errorf("references below %q: %w", clip(prefix), ErrBadName)
	}
	loose, err := r.looseRefs(ctx, prefix)
	if err != nil {
		return nil, err
	}
	packed, err := r.packed()
	if err != nil {
		return nil, err
	}
	out := loose
	for _, p := range packed.refs[packed.from(RefName(prefix)):] {
		if !strings.HasPrefix(string(p.Name), prefix) {
			break
		}
		if i := sort.Search(len(loose), func(i int) bool { return loose[i].Name >= p.Name }); i < len(loose) && loose[i].Name == p.Name {
			continue
		}
		if p.Peeled.IsZero() && packed.whole {
			p.Peeled = p.ID
		}
		if p.Name.Valid() {
			out = append(out, p)
		}
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Name < out[j].Name })
	for i := range out {
		if out[i].Name.IsBranch() {
			out[i].Peeled = out[i].ID
		}
	}
	return out[:len(out):len(out)], nil
}

// looseRefs walks the files below a prefix, sorted by name.
func (r *Repo) looseRefs(ctx context.Context, prefix string) ([]Ref, error) {
	var out []Ref
	root := filepath.Join(r.path, filepath.FromSlash(prefix))
	err := filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
			return nil // deleted while we walk
		}
		if err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if d.IsDir() {
			return nil
		}
		rel, err := filepath.Rel(r.path, file)
		if err != nil {
			return err
		}
		name := RefName(filepath.ToSlash(rel))
		if !name.Valid() { // lock files among others
			return nil
		}
		id, err := r.Ref(ctx, name)
		if errors.Is(err, ErrNotFound) || errors.Is(err, ErrBadName) {
			return nil
		}
		if err != nil {
			return err
		}
		out = append(out, Ref{Name: name, ID: id})
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("list references: %w", err)
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Name < out[j].Name })
	return out, nil
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
	if errors.Is(err, fs.ErrExist) && r.DropTransactionLocks(nil) {
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

package gitcmd

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
)

// Ref is a reference and what it names.
type Ref struct {
	Name   RefName
	ID     ObjectID // what it holds: for an annotated tag the tag object
	Peeled ObjectID // what is left after following annotated tags: usually a commit
}

// Annotated reports whether the reference names an annotated tag.
func (r Ref) Annotated() bool { return r.ID != r.Peeled }

// maxSymbolic bounds references that name references.
const maxSymbolic = 5

// Ref reads one reference as it is now, without starting a process; ErrNotFound
// where there is none, which includes the HEAD of an empty repository.
func (r *Repo) Ref(ctx context.Context, name RefName) (ObjectID, error) {
	if err := name.check(); err != nil {
		return ObjectID{}, err
	}
	for range maxSymbolic {
		if err := ctx.Err(); err != nil {
			return ObjectID{}, fmt.Errorf("read reference: %w", err)
		}
		id, next, err := r.readLooseRef(string(name))
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
		if p, ok := packed.find(string(name)); ok {
			return p.id, nil
		}
		return ObjectID{}, fmt.Errorf("reference %q: %w", name, ErrNotFound)
	}
	return ObjectID{}, fmt.Errorf("reference %q: symbolic too often: %w", name, ErrNotFound)
}

// readLooseRef reads the file of a reference: an id, or the name of another reference.
func (r *Repo) readLooseRef(name string) (ObjectID, RefName, error) {
	content, err := os.ReadFile(filepath.Join(r.path, filepath.FromSlash(name)))
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

// Head gives the branch that HEAD names, whether or not that branch exists yet.
func (r *Repo) Head(ctx context.Context) (RefName, error) {
	if err := ctx.Err(); err != nil {
		return "", fmt.Errorf("read HEAD: %w", err)
	}
	_, name, err := r.readLooseRef(string(HEAD))
	if err != nil {
		return "", err
	}
	if name == "" {
		return "", fmt.Errorf("HEAD names no branch: %w", ErrNotFound)
	}
	return name, nil
}

// SetHead makes HEAD name a branch, which need not exist.
func (r *Repo) SetHead(ctx context.Context, branch RefName) error {
	if err := branch.check(); err != nil {
		return err
	}
	if !branch.IsBranch() {
		return fmt.Errorf("HEAD to %q: no branch: %w", branch, ErrBadName)
	}
	return r.git.run(ctx, call{repo: r.main(), args: []string{"symbolic-ref", "HEAD", string(branch)}})
}

// Branch gives the commit of a branch by its short name.
func (r *Repo) Branch(ctx context.Context, name string) (ObjectID, error) {
	ref, err := BranchRef(name)
	if err != nil {
		return ObjectID{}, fmt.Errorf("branch %q: %w", clip(name), ErrNotFound)
	}
	return r.Ref(ctx, ref)
}

// Refs lists the references below a prefix such as refs/heads/ in the order of their
// bytes, annotated tags peeled. A reference that names no object is left out.
func (r *Repo) Refs(ctx context.Context, prefix string) ([]Ref, error) {
	names, err := r.refNames(ctx, prefix)
	if err != nil {
		return nil, err
	}
	refs := make([]Ref, 0, len(names))
	for _, n := range names {
		ref := Ref{Name: RefName(n.name), ID: n.id, Peeled: n.peeled}
		if ref.Peeled.IsZero() {
			info, err := r.Peel(ctx, n.id)
			if errors.Is(err, ErrNotFound) {
				continue
			}
			if err != nil {
				return nil, err
			}
			ref.Peeled = info.ID
		}
		refs = append(refs, ref)
	}
	return refs, nil
}

// HasRefs reports whether any reference lies below a prefix, without reading objects.
func (r *Repo) HasRefs(ctx context.Context, prefix string) (bool, error) {
	names, err := r.refNames(ctx, prefix)
	return len(names) > 0, err
}

// refNames merges the loose files and packed-refs below a prefix. A branch needs no
// peeling, and packed-refs knows which of its tags do.
func (r *Repo) refNames(ctx context.Context, prefix string) ([]packedRef, error) {
	if !validPrefix(prefix) {
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
	for _, p := range packed.refs[packed.from(prefix):] {
		if !strings.HasPrefix(p.name, prefix) {
			break
		}
		if i := sort.Search(len(loose), func(i int) bool { return loose[i].name >= p.name }); i < len(loose) && loose[i].name == p.name {
			continue
		}
		if p.peeled.IsZero() && packed.whole {
			p.peeled = p.id
		}
		if RefName(p.name).Valid() {
			out = append(out, p)
		}
	}
	sort.Slice(out, func(i, j int) bool { return out[i].name < out[j].name })
	for i := range out {
		if strings.HasPrefix(out[i].name, Branches) {
			out[i].peeled = out[i].id
		}
	}
	return out[:len(out):len(out)], nil
}

// looseRefs walks the files below a prefix, sorted by name.
func (r *Repo) looseRefs(ctx context.Context, prefix string) ([]packedRef, error) {
	var out []packedRef
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
		out = append(out, packedRef{name: string(name), id: id})
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("list references: %w", err)
	}
	sort.Slice(out, func(i, j int) bool { return out[i].name < out[j].name })
	return out, nil
}

// Revision is what a name given by a user stands for.
type Revision struct {
	Ref    RefName  // the reference it named; "" where it was an object id
	ID     ObjectID // what it names, an annotated tag unpeeled
	Commit ObjectID // the commit behind it
}

// Resolve finds the commit behind a name: a full object id, HEAD, a full reference
// name, heads/x or tags/x, a tag, a branch, another reference without its refs/, an
// abbreviated id of four digits or more, in this order. git would have the other
// references first: whoever may push refs/release/1 would stand before the branch
// release/1, which may be protected. Revision syntax is not understood. What names no
// commit is ErrNotFound.
func (r *Repo) Resolve(ctx context.Context, name string) (Revision, error) {
	if len(name) == 40 && isHex(name) {
		id, err := ParseObjectID(name)
		if err != nil {
			return Revision{}, err
		}
		return r.revision(ctx, "", id)
	}
	for _, full := range candidates(name) {
		ref := RefName(full)
		if !ref.Valid() {
			continue
		}
		id, err := r.Ref(ctx, ref)
		if err == nil {
			return r.revision(ctx, ref, id)
		}
		if !errors.Is(err, ErrNotFound) {
			return Revision{}, err
		}
	}
	if len(name) >= 4 && len(name) < 40 && isHex(name) {
		id, err := r.expand(ctx, name)
		if err == nil {
			return r.revision(ctx, "", id)
		}
		if !errors.Is(err, ErrNotFound) && !errors.Is(err, ErrAmbiguous) {
			return Revision{}, err
		}
	}
	return Revision{}, fmt.Errorf("revision %q: %w", clip(name), ErrNotFound)
}

// candidates gives the references a name may stand for, in the order of Resolve.
func candidates(name string) []string {
	if name == string(HEAD) {
		return []string{name}
	}
	if strings.HasPrefix(name, "-") {
		return nil
	}
	all := []string{Tags + name, Branches + name, "refs/" + name}
	if strings.HasPrefix(name, "heads/") || strings.HasPrefix(name, "tags/") {
		all = []string{"refs/" + name, Tags + name, Branches + name}
	}
	if strings.HasPrefix(name, "refs/") {
		all = append([]string{name}, all...)
	}
	return all
}

func (r *Repo) revision(ctx context.Context, ref RefName, id ObjectID) (Revision, error) {
	info, err := r.Peel(ctx, id)
	if err != nil {
		return Revision{}, err
	}
	if info.Kind != KindCommit {
		return Revision{}, fmt.Errorf("%s %s names no commit: %w", info.Kind, id, ErrNotFound)
	}
	return Revision{Ref: ref, ID: id, Commit: info.ID}, nil
}

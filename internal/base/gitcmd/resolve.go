package gitcmd

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"tenon/internal/base/gitstore"
)

// SetHead makes HEAD name a branch, which need not exist.
func (r *Repo) SetHead(ctx context.Context, branch gitstore.RefName) error {
	if _, err := gitstore.ParseRefName(string(branch)); err != nil {
		return err
	}
	if !branch.IsBranch() {
		return fmt.Errorf("HEAD to %q: no branch: %w", branch, gitstore.ErrBadName)
	}
	return r.git.run(ctx, call{repo: r.main(), args: []string{"symbolic-ref", "HEAD", string(branch)}})
}

// Refs lists the references below a prefix such as refs/heads/ in the order of their
// bytes, annotated tags peeled. A reference that names no object is left out.
func (r *Repo) Refs(ctx context.Context, prefix string) ([]gitstore.Ref, error) {
	names, err := r.RefNames(ctx, prefix)
	if err != nil {
		return nil, err
	}
	refs := make([]gitstore.Ref, 0, len(names))
	for _, ref := range names {
		if ref.Peeled.IsZero() {
			info, err := r.Peel(ctx, ref.ID)
			if errors.Is(err, gitstore.ErrNotFound) {
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

// Revision is what a name given by a user stands for.
type Revision struct {
	Ref    gitstore.RefName  // the reference it named; "" where it was an object id
	ID     gitstore.ObjectID // what it names, an annotated tag unpeeled
	Commit gitstore.ObjectID // the commit behind it
}

// Resolve finds the commit behind a name: a full object id, HEAD, a full reference
// name, heads/x or tags/x, a tag, a branch, another reference without its refs/, an
// abbreviated id of four digits or more, in this order. git would have the other
// references first: a user who may push refs/release/1 would stand before the branch
// release/1, which may be protected. Revision syntax is not understood. What names no
// commit is ErrNotFound.
func (r *Repo) Resolve(ctx context.Context, name string) (Revision, error) {
	if len(name) == 40 && gitstore.IsHex(name) {
		id, err := gitstore.ParseObjectID(name)
		if err != nil {
			return Revision{}, err
		}
		return r.revision(ctx, "", id)
	}
	for _, full := range candidates(name) {
		ref := gitstore.RefName(full)
		if !ref.Valid() {
			continue
		}
		id, err := r.Ref(ctx, ref)
		if err == nil {
			return r.revision(ctx, ref, id)
		}
		if !errors.Is(err, gitstore.ErrNotFound) {
			return Revision{}, err
		}
	}
	return r.abbreviated(ctx, name)
}

// abbreviated finds the commit of the beginning of an object id.
func (r *Repo) abbreviated(ctx context.Context, name string) (Revision, error) {
	if len(name) >= 4 && len(name) < 40 && gitstore.IsHex(name) {
		id, err := r.expand(ctx, name)
		if err == nil {
			return r.revision(ctx, "", id)
		}
		if !errors.Is(err, gitstore.ErrNotFound) && !errors.Is(err, gitstore.ErrAmbiguous) {
			return Revision{}, err
		}
	}
	return Revision{}, fmt.Errorf("revision %q: %w", clip(name), gitstore.ErrNotFound)
}

// candidates returns the references a name may stand for, in the order of Resolve.
func candidates(name string) []string {
	if name == string(gitstore.HEAD) {
		return []string{name}
	}
	if strings.HasPrefix(name, "-") {
		return nil
	}
	all := []string{gitstore.Tags + name, gitstore.Branches + name, "refs/" + name}
	if strings.HasPrefix(name, "heads/") || strings.HasPrefix(name, "tags/") {
		all = []string{"refs/" + name, gitstore.Tags + name, gitstore.Branches + name}
	}
	if strings.HasPrefix(name, "refs/") {
		all = append([]string{name}, all...)
	}
	return all
}

func (r *Repo) revision(ctx context.Context, ref gitstore.RefName, id gitstore.ObjectID) (Revision, error) {
	info, err := r.Peel(ctx, id)
	if err != nil {
		return Revision{}, err
	}
	if info.Kind != gitstore.KindCommit {
		return Revision{}, fmt.Errorf("%s %s names no commit: %w", info.Kind, id, gitstore.ErrNotFound)
	}
	return Revision{Ref: ref, ID: id, Commit: info.ID}, nil
}

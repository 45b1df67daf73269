package gitcmd

import (
	"context"

	"tenon/internal/base/gitstore"
)

// BuildTree makes the tree that results from changes to a base commit or tree (zero:
// the empty tree), and returns its id. Removals come first, so that a file may take the
// place of a removed folder and the other way round; folders left empty go away.
// ErrBadName is a path git would not check out, ErrNotFound a removal of nothing,
// ErrPathConflict a path through a file or a file in the place of a folder.
func (r *Repo) BuildTree(ctx context.Context, base gitstore.ObjectID, changes []gitstore.TreeChange) (gitstore.ObjectID, error) {
	root, err := r.treeOf(ctx, base)
	if err != nil {
		return gitstore.ObjectID{}, err
	}
	return r.Repo.BuildTree(ctx, r, root, changes)
}

// CreateTag stores an annotated tag durably and returns its id; UpdateRefs then makes
// the reference. No process is started unless the kind of the target is unknown.
func (r *Repo) CreateTag(ctx context.Context, in gitstore.TagInput) (gitstore.ObjectID, error) {
	if _, err := gitstore.TagRef(in.Name); err != nil {
		return gitstore.ObjectID{}, err
	}
	info, err := r.Info(ctx, in.Target)
	if err != nil {
		return gitstore.ObjectID{}, err
	}
	return r.WriteTag(ctx, in, info.Kind)
}

package repo

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"tenon/internal/base/gitcmd"
	"tenon/internal/base/gitstore"
	"tenon/internal/core/tree"
)

// TakeBundle fills the repository of a wiki or snippet from a bundle of an archive, branches alone, and returns the branch that is its
// default: the one that the repository has where there is one of its name. It is "" where the archive has no such file, or one that is
// left out, which is reported. It asks for no permission.
func (s *Service) TakeBundle(ctx context.Context, w *tree.Writing, a *Attached, from *os.Root, name string) (string, error) {
	r, err := s.OpenAttached(ctx, a)
	if err != nil {
		return "", err
	}
	there, err := fetchBundle(ctx, r, from, name)
	_, broken := errors.AsType[*gitcmd.Error](err)
	if errors.Is(err, ErrNoBundle) || broken {
		w.Leave("files", name, "the file is no bundle of git, or a broken one")
		return "", nil
	}
	if !there || err != nil {
		return "", err
	}
	branch, err := keepBranches(ctx, r, a.Branch)
	if err != nil {
		return "", fmt.Errorf("fill repository from bundle: %w", err)
	}
	return branch, s.measureAttached(ctx, a.ID, r)
}

// keepBranches removes references that are no branches, or misleading, and sets the default branch.
func keepBranches(ctx context.Context, r *gitcmd.Repo, prefer string) (string, error) {
	if err := dropMisleading(ctx, r); err != nil {
		return "", err
	}
	refs, err := r.Refs(ctx, "refs/")
	if err != nil {
		return "", err
	}
	branch := ""
	var gone []gitstore.RefUpdate
	for _, ref := range refs {
		if !strings.HasPrefix(string(ref.Name), gitstore.Branches) {
			gone = append(gone, gitstore.RefUpdate{Ref: ref.Name, AnyOld: true})
			continue
		}
		name := ref.Name.Short()
		if branch == "" || name == prefer || branch != prefer && (name == "main" || name == "master") {
			branch = name
		}
	}
	if err := r.UpdateRefs(ctx, gone); err != nil {
		return "", err
	}
	if branch == "" {
		return "", nil
	}
	ref, err := gitstore.BranchRef(branch)
	if err != nil {
		return "", err
	}
	return branch, r.SetHead(ctx, ref)
}

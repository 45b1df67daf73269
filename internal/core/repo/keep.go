package repo

import (
	"context"
	"errors"
	"fmt"

	"tenon/internal/base/gitstore"
	"tenon/internal/core/project"
)

// keepAround is where references stand that keep commits which comments or statuses
// name, whatever becomes of their branches.
const keepAround = "refs/keep-around/"

// KeepAround makes sure that a commit outlives its branches. It asks for no permission.
func (s *Service) KeepAround(ctx context.Context, p *project.Project, commit gitstore.ObjectID) error {
	r, err := s.Open(ctx, p)
	if err != nil {
		return err
	}
	ref := gitstore.RefName(keepAround + commit.String())
	_, err = r.Ref(ctx, ref)
	if err == nil {
		return nil
	}
	if !errors.Is(err, gitstore.ErrNotFound) {
		return fmt.Errorf("look for kept commit: %w", err)
	}
	err = r.UpdateRefs(ctx, []gitstore.RefUpdate{{Ref: ref, New: commit, AnyOld: true}})
	if err != nil {
		return fmt.Errorf("keep commit: %w", err)
	}
	return nil
}

package ci

import (
	"context"
	"errors"
	"fmt"

	"tenon/internal/base/errs"
	"tenon/internal/base/gitstore"
	"tenon/internal/core/authz"
	"tenon/internal/core/project"
)

// MayRun reports whether the actor may run pipelines of a branch or tag, which its name gives in full or in short and which need not exist. A short
// name is that of a branch.
func (s *Service) MayRun(ctx context.Context, as authz.Actor, p *project.Project, name string) (bool, error) {
	may, err := s.Policy.Can(ctx, as, authz.CreatePipeline, p.Subject())
	if err != nil || !may {
		return false, err
	}
	ref := gitstore.RefName(name)
	return (&rights{s: s, as: as, p: p}).run(ctx, ref.Short(), ref.IsTag())
}

// Runnable refuses a branch or tag whose pipelines the actor may not run. Its name is full or short, and need not exist: a short name is that of a
// tag where there is a tag and no branch. It requires CreatePipeline.
func (s *Service) Runnable(ctx context.Context, as authz.Actor, p *project.Project, name string) error {
	if err := s.Policy.Require(ctx, as, authz.CreatePipeline, p.Subject()); err != nil {
		return err
	}
	ref := gitstore.RefName(name)
	if !ref.IsBranch() && !ref.IsTag() {
		branch, err := gitstore.BranchRef(name)
		if err != nil {
			return errs.Broken("", "ref", "is invalid")
		}
		g, err := s.Repos.Open(ctx, p)
		if err != nil {
			return err
		}
		switch found, err := findRef(ctx, g, name); {
		case err == nil:
			ref = found.Ref
		case errors.Is(err, gitstore.ErrNotFound):
			ref = branch
		default:
			return fmt.Errorf("find reference: %w", err)
		}
	}
	if !ref.Valid() {
		return errs.Broken("", "ref", "is invalid")
	}
	return s.mayRun(ctx, as, p, ref.Short(), ref.IsTag())
}

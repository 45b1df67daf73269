package repo

import (
	"context"
	"errors"
	"fmt"

	"tenon/internal/base/errs"
	"tenon/internal/base/gitcmd"
	"tenon/internal/base/gitstore"
	"tenon/internal/core/authz"
	"tenon/internal/core/project"
)

// Read opens the repository for an actor who must be allowed to read its code.
func (s *Service) Read(ctx context.Context, as authz.Actor, p *project.Project) (*gitcmd.Repo, error) {
	if err := s.Policy.Require(ctx, as, authz.ReadCode, p.Subject()); err != nil {
		return nil, err
	}
	return s.Open(ctx, p)
}

// resolve finds the commit behind a name, the default branch where it is empty. What
// names no commit is NotFound with the given public name.
func resolve(ctx context.Context, r *gitcmd.Repo, p *project.Project, name, thing string) (gitcmd.Revision, error) {
	if name == "" {
		if p.DefaultBranch == nil {
			return gitcmd.Revision{}, errs.Missing(thing)
		}
		// In full, so that a tag of the same name does not stand before it.
		name = gitstore.Branches + *p.DefaultBranch
	}
	rev, err := r.Resolve(ctx, name)
	if errors.Is(err, gitstore.ErrNotFound) || errors.Is(err, gitstore.ErrBadName) {
		return gitcmd.Revision{}, errs.Missing(thing)
	}
	if err != nil {
		return gitcmd.Revision{}, fmt.Errorf("resolve revision: %w", err)
	}
	return rev, nil
}

// missing turns git's "not found" into the API's.
func missing(err error, thing string) error {
	if errors.Is(err, gitstore.ErrNotFound) || errors.Is(err, gitstore.ErrBadName) || errors.Is(err, gitstore.ErrWrongKind) {
		return errs.Missing(thing)
	}
	return err
}

package ci

import (
	"context"

	"tenon/internal/base/errs"
	"tenon/internal/base/gitstore"
	"tenon/internal/core/authz"
	"tenon/internal/core/project"
)

// MayRun reports whether the actor may run pipelines of a branch or tag, which its full name names and need not exist.
func (s *Service) MayRun(ctx context.Context, as authz.Actor, p *project.Project, ref gitstore.RefName) (bool, error) {
	may, err := s.policy.Can(ctx, as, authz.CreatePipeline, p.Subject())
	if err != nil || !may {
		return false, err
	}
	err = s.mayRun(ctx, as, p, ref.Short(), ref.IsTag())
	if errs.Is(err, errs.Forbidden) {
		return false, nil
	}
	return err == nil, err
}

package project

import (
	"context"

	"tenon/internal/base/errs"
	"tenon/internal/core/authz"
)

// May reports whether the actor may do something in a project that was read for it. It takes no
// statement where the project carries the level.
func (s *Service) May(ctx context.Context, as authz.Actor, p *Project, ability authz.Ability) (bool, error) {
	err := s.Policy.Require(ctx, as, ability, p.Subject())
	switch errs.KindOf(err) {
	case errs.NotFound, errs.Unauthorized, errs.Forbidden:
		return false, nil
	}
	return err == nil, err
}

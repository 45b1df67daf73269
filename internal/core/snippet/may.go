package snippet

import (
	"context"

	"tenon/internal/base/errs"
	"tenon/internal/core/authz"
)

// MayCreate reports whether the actor may create personal snippets.
func (s *Service) MayCreate(ctx context.Context, as authz.Actor) (bool, error) {
	err := s.mayCreate(ctx, as, nil)
	switch errs.KindOf(err) {
	case errs.NotFound, errs.Unauthorized, errs.Forbidden:
		return false, nil
	}
	return err == nil, err
}

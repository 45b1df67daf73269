package issue

import (
	"context"

	"tenon/internal/core/authz"
)

// Selection returns a query of the id, created_at, updated_at and title_fold of those issues of a place
// that a filter selects and the actor may read, for lists that issues share with other things. The
// order and the range of the filter do not matter. It asks for the permissions of List.
func (s *Service) Selection(ctx context.Context, as authz.Actor, in authz.Place, f Filter) (query string, args []any, err error) {
	if err := s.require(ctx, as, in); err != nil {
		return "", nil, err
	}
	sc := s.within(as, in, f)
	f.where(&sc.where, as, in, s.Now())
	return "SELECT i.id, i.created_at, i.updated_at, i.title_fold FROM " + sc.from + sc.where.SQL(), sc.where.Args(), nil
}

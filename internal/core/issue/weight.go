package issue

import (
	"context"
	"fmt"

	"tenon/internal/base/db"
	"tenon/internal/core/authz"
)

// Weight adds up the weights of the issues of a place that the actor may read.
func (s *Service) Weight(ctx context.Context, as authz.Actor, in authz.Place, f Filter) (int64, error) {
	if err := s.require(ctx, as, in); err != nil {
		return 0, err
	}
	return s.weight(ctx, as, in, f)
}

// WeightInEpic adds up the weights of the issues of a group's epic that the actor may read.
func (s *Service) WeightInEpic(ctx context.Context, as authz.Actor, group authz.Subject, iid int64) (int64, error) {
	if err := s.Policy.Require(ctx, as, authz.ReadEpic, group); err != nil {
		return 0, err
	}
	return s.weight(ctx, as, authz.Place{}, Filter{Epic: EpicFilter{Group: group.Namespace, IID: iid}})
}

func (s *Service) weight(ctx context.Context, as authz.Actor, in authz.Place, f Filter) (int64, error) {
	sc := s.within(as, in, f)
	f.where(&sc.where, as, in, s.Now())
	n, err := db.Get[int64](ctx, s.DB, "SELECT CAST(COALESCE(SUM(i.weight), 0) AS BIGINT) FROM "+sc.from+sc.where.SQL(), sc.where.Args()...)
	if err != nil {
		return 0, fmt.Errorf("weight of issues: %w", err)
	}
	return n, nil
}

// WeightOf adds up the weights of those of the issues with these ids that the actor may read.
func (s *Service) WeightOf(ctx context.Context, as authz.Actor, ids []ID) (int64, error) {
	found, err := s.ByIDs(ctx, as, ids)
	var sum int64
	for _, i := range found {
		if i.Weight != nil {
			sum += *i.Weight
		}
	}
	return sum, err
}

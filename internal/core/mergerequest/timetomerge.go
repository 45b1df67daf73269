package mergerequest

import (
	"context"
	"fmt"

	"tenon/internal/base/db"
	"tenon/internal/core/authz"
	"tenon/internal/core/project"
)

// TimeToMerge adds up the seconds from the creation of the merge requests of a list to their merge, nil where none of them is merged.
// It asks for the rights of List.
func (s *Service) TimeToMerge(ctx context.Context, as authz.Actor, in authz.Place, f Filter) (*float64, error) {
	if err := s.require(ctx, as, in); err != nil {
		return nil, err
	}
	from, w := "merge_requests m", db.Where{}
	if p := project.Of(in); p != nil {
		w = within(p)
	} else {
		from, w = s.visible(as, in, f)
	}
	if !f.where(&w, as, in, s.Now()) {
		return nil, nil
	}
	w.Raw("m.merged_at IS NOT NULL")
	sum, err := db.Get[*float64](ctx, s.DB, "SELECT SUM("+s.DB.Dialect().Seconds("m.created_at", "m.merged_at")+") FROM "+from+w.SQL(), w.Args()...)
	if err != nil {
		return nil, fmt.Errorf("time to merge: %w", err)
	}
	return sum, nil
}

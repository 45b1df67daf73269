package audit

import (
	"context"

	"tenon/internal/core/authz"
)

// exportAtOnce is how many events one read of Each returns.
const exportAtOnce = 1_000

// Each calls fn with the events of the instance that a filter selects, the newest first, at most f.Limit of them where that is not
// zero. It holds few of them in memory at a time.
func (s *Service) Each(ctx context.Context, as authz.Actor, f Filter, fn func(v View) error) error {
	left := f.Limit
	f.Keyset, f.Limit = true, exportAtOnce
	for {
		if left > 0 {
			f.Limit = min(left, exportAtOnce)
		}
		list, err := s.List(ctx, as, authz.Place{}, f)
		if err != nil {
			return err
		}
		for i := range list.Items {
			v, err := list.Items[i].View()
			if err == nil {
				err = fn(v)
			}
			if err != nil {
				return err
			}
		}
		if left > 0 {
			if left -= len(list.Items); left == 0 {
				return nil
			}
		}
		if f.Cursor = list.Next(); f.Cursor == "" {
			return nil
		}
	}
}

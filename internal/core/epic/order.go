package epic

import (
	"context"
	"errors"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
)

// spacing is the distance of positions that are made again.
const spacing = 1 << 20

// sequence is rows of a table in an order that users chose: the children or the issues of
// an epic.
type sequence struct {
	table string
	epic  string // the column with the epic that they belong to
	id    ID     // of that epic
}

// Beside says where something is put by hand: between two others, or beside one of them.
type Beside[T any] struct {
	Before T // what comes before it; 0 for none given
	After  T // what comes after it; 0 for none given
}

// first returns the position in front of all others.
func (s *Service) first(ctx context.Context, q sequence) (int64, error) {
	least, err := db.Get[int64](ctx, s.DB, "SELECT COALESCE(MIN(relative_position), 0) FROM "+q.table+" WHERE "+q.epic+" = ?", q.id)
	return least - spacing, err
}

// between returns the position for a row beside others of the sequence, and makes room where
// there is none. It returns NotFound where the others do not belong to the sequence.
func (s *Service) between(ctx context.Context, q sequence, id, before, after int64) (int64, error) {
	for range 2 {
		low, high, err := s.gap(ctx, q, id, before, after)
		switch {
		case err != nil:
			return 0, err
		case high == nil:
			return *low + spacing, nil
		case low == nil:
			return *high - spacing, nil
		case *high-*low > 1:
			return *low + (*high-*low)/2, nil
		}
		if _, err := s.DB.Exec(ctx, "UPDATE "+q.table+" SET relative_position = x.place * ? FROM (SELECT o.id, ROW_NUMBER() OVER (ORDER BY o.relative_position, o.id) AS place FROM "+
			q.table+" o WHERE o."+q.epic+" = ?) x WHERE x.id = "+q.table+".id", spacing, q.id); err != nil {
			return 0, err
		}
	}
	return 0, errs.New(errs.Unprocessable, "")
}

// gap returns the positions that a row is put between, nil for an end of the sequence.
func (s *Service) gap(ctx context.Context, q sequence, id, before, after int64) (low, high *int64, err error) {
	at := func(cond string, args ...any) (*int64, error) {
		n, err := db.Get[int64](ctx, s.DB, "SELECT relative_position FROM "+q.table+" WHERE "+q.epic+" = ? AND "+cond, append([]any{q.id}, args...)...)
		if errors.Is(err, db.ErrNotFound) {
			return nil, nil
		}
		return &n, err
	}
	if before != 0 {
		if low, err = at("id = ?", before); err == nil && low == nil {
			err = errs.Missing("")
		}
	}
	if err == nil && after != 0 {
		if high, err = at("id = ?", after); err == nil && high == nil {
			err = errs.Missing("")
		}
	}
	switch {
	case err != nil:
	case low == nil && high == nil:
		err = errs.Missing("")
	case high == nil:
		high, err = at("id <> ? AND relative_position > ? ORDER BY relative_position LIMIT 1", id, *low)
	case low == nil:
		low, err = at("id <> ? AND relative_position < ? ORDER BY relative_position DESC LIMIT 1", id, *high)
	case *low > *high:
		low, high = high, low
	}
	return low, high, err
}

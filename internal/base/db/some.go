package db

import (
	"context"
	"reflect"
	"slices"
)

// scanAll reads rows to their end, or until goOn says no after one of them, and closes them.
func scanAll[T any](d *DB, rows resultRows, fresh func() []any, goOn func(weight func() int64) (bool, error)) (out []T, apart [][]any, err error) {
	out = []T{}
	s, err := d.newScanner(rows, reflect.TypeFor[T](), fresh)
	more := true
	for err == nil && more && rows.Next() {
		if len(out) == 1 {
			out = slices.Grow(out, 20) // a page of 20 and the row that says there is another
		}
		var zero T
		out = append(out, zero)
		if fresh != nil {
			s.apart = fresh()
			apart = append(apart, s.apart)
		}
		row := &out[len(out)-1]
		if err = s.scan(row); err == nil {
			more, err = goOn(func() int64 { return s.weight(row) })
		}
	}
	cerr := rows.Close()
	switch {
	case err != nil:
		return out, apart, err
	case more && rows.Err() != nil:
		return out, apart, rows.Err()
	case !more:
		return out, apart, nil
	}
	return out, apart, cerr
}

// SelectSome is SelectWith that ends after the row with which the texts of all have a number of bytes; whole reports that there
// were no more rows. It is for reading a table in parts: the next part begins after the last row.
func SelectSome[T any](ctx context.Context, d *DB, bytes int64, fresh func() []any, query string, args ...any) (out []T, apart [][]any, whole bool, err error) {
	err = d.statement(ctx, query, args, false, func(ctx context.Context, from session, query string, args []any) error {
		rows, err := from.query(ctx, query, args)
		if err != nil {
			return err
		}
		left := bytes
		whole = true
		out, apart, err = scanAll[T](d, rows, fresh, func(weight func() int64) (bool, error) {
			left -= weight()
			whole = left > 0
			return whole, nil
		})
		return err
	})
	return out, apart, whole, err
}

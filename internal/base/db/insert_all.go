package db

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// InsertAll is [Create] for many rows that the database numbers, in as few statements as their values fit into. It returns their ids in the order of
// the rows, which ascend.
func InsertAll[T any](ctx context.Context, d *DB, table string, rows []T) ([]int64, error) {
	ids := make([]int64, 0, len(rows))
	err := insertMany(ctx, d, table, rows, func(ctx context.Context, query string, args []any) error {
		part, err := Select[int64](ctx, d, query+" RETURNING id", args...)
		slices.Sort(part) // rows are numbered in their order, and returned in any
		ids = append(ids, part...)
		return err
	})
	if err != nil {
		return nil, err
	}
	return ids, nil
}

// InsertRows is InsertRow for many rows, in as few statements as their values fit into. The suffix may be "" or an ON CONFLICT clause, which
// PostgreSQL refuses to let change one row twice.
func InsertRows[T any](ctx context.Context, d *DB, table string, rows []T, suffix string) error {
	return insertMany(ctx, d, table, rows, func(ctx context.Context, query string, args []any) error {
		_, err := d.Exec(ctx, query+" "+suffix, args...)
		return err
	})
}

// insertMany builds the statements. They run in one transaction.
func insertMany[T any](ctx context.Context, d *DB, table string, rows []T, run func(ctx context.Context, query string, args []any) error) error {
	if len(rows) == 0 {
		return nil
	}
	query, values, err := d.insertion(table, &rows[0])
	if err != nil {
		return err
	}
	marks := ", (" + strings.TrimSuffix(strings.Repeat("?, ", len(values)), ", ") + ")"
	return d.InTx(ctx, func(ctx context.Context) error {
		for part := range slices.Chunk(rows, max(1, maxValues/max(1, len(values)))) {
			args := make([]any, 0, len(part)*len(values))
			for i := range part {
				more := d.rowValues(reflect.ValueOf(&part[i]).Elem())
				if len(more) != len(values) {
					return fmt.Errorf("insert into %s: some rows have an id and some have none", table)
				}
				args = append(args, more...)
			}
			if err := run(ctx, query+strings.Repeat(marks, len(part)-1), args); err != nil {
				return err
			}
		}
		return nil
	})
}

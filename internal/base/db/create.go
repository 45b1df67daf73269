package db

import (
	"context"
	"fmt"
	"reflect"
)

// Create writes a row from a struct with `db:"column"` tags, which the database numbers, and puts its number into the field tagged db:"id",
// whatever is in it before: a closure of [DB.InTx] that runs twice makes a new row each time. Where there are bounds, it
// needs a transaction, and first asks each for [DB.Room]. A row that a unique index does not take is ErrDuplicate; [Duplicate] says which index.
func Create[T any](ctx context.Context, d *DB, table string, row *T, bounds ...Bound) error {
	if err := d.room(ctx, bounds); err != nil {
		return err
	}
	id, err := d.idOf(table, reflect.ValueOf(row).Elem())
	if err != nil {
		return err
	}
	id.SetInt(0)
	n, err := insert(ctx, d, table, row)
	if err != nil {
		return err
	}
	id.SetInt(n)
	return nil
}

// idOf is the field of a row that holds its number.
func (d *DB) idOf(table string, row reflect.Value) (reflect.Value, error) {
	if row.Kind() == reflect.Struct {
		for _, c := range d.columnsFor(row.Type()) {
			if c.name == "id" && row.FieldByIndex(c.index).CanInt() {
				return row.FieldByIndex(c.index), nil
			}
		}
	}
	return reflect.Value{}, fmt.Errorf("create a row of %s: %s has no number tagged db:\"id\"", table, row.Type())
}

// Ensure names the only row of a kind, such as one of settings, for a change of it: it creates the row where there is none yet. The
// function read reads the row, or returns what it is at first, with the number 0. r has the table, the time and the condition, which a
// row that is created here meets. Ensure needs a transaction, until whose end other calls wait.
func Ensure[T any](ctx context.Context, d *DB, r Row, read func(ctx context.Context) (*T, error)) (Row, error) {
	if err := d.Lock(ctx, r.Table); err != nil {
		return r, err
	}
	row, err := read(ctx)
	if err != nil {
		return r, err
	}
	of := reflect.ValueOf(row).Elem()
	id, err := d.idOf(r.Table, of)
	if err != nil {
		return r, err
	}
	if id.Int() == 0 {
		for _, c := range d.columnsFor(of.Type()) {
			if c.name == "created_at" || c.name == "updated_at" {
				if err := put(of.FieldByIndex(c.index), At(r.Now())); err != nil {
					return r, fmt.Errorf("column %s of %s: %w", c.name, r.Table, err)
				}
			}
		}
		if err := Create(ctx, d, r.Table, row); err != nil {
			return r, err
		}
		r.If = nil
	}
	r.ID = id.Int()
	return r, nil
}

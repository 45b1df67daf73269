package db

import (
	"context"
	"errors"
	"fmt"
)

// Bound is how many rows of a table may have something in common.
type Bound struct {
	Table string
	Of    Where // what they have in common, over the columns of the table alone
	Most  int
	Full  error // that is returned where there would be more
}

// Room returns the error of a bound where it leaves no room for n rows more. It needs a
// transaction: until its end another one that asks about the same rows waits, and then counts
// what this one wrote. Rows that are written first are counted with an n of 0.
func (d *DB) Room(ctx context.Context, b Bound, n int) error {
	if d.current(ctx) == nil {
		return errors.New("a bound is counted inside a transaction: call it inside InTx, with the ctx of the closure")
	}
	args, err := bind(b.Of.Args())
	if err != nil {
		return fmt.Errorf("bound of %s: %w", b.Table, err)
	}
	if err := d.Lock(ctx, fmt.Sprintf("bound of %s%s %v", b.Table, b.Of.SQL(), args)); err != nil {
		return err
	}
	return d.Fits(ctx, b, n)
}

// room is Room for one row that has all bounds.
func (d *DB) room(ctx context.Context, bounds []Bound) error {
	for _, b := range bounds {
		if err := d.Room(ctx, b, 1); err != nil {
			return err
		}
	}
	return nil
}

// Fits is Room without a lock: it refuses early what Room refuses for certain.
func (d *DB) Fits(ctx context.Context, b Bound, n int) error {
	there, err := Get[int](ctx, d, "SELECT COUNT(*) FROM (SELECT 1 FROM "+b.Table+b.Of.SQL()+" LIMIT ?) x", append(b.Of.Args(), b.Most+1)...)
	if err != nil {
		return fmt.Errorf("count %s: %w", b.Table, err)
	}
	if there+n > b.Most {
		return b.Full
	}
	return nil
}

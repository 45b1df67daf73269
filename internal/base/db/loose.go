package db

import (
	"context"
	"errors"
	"fmt"
)

// Loosely runs fn while commits on SQLite do not wait for the disk. A crash keeps the
// order of what was committed but may lose the end of it, until the first commit after
// Loosely makes all of it durable. It is for work that is done again where it was lost,
// such as migrations, at a time when no other caller writes.
func (d *DB) Loosely(ctx context.Context, fn func() error) error {
	if d.dialect != SQLite || d.noSync {
		return fn()
	}
	if err := d.synchronous(ctx, "NORMAL"); err != nil {
		return err
	}
	return errors.Join(fn(), d.synchronous(context.WithoutCancel(ctx), "FULL"))
}

func (d *DB) synchronous(ctx context.Context, how string) error {
	if _, err := d.writer.ExecContext(ctx, "PRAGMA synchronous = "+how); err != nil {
		return fmt.Errorf("synchronous %s: %w", how, err)
	}
	return nil
}

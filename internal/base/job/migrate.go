package job

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river/riverdriver"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/riverdriver/riversqlite"
	"github.com/riverqueue/river/rivermigrate"

	"tenon/internal/base/db"
)

// Migrate brings the queue's own tables up to date, in the same database. Call it
// after the Migrate of the database; a second call changes nothing.
func Migrate(ctx context.Context, d *db.DB) error {
	writer, pool := d.Pools()
	var err error
	if pool != nil {
		err = alone(ctx, pool, func() error { return migrateUp(ctx, riverpgxv5.New(pool)) })
	} else {
		err = migrateUp(ctx, riversqlite.New(writer))
	}
	if err != nil {
		return fmt.Errorf("migrate job queue: %w", db.Translate(err))
	}
	return nil
}

func migrateUp[T any](ctx context.Context, driver riverdriver.Driver[T]) error {
	m, err := rivermigrate.New(driver, &rivermigrate.Config{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	_, err = m.Migrate(ctx, rivermigrate.DirectionUp, nil)
	return err
}

// alone keeps other processes out while fn runs.
func alone(ctx context.Context, pool *pgxpool.Pool, fn func() error) error {
	conn, err := pool.Acquire(ctx)
	if err != nil {
		return err
	}
	defer conn.Release()
	if _, err := conn.Exec(ctx, "SELECT pg_advisory_lock(hashtextextended('job migrations', 0))"); err != nil {
		return err
	}
	err = fn()
	_, unlock := conn.Exec(context.WithoutCancel(ctx), "SELECT pg_advisory_unlock(hashtextextended('job migrations', 0))")
	return errors.Join(err, unlock)
}

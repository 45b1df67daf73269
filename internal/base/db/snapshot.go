package db

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// Snapshot runs fn, whose reads all see the database as it was at one moment. Statements
// with the ctx of fn cannot write. It takes a connection of its own: on SQLite beside the
// pools, on PostgreSQL one of the pool. Statements are not cancelled with ctx on SQLite, so
// fn looks at it from time to time.
func (d *DB) Snapshot(ctx context.Context, fn func(ctx context.Context) error) error {
	if d.current(ctx) != nil {
		return fmt.Errorf("snapshot inside a transaction")
	}
	if d.dialect == Postgres {
		return d.snapshotPostgres(ctx, fn)
	}
	pool, err := sqlitePool(d.file, 1, busyTimeout(d.busy), queryOnly, "_pragma=cache_size(-2048)")
	if err != nil {
		return err
	}
	defer pool.Close()
	lite, err := pool.BeginTx(context.WithoutCancel(ctx), nil)
	if err != nil {
		return translate(err)
	}
	defer lite.Rollback() //nolint:errcheck // it has only read
	t := &tx{d: d, session: sqlSession{lite}, sql: lite}
	return t.run(ctx, func(ctx context.Context) error {
		// The moment is that of the first read.
		if _, err := Get[int](ctx, d, "SELECT count(*) FROM sqlite_schema"); err != nil {
			return err
		}
		return fn(ctx)
	})
}

func (d *DB) snapshotPostgres(ctx context.Context, fn func(ctx context.Context) error) error {
	ptx, err := d.pool.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly})
	if err != nil {
		return d.lost(translate(err))
	}
	defer ptx.Rollback(context.WithoutCancel(ctx)) //nolint:errcheck // it has only read
	t := &tx{d: d, session: pgSession{ptx}, pg: ptx}
	return d.lost(t.run(ctx, func(ctx context.Context) error {
		// Whatever the server's settings are, a long read is no mistake here.
		for _, limit := range []string{"statement_timeout", "idle_in_transaction_session_timeout", "lock_timeout"} {
			if _, err := Get[string](ctx, d, "SELECT set_config(CAST(? AS TEXT), '0', true)", limit); err != nil {
				return err
			}
		}
		return fn(ctx)
	}))
}

// rows runs a SELECT in the transaction of ctx and hands the rows to fn one by one, each
// as a slice that is used again for the next.
func (d *DB) rows(ctx context.Context, query string, args []any, fn func(row []any) error) error {
	return d.statement(ctx, query, args, false, func(ctx context.Context, s session, query string, args []any) error {
		rows, err := s.query(ctx, query, args)
		if err != nil {
			return err
		}
		defer rows.Close()
		names, err := rows.Columns()
		if err != nil {
			return err
		}
		row, dest := make([]any, len(names)), make([]any, len(names))
		for i := range row {
			dest[i] = &row[i]
		}
		for rows.Next() {
			if err := rows.Scan(dest...); err != nil {
				return err
			}
			if err := fn(row); err != nil {
				return err
			}
		}
		return rows.Err()
	})
}

package db

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"
)

// openPostgres opens pgx's own pool, which keeps statements prepared by itself.
func (d *DB) openPostgres(ctx context.Context, cfg Config) error {
	conf, err := pgxpool.ParseConfig(cfg.URL)
	if err != nil {
		return err
	}
	if cfg.Readers == 0 {
		cfg.Readers = 10
	}
	conf.MaxConns = int32(cfg.Readers)
	conf.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeCacheStatement
	conf.ConnConfig.StatementCacheCapacity = cachedStatements
	conf.AfterConnect = func(_ context.Context, conn *pgx.Conn) error {
		conn.TypeMap().RegisterType(&pgtype.Type{
			Name: "timestamptz", OID: pgtype.TimestamptzOID, Codec: &pgtype.TimestamptzCodec{ScanLocation: time.UTC},
		})
		return nil
	}
	if d.pool, err = pgxpool.NewWithConfig(ctx, conf); err != nil {
		return err
	}
	if err = d.pool.Ping(ctx); err != nil {
		d.pool.Close()
		return err
	}
	d.read = pgSession{d.pool}
	return nil
}

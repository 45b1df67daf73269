package db

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"
)

// connectTimeout is how long a connection may take to come about where nothing says it, so
// that pgx chose unsetTimeout.
const (
	connectTimeout = 5 * time.Second
	unsetTimeout   = 2 * time.Minute
)

// withoutJIT keeps PostgreSQL from compiling statements. Where it overestimates the rows of a list
// the compiler takes seconds for the conditions on what the actor may read, which then take
// milliseconds to run. A server without the setting is left alone: it refuses with unknownSetting.
const (
	withoutJIT     = "SET jit = off"
	unknownSetting = "42704"
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
	if conf.ConnConfig.ConnectTimeout == unsetTimeout {
		conf.ConnConfig.ConnectTimeout = connectTimeout
	}
	conf.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeCacheStatement
	conf.ConnConfig.StatementCacheCapacity = cachedStatements
	conf.AfterConnect = func(ctx context.Context, conn *pgx.Conn) error {
		conn.TypeMap().RegisterType(&pgtype.Type{
			Name: "timestamptz", OID: pgtype.TimestamptzOID, Codec: &pgtype.TimestamptzCodec{ScanLocation: time.UTC},
		})
		_, err := conn.Exec(ctx, withoutJIT)
		if pg, ok := errors.AsType[*pgconn.PgError](err); ok && pg.Code == unknownSetting {
			return nil
		}
		return err
	}
	if d.pool, err = pgxpool.NewWithConfig(ctx, conf); err != nil {
		return err
	}
	if err = d.pool.Ping(ctx); err == nil {
		err = checkEncoding(ctx, d.pool)
	}
	if err != nil {
		d.pool.Close()
		if _, known := errors.AsType[*openError](err); known {
			return err
		}
		return unopened(postgresPlace(conf.ConnConfig), translate(err), postgresAdvice(conf.ConnConfig, err))
	}
	d.share(cfg.Readers)
	return nil
}

// lost closes the connections that wait in the pool after one of them turned out to be
// dead: the others mostly are, and the next caller gets a new one. It returns err back.
func (d *DB) lost(err error) error {
	if d.pool == nil || !errors.Is(err, ErrUnavailable) || errors.Is(err, ErrTimeout) {
		return err
	}
	if pg, ok := errors.AsType[*pgconn.PgError](err); !ok || pg.Code != "53300" && pg.Code != "55P03" { // these say nothing of the connection
		d.pool.Reset()
	}
	return err
}

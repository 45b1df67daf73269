package db

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// Shared reports whether several processes may have the database open at once: PostgreSQL, not
// SQLite.
func (d *DB) Shared() bool { return d.pool != nil }

// Notify sends texts of at most 8,000 bytes each to whatever listens to a channel, in this process
// and in all others that have the database open. It is no part of a transaction; texts sent while
// the other side is not connected are lost. SQLite has no other process: nothing is sent.
func (d *DB) Notify(ctx context.Context, channel string, texts []string) error {
	if d.pool == nil || len(texts) == 0 {
		return nil
	}
	if _, err := d.pool.Exec(ctx, "SELECT pg_notify($1, text) FROM unnest($2::text[]) text", channel, texts); err != nil {
		return fmt.Errorf("notify %s: %w", channel, translate(err))
	}
	return nil
}

// Listen calls heard with every text that is sent to a channel from when ready is called until ctx
// ends or the connection breaks, which is the error. With SQLite it waits for ctx alone.
func (d *DB) Listen(ctx context.Context, channel string, ready func(), heard func(text string)) error {
	if d.pool == nil {
		ready()
		<-ctx.Done()
		return ctx.Err()
	}
	conn, err := pgx.ConnectConfig(ctx, d.pool.Config().ConnConfig)
	if err != nil {
		return fmt.Errorf("listen to %s: %w", channel, translate(err))
	}
	defer conn.Close(context.WithoutCancel(ctx))
	if _, err := conn.Exec(ctx, "LISTEN "+pgx.Identifier{channel}.Sanitize()); err != nil {
		return fmt.Errorf("listen to %s: %w", channel, translate(err))
	}
	ready()
	for {
		n, err := conn.WaitForNotification(ctx)
		if err != nil {
			return fmt.Errorf("listen to %s: %w", channel, translate(err))
		}
		heard(n.Payload)
	}
}

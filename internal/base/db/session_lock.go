package db

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/jackc/pgx/v5"
)

// ErrLocked reports a lock that another session of the database holds.
var ErrLocked = errors.New("another session holds the lock")

// SessionLock is a lock that a connection of its own holds, for as long as it is open. On
// SQLite, where the file is locked by other means, it holds nothing.
type SessionLock struct {
	conn *pgx.Conn // nil on SQLite
}

// LockSession takes a lock of a name that one session may have at a time, or fails with
// ErrLocked at once. The lock is of the schema that the connection uses. A pooler between
// must hand out whole sessions.
func (d *DB) LockSession(ctx context.Context, name string) (*SessionLock, error) {
	if d.pool == nil {
		return &SessionLock{}, nil
	}
	conf := d.pool.Config().ConnConfig.Copy()
	// A dead connection is noticed in half a minute, so that the lock can be taken again.
	keep := net.Dialer{Timeout: conf.ConnectTimeout, KeepAliveConfig: net.KeepAliveConfig{
		Enable: true, Idle: 15 * time.Second, Interval: 5 * time.Second, Count: 3,
	}}
	conf.DialFunc = keep.DialContext
	conn, err := pgx.ConnectConfig(ctx, conf)
	if err != nil {
		return nil, translate(err)
	}
	var got bool
	// The lock is on a connection that says nothing for months.
	_, err = conn.Exec(ctx, "SELECT set_config('idle_session_timeout', '0', false) FROM pg_settings WHERE name = 'idle_session_timeout'")
	if err == nil {
		err = conn.QueryRow(ctx, "SELECT pg_try_advisory_lock(hashtextextended(current_schema() || ' ' || CAST($1 AS TEXT), 0))", name).Scan(&got)
	}
	switch {
	case err != nil:
		err = fmt.Errorf("take lock: %w", translate(err))
	case !got:
		err = ErrLocked
	default:
		return &SessionLock{conn: conn}, nil
	}
	return nil, errors.Join(err, conn.Close(context.WithoutCancel(ctx)))
}

// Wait returns when the lock is lost with its connection, with the reason, or with the error
// of ctx when that ends.
func (l *SessionLock) Wait(ctx context.Context) error {
	if l.conn == nil {
		<-ctx.Done()
		return ctx.Err()
	}
	for {
		// Notifications are not asked for; the call reads until the connection ends.
		if _, err := l.conn.WaitForNotification(ctx); err != nil {
			return errors.Join(ctx.Err(), err)
		}
	}
}

// Close gives the lock up.
func (l *SessionLock) Close(ctx context.Context) error {
	if l.conn == nil || l.conn.IsClosed() {
		return nil
	}
	return l.conn.Close(ctx)
}

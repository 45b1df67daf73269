package db

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"syscall"

	"github.com/jackc/pgx/v5/pgconn"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"tenon/internal/base/errs"
)

// What a caller may want to tell apart; compare with errors.Is.
var (
	ErrNotFound  = errors.New("no such row")
	ErrDuplicate = errors.New("row exists already")                        // a unique index or primary key
	ErrReference = errors.New("row is referenced, or refers to nothing")   // a foreign key
	ErrText      = errors.New("text with a NUL byte or invalid UTF-8")     // refused before any engine sees it
	ErrStalled   = errors.New("gave up waiting for the database's writer") // see Config.Stall
	ErrClosed    = errors.New("database is closed")

	// ErrUnavailable reports that the engine is away, locked by another program, or takes
	// no more connections: what failed may succeed later. A commit that ends so may have
	// happened.
	ErrUnavailable = errs.ErrAway
)

// Translate wraps an error of the engine's own handles, see [DB.Pools], as the methods of
// DB do.
func Translate(err error) error { return translate(err) }

// translate wraps a driver's error with the error of this package that its code stands for.
func translate(err error) error {
	if err == nil {
		return nil
	}
	kind := error(nil)
	if lite, ok := errors.AsType[*sqlite.Error](err); ok {
		kind = liteKind(lite.Code())
	} else if pg, ok := errors.AsType[*pgconn.PgError](err); ok {
		kind = postgresKind(pg.Code)
	} else if disconnected(err) {
		kind = ErrUnavailable
	}
	if kind == nil || errors.Is(err, kind) {
		return err
	}
	return fmt.Errorf("%w: %w", kind, err)
}

func liteKind(code int) error {
	switch code {
	case 2067, 1555, 2579: // unique index, primary key, rowid
		return ErrDuplicate
	case 787, 1811: // foreign key, at once or by ON DELETE RESTRICT
		return ErrReference
	case 4874: // no room for the shared memory
		return syscall.ENOSPC
	}
	switch code & 0xff {
	case 5, 6, 10, 14, 15: // busy, locked, input or output failed, cannot open, protocol of locks
		return ErrUnavailable
	case 13:
		return syscall.ENOSPC
	}
	return nil
}

// locked reports that SQLite met the lock of another program.
func locked(err error) bool {
	lite, ok := errors.AsType[*sqlite.Error](err)
	return ok && lite.Code()&0xff == sqlite3.SQLITE_BUSY
}

func postgresKind(code string) error {
	switch code {
	case "23505":
		return ErrDuplicate
	case "23503", "23001":
		return ErrReference
	case "53100":
		return syscall.ENOSPC
	case "57P01", "57P02", "57P03", "57P05", // shut down, crashed, starting, ended for its idleness
		"53300", "25006", "55P03": // too many connections, a standby that only reads, locked
		return ErrUnavailable
	}
	if strings.HasPrefix(code, "08") { // the connection
		return ErrUnavailable
	}
	return nil
}

// disconnected reports that a connection to PostgreSQL failed, or was none any more. One
// that was ended with its context is no such case.
func disconnected(err error) bool {
	if errors.Is(err, context.Canceled) {
		return false
	}
	if _, ok := errors.AsType[*pgconn.ConnectError](err); ok {
		return true
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return false
	}
	_, network := errors.AsType[net.Error](err)
	return network || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) ||
		errors.Is(err, ErrStalled) || errors.Is(err, ErrClosed) || errors.Is(err, sql.ErrConnDone) || pgconn.SafeToRetry(err)
}

// retryable reports that PostgreSQL gave up a transaction that may well succeed when run again.
func retryable(err error) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && (pg.Code == "40001" || pg.Code == "40P01")
}

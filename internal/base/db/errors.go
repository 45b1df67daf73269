package db

import (
	"errors"
	"fmt"
	"syscall"

	"github.com/jackc/pgx/v5/pgconn"
	"modernc.org/sqlite"
)

// What a caller may want to tell apart; compare with errors.Is.
var (
	ErrNotFound  = errors.New("no such row")
	ErrDuplicate = errors.New("row exists already")                        // a unique index or primary key
	ErrReference = errors.New("row is referenced, or refers to nothing")   // a foreign key
	ErrText      = errors.New("text with a NUL byte or invalid UTF-8")     // refused before any engine sees it
	ErrStalled   = errors.New("gave up waiting for the database's writer") // see Config.Stall
	ErrClosed    = errors.New("database is closed")
)

// translate wraps a driver's error with ErrDuplicate or ErrReference where its code says so.
func translate(err error) error {
	if err == nil {
		return nil
	}
	var lite *sqlite.Error
	if errors.As(err, &lite) {
		switch lite.Code() {
		case 2067, 1555, 2579: // unique index, primary key, rowid
			return fmt.Errorf("%w: %w", ErrDuplicate, err)
		case 787, 1811: // foreign key, at once or by ON DELETE RESTRICT
			return fmt.Errorf("%w: %w", ErrReference, err)
		}
		if lite.Code()&0xff == 13 {
			return fmt.Errorf("%w: %w", syscall.ENOSPC, err)
		}
		return err
	}
	var pg *pgconn.PgError
	if errors.As(err, &pg) {
		switch pg.Code {
		case "23505":
			return fmt.Errorf("%w: %w", ErrDuplicate, err)
		case "23503", "23001":
			return fmt.Errorf("%w: %w", ErrReference, err)
		case "53100":
			return fmt.Errorf("%w: %w", syscall.ENOSPC, err)
		}
	}
	return err
}

// retryable reports that PostgreSQL gave up a transaction that may well succeed when run again.
func retryable(err error) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && (pg.Code == "40001" || pg.Code == "40P01")
}

package db

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"time"

	"tenon/internal/base/errs"
)

// Reads outside transactions share the connections like this: each begins at once on any
// free connection. One that takes longer than patience is interrupted and run again as a
// slow one, and slow ones hold half of the connections at most; so there is always a
// connection that a quick read gets soon. The text of a slow statement is remembered for
// slowMemory, or until it is quick again, and begins as a slow one until then.
const (
	patience   = 250 * time.Millisecond
	slowMemory = time.Minute
)

// ErrTimeout is what a read ends with that took longer than LimitReads allows. Clients
// may read its text. It is ErrUnavailable as well, as far as clients read when to come
// again.
var ErrTimeout = &errs.Error{
	Kind: errs.Unavailable, Err: ErrUnavailable,
	Message: "The database took too long to answer. Ask for less at a time, or try again later.",
}

var errImpatient = errors.New("the read is a slow one")

// readLimit is what LimitReads puts into a context.
type readLimit struct {
	each time.Duration
	left *atomic.Int64 // of all reads together; nil is no end
}

type readLimitKey struct{}

// LimitReads bounds the time that reads outside transactions take with the context,
// waiting for a connection counted: one statement to each, and where total is not zero
// all statements together to total. A read beyond it ends with ErrTimeout. Nothing else
// that happens with the context is bounded.
func LimitReads(ctx context.Context, each, total time.Duration) context.Context {
	l := &readLimit{each: each}
	if total > 0 {
		l.left = new(atomic.Int64)
		l.left.Store(int64(total))
	}
	return context.WithValue(ctx, readLimitKey{}, l)
}

// remaining is how long the next read may take; 0 is for ever, less is nothing.
func (l *readLimit) remaining() time.Duration {
	switch {
	case l == nil:
		return 0
	case l.left == nil:
		return l.each
	}
	if left := time.Duration(l.left.Load()); left > 0 {
		return min(l.each, left)
	}
	return -1
}

func (l *readLimit) spend(d time.Duration) {
	if l != nil && l.left != nil {
		l.left.Add(-int64(d))
	}
}

// share says how many connections there are to share.
func (d *DB) share(connections int) {
	d.patience, d.slow = patience, make(chan struct{}, max(1, connections/2))
}

// apart runs a statement outside a transaction.
func (d *DB) apart(ctx context.Context, t *text, exec bool, run func(ctx context.Context, s session) error) error {
	if exec || t.writes {
		return run(ctx, pgSession{d.pool})
	}
	return d.read(ctx, t, run)
}

// read runs a statement that reads outside a transaction.
func (d *DB) read(ctx context.Context, t *text, run func(ctx context.Context, s session) error) error {
	limit, _ := ctx.Value(readLimitKey{}).(*readLimit)
	began := time.Now()
	allowed := limit.remaining()
	err := d.quickOrSlow(ctx, t, began, allowed, run)
	took := time.Since(began)
	limit.spend(took)
	if errors.Is(err, ErrTimeout) {
		d.log.WarnContext(ctx, "read given up", slog.Duration("after", took), slog.String("query", t.sql))
	}
	return err
}

func (d *DB) quickOrSlow(ctx context.Context, t *text, began time.Time, allowed time.Duration, run func(ctx context.Context, s session) error) error {
	if allowed < 0 {
		return ErrTimeout
	}
	if began.UnixNano() >= t.slowUntil.Load() {
		err := d.attempt(ctx, allowed, d.patience, run)
		if !errors.Is(err, errImpatient) {
			return err
		}
		t.slowUntil.Store(time.Now().Add(slowMemory).UnixNano())
	}
	var over <-chan time.Time
	if allowed > 0 {
		timer := time.NewTimer(allowed - time.Since(began))
		defer timer.Stop()
		over = timer.C
	}
	select {
	case d.slow <- struct{}{}:
		defer func() { <-d.slow }()
	case <-over:
		return ErrTimeout
	case <-ctx.Done():
		return ctx.Err()
	}
	if allowed > 0 {
		if allowed -= time.Since(began); allowed <= 0 {
			return ErrTimeout
		}
	}
	started := time.Now()
	err := d.attempt(ctx, allowed, 0, run)
	if err == nil && time.Since(started) < d.patience {
		t.slowUntil.Store(0)
	}
	return err
}

// attempt runs a statement on a connection of its own, and gives up with ErrTimeout after
// allowed, or with errImpatient when it has run for patience; 0 is for ever. On SQLite it waits for the
// lock of another program.
func (d *DB) attempt(ctx context.Context, allowed, patience time.Duration, run func(ctx context.Context, s session) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if allowed > 0 {
		defer time.AfterFunc(allowed, func() { cancel(ErrTimeout) }).Stop()
	}
	impatient := func() { cancel(errImpatient) }
	for began := time.Now(); ; {
		err := because(ctx, d.once(ctx, patience, impatient, run))
		switch {
		case !locked(err) || time.Since(began) > d.busy:
			return err
		}
		select {
		case <-ctx.Done():
			return because(ctx, ctx.Err())
		case <-time.After(busyAgain):
		}
	}
}

// once is attempt without waiting for locks; it calls impatient when the statement has run for patience.
func (d *DB) once(ctx context.Context, patience time.Duration, impatient func(), run func(ctx context.Context, s session) error) error {
	s, release, err := d.connect(ctx)
	if err != nil {
		return err
	}
	defer release()
	if patience > 0 {
		defer time.AfterFunc(patience, impatient).Stop()
	}
	if d.dialect == SQLite {
		ctx = watched{ctx}
	}
	return run(ctx, s)
}

// because returns the reason for which attempt ended a statement, err where it did not.
func because(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	if cause := context.Cause(ctx); errors.Is(cause, ErrTimeout) || errors.Is(cause, errImpatient) {
		return cause
	}
	return err
}

// connect takes a connection that reads out of the pool.
func (d *DB) connect(ctx context.Context) (session, func(), error) {
	if d.dialect == Postgres {
		conn, err := d.pool.Acquire(ctx)
		if err != nil {
			return nil, nil, err
		}
		return pgSession{conn}, conn.Release, nil
	}
	conn, err := d.reader.Conn(ctx)
	if err != nil {
		return nil, nil, err
	}
	return sqlSession{conn}, func() { _ = conn.Close() }, nil
}

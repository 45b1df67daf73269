package db

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"

	"tenon/internal/base/intx"
)

// tx is one run of a transaction's closure. It belongs to the closure's goroutine,
// but for ended.
type tx struct {
	d       *DB
	session session
	sql     *sql.Tx // SQLite
	pg      pgx.Tx  // PostgreSQL
	after   []func()
	failed  error       // the first failure, after which nothing more is run
	depth   int         // of savepoints
	kept    map[any]any // see Once
	ended   atomic.Bool

	statements int   // that ran
	rows       int64 // that they wrote
}

// current is the transaction of this database that ctx carries, or nil.
func (d *DB) current(ctx context.Context) *tx {
	t := intx.Of[tx](ctx)
	if t == nil || t.d != d {
		return nil
	}
	return t
}

// InTransaction reports whether ctx carries a transaction of this database. What is read
// with such a ctx may be undone, so it must not be remembered.
func (d *DB) InTransaction(ctx context.Context) bool { return d.current(ctx) != nil }

// Around returns the context for tests that undo whole requests by the transaction of ctx: they may do what no transaction of
// the server may, see package intx.
func Around(ctx context.Context) context.Context { return intx.Around[tx](ctx) }

// InTx runs fn in a transaction and commits when fn gives nil. The ctx that fn
// receives carries the transaction: shadow the outer one with it. Called with such a
// ctx, InTx joins: all of it commits or nothing does.
//
// On SQLite several callers' closures share one commit, and on PostgreSQL a
// closure that meets a deadlock is repeated. So fn
//   - may run twice, after its first run was undone: it assigns results, it never appends to outer variables;
//   - does nothing but SQL with its own ctx: no git, no network, no waiting. With the outer ctx it waits for itself;
//   - sees no cancellation on SQLite: what has begun is finished, and the answer says what happened.
//
// After a failed statement nothing more runs and nothing is committed on either
// engine, even when fn hides the error; ErrNotFound is no failure. To try
// something that may fail use [DB.InSavepoint].
func (d *DB) InTx(ctx context.Context, fn func(ctx context.Context) error) error {
	if t := d.current(ctx); t != nil {
		if t.ended.Load() {
			return errEnded
		}
		err := fn(intx.Joining(ctx, t))
		if err != nil && t.failed == nil {
			t.failed = err
		}
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	var after []func()
	var err error
	if d.dialect == SQLite {
		after, err = d.group.inTx(ctx, fn)
	} else {
		after, err = d.inPostgres(ctx, fn)
	}
	if err != nil {
		return err
	}
	for _, hook := range after {
		hook()
	}
	return nil
}

// AfterCommit runs fn once the outermost transaction of ctx is committed, at once
// where there is none. A transaction that is undone drops it.
func (d *DB) AfterCommit(ctx context.Context, fn func()) {
	if t := d.current(ctx); t != nil {
		t.after = append(t.after, fn)
		return
	}
	fn()
}

// Once returns what fn returned when the transaction of ctx called it first for a key: an answer that holds as long as the transaction. A
// savepoint that is undone forgets it. Outside of transactions, and after an error, fn is called again.
func Once[K comparable, T any](ctx context.Context, d *DB, key K, fn func(ctx context.Context) (T, error)) (T, error) {
	t := d.current(ctx)
	if t == nil {
		return fn(ctx)
	}
	if out, ok := t.kept[key].(T); ok {
		return out, nil
	}
	out, err := fn(ctx)
	if err != nil {
		return out, err
	}
	if t.kept == nil {
		t.kept = map[any]any{}
	}
	t.kept[key] = out
	return out, nil
}

// InSavepoint runs fn in a part of the transaction that is undone alone when fn
// fails; the transaction itself goes on. Outside a transaction it is InTx.
func (d *DB) InSavepoint(ctx context.Context, fn func(ctx context.Context) error) error {
	t := d.current(ctx)
	if t == nil {
		return d.InTx(ctx, fn)
	}
	if t.failed != nil {
		return t.refuse()
	}
	t.depth++
	defer func() { t.depth-- }()
	name := "s" + strconv.Itoa(t.depth)
	hooks := len(t.after)
	if err := t.control(ctx, "SAVEPOINT "+name); err != nil {
		return err
	}
	err := fn(intx.Joining(ctx, t))
	if err == nil {
		err = t.failed
	}
	if err == nil {
		return t.control(ctx, "RELEASE SAVEPOINT "+name)
	}
	t.after, t.failed, t.kept = t.after[:hooks], nil, nil
	if rerr := t.control(ctx, "ROLLBACK TO SAVEPOINT "+name); rerr != nil {
		return errors.Join(err, rerr)
	}
	if rerr := t.control(ctx, "RELEASE SAVEPOINT "+name); rerr != nil {
		return errors.Join(err, rerr)
	}
	return err
}

// Native runs fn with the driver's own transaction of ctx: *sql.Tx on SQLite,
// pgx.Tx on PostgreSQL, the other is nil. It is for packages that bring their own
// SQL and counts as one statement. Outside a transaction it is an error.
func (d *DB) Native(ctx context.Context, fn func(ctx context.Context, lite *sql.Tx, pg pgx.Tx) error) error {
	t := d.current(ctx)
	if t == nil {
		return errors.New("this needs a transaction: call it inside InTx, with the ctx of the closure")
	}
	return t.guard(ctx, func(ctx context.Context) error { return fn(ctx, t.sql, t.pg) })
}

// Lock makes transactions that take the same lock follow one another until each
// ends. It needs a transaction; on SQLite every transaction is alone already.
func (d *DB) Lock(ctx context.Context, name string) error {
	t := d.current(ctx)
	if t == nil {
		return errors.New("a lock needs a transaction")
	}
	if d.dialect == SQLite {
		return nil
	}
	_, err := d.Exec(ctx, "SELECT pg_advisory_xact_lock(hashtextextended(CAST(? AS TEXT), 0))", name)
	return err
}

var errEnded = errors.New("the transaction of this context has ended")

// guard runs one step of the transaction and remembers that it failed.
func (t *tx) guard(ctx context.Context, step func(ctx context.Context) error) error {
	if t.ended.Load() {
		return errEnded
	}
	if t.failed != nil {
		return t.refuse()
	}
	if t.d.dialect == SQLite {
		ctx = context.WithoutCancel(ctx) // cancelling an INSERT undoes everybody's work
	}
	t.d.statements.Add(1)
	t.statements++
	err := translate(step(ctx))
	if err != nil && !errors.Is(err, ErrNotFound) {
		t.failed = err
	}
	return err
}

func (t *tx) refuse() error { return fmt.Errorf("transaction has failed already: %w", t.failed) }

// control runs a statement of transaction control, which Statements does not count.
func (t *tx) control(ctx context.Context, query string) error {
	if t.d.dialect == SQLite {
		ctx = context.WithoutCancel(ctx)
	}
	_, err := t.session.exec(ctx, query, nil)
	if err = translate(err); err != nil && t.failed == nil {
		t.failed = err
	}
	return err
}

// run calls the closure once.
func (t *tx) run(ctx context.Context, fn func(ctx context.Context) error) error {
	defer t.ended.Store(true)
	err := fn(intx.With(ctx, t))
	if err == nil {
		err = t.failed
	}
	return err
}

func (d *DB) inPostgres(ctx context.Context, fn func(ctx context.Context) error) ([]func(), error) {
	for attempt := 1; ; attempt++ {
		after, err := d.oncePostgres(ctx, fn)
		if err == nil || attempt == 6 || !retryable(err) {
			return after, err
		}
		pause := time.NewTimer(time.Duration(attempt) * rand.N(10*time.Millisecond))
		select {
		case <-pause.C:
		case <-ctx.Done():
			pause.Stop()
			return nil, ctx.Err()
		}
	}
}

func (d *DB) oncePostgres(ctx context.Context, fn func(ctx context.Context) error) (after []func(), failure error) {
	ptx, err := d.pool.Begin(ctx)
	if err != nil {
		return nil, d.lost(translate(err))
	}
	began := time.Now()
	end := func(step func(ctx context.Context) error) error { // however long the closure took
		last, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
		defer cancel()
		return step(last)
	}
	defer end(ptx.Rollback) //nolint:errcheck // does nothing after a commit; also runs when fn panics
	t := &tx{d: d, session: pgSession{ptx}, pg: ptx}
	defer func() { d.ended(ctx, began, Transaction{Statements: t.statements, Rows: t.rows, Err: failure}) }()
	if err := t.run(ctx, fn); err != nil {
		return nil, d.lost(err)
	}
	return t.after, d.lost(translate(end(ptx.Commit)))
}

package db

import (
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"runtime"
	"sync"
	"time"
)

// A batch is committed when no caller waits any more, and at the latest at these limits.
const (
	batchTurns = 64
	batchTime  = 10 * time.Millisecond
)

// group lets many callers share the commits of SQLite's one writer. A goroutine
// gives turns; each caller runs its closure itself, in its own goroutine, in the
// transaction that the batch shares, and as a savepoint of it where others ran before.
type group struct {
	d     *DB
	stall time.Duration
	queue chan *turn // unbuffered: a caller who hands a turn over is served at once
	stop  func()     // closes over
	over  chan struct{}
	done  chan struct{}
}

// turn is one caller's closure and its way to an answer.
type turn struct {
	next chan step  // to the caller: run in a transaction, or the answer
	ran  chan error // from the caller: how the run ended

	failure error // of a closure that may have met what others in its batch wrote
}

// step tells a caller to run in tx, or, where tx is nil, how its turn ended.
type step struct {
	tx  *sql.Tx
	err error
}

var errUnwound = errors.New("closure did not return") // a panic, or runtime.Goexit in a test

func startGroup(d *DB, stall time.Duration) *group {
	g := &group{d: d, stall: stall, queue: make(chan *turn), over: make(chan struct{}), done: make(chan struct{})}
	g.stop = sync.OnceFunc(func() { close(g.over) })
	go g.serve() // ends in close
	return g
}

func (g *group) close() {
	g.stop()
	<-g.done
}

// inTx waits for a turn, runs fn in it as often as it is asked to, and returns the
// hooks of the run that was committed.
func (g *group) inTx(ctx context.Context, fn func(ctx context.Context) error) ([]func(), error) {
	r := &turn{next: make(chan step, 2), ran: make(chan error, 1)}
	if err := g.enqueue(ctx, r); err != nil {
		return nil, err
	}
	ctx = context.WithoutCancel(ctx)
	var t *tx
	for {
		s := <-r.next
		if s.tx == nil {
			if s.err != nil {
				return nil, s.err
			}
			return t.after, nil
		}
		t = &tx{d: g.d, session: sqlSession{s.tx}, sql: s.tx}
		r.run(ctx, t, fn)
	}
}

func (g *group) enqueue(ctx context.Context, r *turn) error {
	select {
	case g.queue <- r:
		return nil
	default:
	}
	patience := time.NewTimer(6 * g.stall)
	defer patience.Stop()
	select {
	case g.queue <- r:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-g.over:
		return translate(ErrClosed)
	case <-patience.C:
		return translate(ErrStalled)
	}
}

// run reports to the writer however the closure ends, so that a panic goes up its
// own caller's stack and harms no other caller.
func (r *turn) run(ctx context.Context, t *tx, fn func(ctx context.Context) error) {
	err, began := errUnwound, time.Now()
	defer func() {
		t.d.ended(ctx, began, Transaction{Statements: t.statements, Rows: t.rows, Err: err})
		r.ran <- err
	}()
	err = t.run(ctx, fn)
}

func (g *group) serve() {
	defer close(g.done)
	watchdog := time.AfterFunc(time.Hour, g.report)
	defer watchdog.Stop()
	for {
		select {
		case r := <-g.queue:
			g.batch(r, watchdog)
		case <-g.over:
			return
		}
	}
}

// batch serves r and everybody who is waiting by then in one transaction.
func (g *group) batch(r *turn, watchdog *time.Timer) {
	tx, err := g.d.writer.BeginTx(context.Background(), nil)
	if err != nil {
		r.next <- step{err: translate(err)}
		return
	}
	began := time.Now()
	if failure := g.turn(tx, r, watchdog); failure != nil { // no other turn is in the transaction yet
		_ = tx.Rollback() // SQLite may have done so itself
		r.next <- step{err: failure}
		return
	}
	done := []*turn{r} // waiting for the commit
	turns := 1
	for err == nil && turns < batchTurns && time.Since(began) < batchTime {
		if r = g.waiting(); r == nil {
			break
		}
		turns++
		var hangs bool
		if hangs, err = g.behind(tx, r, watchdog); hangs {
			done = append(done, r)
		}
	}
	if err == nil {
		err = tx.Commit()
	}
	if err != nil {
		_ = tx.Rollback() // SQLite may have done so itself
		if turns > 1 {    // another caller may be to blame
			g.d.log.Warn("database batch undone, its transactions are run again one by one",
				slog.Int("transactions", len(done)), slog.Any("error", err))
			for _, r := range done {
				g.alone(r, watchdog)
			}
			return
		}
	}
	g.d.indexer.Load().written()
	for _, r := range done {
		if err == nil {
			r.next <- step{err: r.failure}
			continue
		}
		r.next <- step{err: translate(err)}
	}
}

// waiting returns the next turn of the queue, or nil if the queue is empty.
func (g *group) waiting() *turn {
	select {
	case r := <-g.queue:
		return r
	default:
		return nil
	}
}

// behind gives r its turn after others in the batch's transaction, as a savepoint. It
// says whether r's answer hangs on the commit, as that of a failure does too:
// a caller who hears of what others wrote must find it. An error means that the transaction is lost.
func (g *group) behind(tx *sql.Tx, r *turn, watchdog *time.Timer) (bool, error) {
	if _, err := tx.ExecContext(context.Background(), "SAVEPOINT turn"); err != nil {
		return true, err
	}
	if failure := g.turn(tx, r, watchdog); failure != nil {
		_, err := tx.ExecContext(context.Background(), "ROLLBACK TO turn")
		if err == nil {
			_, err = tx.ExecContext(context.Background(), "RELEASE turn")
		}
		if !errors.Is(failure, errUnwound) { // one that did not return is not there for a second run
			r.failure = failure
			return true, err
		}
		r.next <- step{err: failure}
		return false, err
	}
	_, err := tx.ExecContext(context.Background(), "RELEASE turn")
	return true, err
}

// alone gives r a transaction of its own after its batch was undone.
func (g *group) alone(r *turn, watchdog *time.Timer) {
	tx, err := g.d.writer.BeginTx(context.Background(), nil)
	if err == nil {
		if failure := g.turn(tx, r, watchdog); failure != nil {
			_ = tx.Rollback()
			r.next <- step{err: failure}
			return
		}
		if err = tx.Commit(); err != nil {
			_ = tx.Rollback()
		}
	}
	r.next <- step{err: translate(err)}
}

func (g *group) turn(tx *sql.Tx, r *turn, watchdog *time.Timer) error {
	watchdog.Reset(g.stall)
	r.next <- step{tx: tx}
	err := <-r.ran
	watchdog.Stop()
	return err
}

// report logs who holds the writer for too long: mostly a closure that used the
// outer ctx and now waits for itself.
func (g *group) report() {
	stacks := make([]byte, 1<<20)
	stacks = stacks[:runtime.Stack(stacks, true)]
	g.d.log.Error("one transaction holds the database's writer for too long; does its closure use the outer context?",
		slog.Duration("after", g.stall), slog.String("stacks", string(stacks)))
}

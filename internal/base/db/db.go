// Package db is the SQL kit: one way to open, query and change SQLite and
// PostgreSQL with the same hand-written text.
//
// Queries use ? marks on both engines and bind every value. Times are bound in
// UTC, cut to microseconds; typed ids and typed strings are bound as what they
// are made of. A transaction travels in the context: everything called with the
// context of an [DB.InTx] closure takes part in it.
//
// Text columns of PostgreSQL must be COLLATE "C", so that both engines sort
// alike. A migration gets that by writing the word {{text}}; see [DB.Migrate].
package db

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"tenon/internal/base/lru"
)

// Config says which database to open and how. Only URL is needed.
type Config struct {
	// URL is "sqlite:<path>", a plain path (SQLite as well), or "postgres://...".
	URL    string
	Logger *slog.Logger // nil discards
	// Readers is the number of connections that read: 4 on SQLite where zero. On
	// PostgreSQL it is the size of the whole pool, 10 where zero.
	Readers int
	// Stall is how long one closure may hold the writer of SQLite before the stacks of
	// all goroutines are logged, 5 s where zero. Callers that have waited six times as
	// long for the writer give up with ErrStalled.
	Stall time.Duration
	// Reporting is how often the log says that a migration is still running, 5 s where zero.
	Reporting time.Duration
	// NoSync leaves out fsync on SQLite. A crash of the machine then loses or breaks the
	// file, so this is for tests alone.
	NoSync bool
}

// DB is one open database. It is safe for concurrent use.
type DB struct {
	dialect    Dialect
	log        *slog.Logger
	patience   time.Duration // of quick reads
	reporting  time.Duration // see Config.Reporting
	slow       chan struct{} // as many as slow reads that run
	statements atomic.Uint64
	unindexed  atomic.Bool // texts have no indexes, see IndexTrigrams
	trace      atomic.Pointer[func(query string, args []any)]
	observe    atomic.Pointer[func(ctx context.Context, s Statement)]
	observeTx  atomic.Pointer[func(ctx context.Context, t Transaction)]
	rebound    textCache
	known      *lru.Cache // see Known
	columns    sync.Map   // reflect.Type of a row to []column
	fields     sync.Map   // reflect.Type of a row to fields
	plans      sync.Map   // planKey to plan
	dependents sync.Map   // name of a table to []Dependent

	pool    *pgxpool.Pool // PostgreSQL
	path    string        // SQLite: of the file, as given
	writer  *sql.DB       // SQLite: one connection
	reader  *sql.DB       // SQLite: query_only connections
	noSync  bool          // SQLite: commits never wait for the disk
	readers int           // SQLite: how many of them
	file    string        // SQLite: its absolute path
	busy    time.Duration // SQLite: how long a connection waits for the locks of other programs
	group   *group        // SQLite: whose turn it is to write
	indexer atomic.Pointer[indexer]
}

// Open connects to a database and, on SQLite, creates the file where it is
// missing. The schema is left alone: see [DB.Migrate].
func Open(ctx context.Context, cfg Config) (*DB, error) {
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.Stall == 0 {
		cfg.Stall = 5 * time.Second
	}
	if cfg.Reporting == 0 {
		cfg.Reporting = 5 * time.Second
	}
	d := &DB{log: cfg.Logger, reporting: cfg.Reporting, known: lru.New(knownBytes)}
	var err error
	switch {
	case strings.HasPrefix(cfg.URL, "postgres://"), strings.HasPrefix(cfg.URL, "postgresql://"):
		d.dialect = Postgres
		err = d.openPostgres(ctx, cfg)
	case strings.TrimPrefix(cfg.URL, "sqlite:") == "":
		return nil, fmt.Errorf("open database: no path in %q", cfg.URL)
	default:
		d.dialect = SQLite
		d.path = strings.TrimPrefix(cfg.URL, "sqlite:")
		if err = d.openSQLite(ctx, d.path, cfg); err != nil {
			err = unopened("SQLite database "+d.path, err, sqliteAdvice(d.path, err))
		}
	}
	if err != nil {
		return nil, err
	}
	return d, nil
}

// knownBytes is how much memory Known takes.
const knownBytes = 256 << 10

// Known keeps what a caller knows of this database for a while, by a key of a type of its own.
// What it forgets is asked again.
func (d *DB) Known() *lru.Cache { return d.known }

// Close waits for running statements and closes every connection. Transactions
// begun later fail.
func (d *DB) Close() error {
	if d.pool != nil {
		d.pool.Close()
		return nil
	}
	if x := d.indexer.Load(); x != nil {
		x.close()
	}
	d.group.close()
	err := d.reader.Close()
	if werr := d.writer.Close(); err == nil { // the last to close folds the WAL into the file
		err = werr
	}
	return err
}

// Ping asks the database for a sign of life.
func (d *DB) Ping(ctx context.Context) error {
	_, err := Get[int](ctx, d, "SELECT 1")
	return err
}

// Trace shows each statement with its bound arguments to f before it runs, until stop is
// called. It is for tests; there is one f at a time.
func (d *DB) Trace(f func(query string, args []any)) (stop func()) {
	d.trace.Store(&f)
	return func() { d.trace.Store(nil) }
}

// Statement is one statement that ended.
type Statement struct {
	Query string    // with marks for its values, which are not known
	Write bool      // or it reads
	Began time.Time // when it was given, so that waiting for a connection counts
	Err   error
}

// Observe tells f of each statement when it ended, with the context that it ran with. There
// is one f at a time; it must be quick.
func (d *DB) Observe(f func(ctx context.Context, s Statement)) { d.observe.Store(&f) }

// Transaction is one run of a transaction that ended, or a statement outside of a transaction
// that wrote.
type Transaction struct {
	Statements int           // that ran in it
	Rows       int64         // that its statements wrote; what a statement returned is not counted
	Took       time.Duration // from its first moment to its last, with the commit on PostgreSQL
	Err        error         // of one that was undone
}

// ObserveTransactions calls f for each transaction when it ended, with the context that it was
// begun with. On SQLite it is the time for which the transaction kept the writer. There is
// one f at a time; it must be quick.
func (d *DB) ObserveTransactions(f func(ctx context.Context, t Transaction)) { d.observeTx.Store(&f) }

// ended calls the function of ObserveTransactions.
func (d *DB) ended(ctx context.Context, began time.Time, t Transaction) {
	if f := d.observeTx.Load(); f != nil {
		t.Took = time.Since(began)
		(*f)(ctx, t)
	}
}

// Size is how many bytes the database takes on its disk.
func (d *DB) Size(ctx context.Context) (int64, error) {
	if d.dialect == Postgres {
		return Get[int64](ctx, d, "SELECT pg_database_size(current_database())")
	}
	var size int64
	for _, end := range []string{"", "-wal"} {
		info, err := os.Stat(d.path + end)
		if err == nil {
			size += info.Size()
		} else if !errors.Is(err, fs.ErrNotExist) {
			return 0, fmt.Errorf("look at database: %w", err)
		}
	}
	return size, nil
}

// Dialect says which engine this is.
func (d *DB) Dialect() Dialect { return d.dialect }

// Statements is the exact number of statements run so far, transaction control
// left out. Tests compare two readings.
func (d *DB) Statements() uint64 { return d.statements.Load() }

// Pools returns the engine's own handles for packages that bring their own SQL, such as
// the job queue: the writer of SQLite or the pool of PostgreSQL, the other is nil.
// The writer has one connection: never use it inside a transaction.
func (d *DB) Pools() (*sql.DB, *pgxpool.Pool) { return d.writer, d.pool }

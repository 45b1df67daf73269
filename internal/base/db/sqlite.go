package db

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"modernc.org/sqlite"
)

// openSQLite opens the one connection that writes and the few that read. Memory is
// about 4 MB of cache for the writer and 2 MB for each reader at most; the file is
// not mapped, because mapped pages count as the server's memory.
func (d *DB) openSQLite(ctx context.Context, path string, cfg Config) error {
	path, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	if err := create(path); err != nil {
		return err
	}
	sync := "FULL"
	if cfg.NoSync {
		sync = "OFF"
	}
	// Who waits for another program's lock gives up before Stall's callers do.
	d.busy = 2 * cfg.Stall
	d.writer, err = sqlitePool(path, 1, busyTimeout(d.busy), "_txlock=immediate", "_pragma=journal_mode(WAL)", "_pragma=synchronous("+sync+")",
		"_pragma=cache_size(-4096)", "_pragma=journal_size_limit(33554432)")
	if err != nil {
		return err
	}
	if err = d.writer.PingContext(ctx); err != nil {
		_ = d.writer.Close()
		return translate(err)
	}
	if err = private(path); err != nil {
		_ = d.writer.Close()
		return err
	}
	if cfg.Readers == 0 {
		cfg.Readers = 4
	}
	if d.reader, err = sqlitePool(path, cfg.Readers, busyTimeout(min(busyRead, d.busy)), queryOnly, "_pragma=cache_size(-2048)"); err != nil {
		_ = d.writer.Close()
		return err
	}
	d.readers, d.noSync, d.file = cfg.Readers, cfg.NoSync, path
	d.share(cfg.Readers)
	d.group = startGroup(d, cfg.Stall)
	return nil
}

// create makes the file where it is missing, for this user alone. It opens no file that is
// there: closing it would end the locks that this process has on it.
func create(path string) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return f.Close()
}

// private keeps others from reading a database and the files beside it, whatever the folder
// allows. It comes after SQLite has read the file: a file named by mistake stays as it is.
func private(path string) error {
	for _, end := range []string{"", "-wal", "-shm", "-journal"} {
		info, err := os.Stat(path + end)
		if err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o077 != 0 {
			err = os.Chmod(path+end, 0o600)
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("keep others from reading the database: %w", err)
		}
	}
	return nil
}

// busyRead is how long SQLite waits for the lock of another program before a read begins. The wait goes on in [DB.attempt],
// which looks at the context in between: SQLite does not.
const (
	busyRead  = 20 * time.Millisecond
	busyAgain = time.Millisecond
)

func busyTimeout(d time.Duration) string {
	return fmt.Sprintf("_pragma=busy_timeout(%d)", d.Milliseconds())
}

// queryOnly marks the connections that read.
const queryOnly = "_pragma=query_only(1)"

func sqlitePool(path string, conns int, options ...string) (*sql.DB, error) {
	if err := keepJournals(); err != nil {
		return nil, err
	}
	file := url.URL{Scheme: "file", Path: path}
	options = append([]string{"_pragma=foreign_keys(1)", "_time_format=sqlite", "_timezone=UTC", "_dqs=0"}, options...)
	c, err := sqlite.NewConnector(file.String() + "?" + strings.Join(options, "&"))
	if err != nil {
		return nil, err
	}
	pool := sql.OpenDB(cachingConnector{Connector: c, reads: slices.Contains(options, queryOnly)})
	pool.SetMaxOpenConns(conns)
	pool.SetMaxIdleConns(conns)
	return pool, nil
}

const (
	// cachedStatements is how many prepared statements a connection keeps, and cachedLong how many of those
	// from longQuery up to maxCached bytes, which take much memory and much time to prepare.
	cachedStatements = 300
	cachedLong       = 8
	maxCached        = 256 << 10
)

// cachingConnector makes connections that keep their statements prepared, which
// saves more than half of the time of a small statement.
type cachingConnector struct {
	driver.Connector
	reads bool // what they run ends with its context
}

func (c cachingConnector) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	handle, err := handleOf(conn)
	if err == nil {
		err = stablePlans(handle)
	}
	if err != nil {
		_ = conn.Close()
		return nil, err
	}
	caching := &cachingConn{liteConn: conn.(liteConn), short: statements{max: cachedStatements}, long: statements{max: cachedLong}}
	if c.reads {
		caching.handle = handle
	}
	return caching, nil
}

// liteConn is what the driver's connections can do beside the minimum.
type liteConn interface {
	driver.Conn
	driver.ConnBeginTx
	driver.ConnPrepareContext
	driver.ExecerContext
	driver.QueryerContext
	driver.Pinger
	driver.SessionResetter
	driver.Validator
}

type liteStmt interface {
	driver.Stmt
	driver.StmtExecContext
	driver.StmtQueryContext
}

// cachingConn is a connection, so only one goroutine uses it at a time.
type cachingConn struct {
	liteConn
	short, long statements
	handle      uintptr // see handleOf; 0 on the connection that writes
}

// statements are prepared and not running.
type statements struct {
	max  int
	free map[string]liteStmt
}

// kept is where a statement with this text is kept.
func (c *cachingConn) kept(query string) *statements {
	if len(query) >= longQuery {
		return &c.long
	}
	return &c.short
}

// take returns a prepared statement, or nil for a text that must not be kept.
func (c *cachingConn) take(ctx context.Context, query string) (liteStmt, error) {
	if len(query) >= maxCached || strings.Contains(strings.TrimRight(query, "; \t\n"), ";") {
		return nil, nil
	}
	kept := c.kept(query)
	if s, ok := kept.free[query]; ok {
		delete(kept.free, query)
		return s, nil
	}
	s, err := c.PrepareContext(ctx, query)
	if err != nil {
		return nil, err
	}
	return s.(liteStmt), nil
}

// put keeps a statement for its next use, in place of any other where there are too many.
func (c *cachingConn) put(query string, s liteStmt) {
	kept := c.kept(query)
	if old, ok := kept.free[query]; ok { // the same text ran within its own rows
		_ = old.Close()
	} else if len(kept.free) >= kept.max {
		for other, old := range kept.free {
			_ = old.Close()
			delete(kept.free, other)
			break
		}
	}
	if kept.free == nil {
		kept.free = make(map[string]liteStmt)
	}
	kept.free[query] = s
}

func (c *cachingConn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	s, err := c.take(ctx, query)
	if err != nil {
		return nil, err
	}
	if s == nil {
		return c.liteConn.ExecContext(ctx, query, args)
	}
	defer c.put(query, s)
	return s.ExecContext(ctx, args)
}

func (c *cachingConn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	ctx = ending(ctx)
	s, err := c.take(ctx, query)
	if err != nil {
		return nil, err
	}
	run, put := c.liteConn.QueryContext, func() {}
	if s != nil {
		run = func(ctx context.Context, _ string, args []driver.NamedValue) (driver.Rows, error) {
			return s.QueryContext(ctx, args)
		}
		put = func() { c.put(query, s) }
	}
	unwatch := c.watch(ctx)
	rows, err := run(c.unending(ctx), query, args)
	if err != nil {
		unwatch()
		put()
		return nil, interrupted(ctx, err)
	}
	return &cachedRows{Rows: rows, ctx: ctx, put: put, unwatch: unwatch}, nil
}

// Close ends the statements before their connection.
func (c *cachingConn) Close() error {
	c.forget()
	return c.liteConn.Close()
}

// forget ends the statements that do not run.
func (c *cachingConn) forget() {
	for _, kept := range []*statements{&c.short, &c.long} {
		for _, s := range kept.free {
			_ = s.Close()
		}
		kept.free = nil
	}
}

// cachedRows gives its statement back when it is closed.
type cachedRows struct {
	driver.Rows
	ctx     context.Context // that ends the statement
	put     func()
	unwatch func()
}

func (r *cachedRows) Next(row []driver.Value) error {
	return interrupted(r.ctx, r.Rows.Next(row))
}

func (r *cachedRows) Close() error {
	r.unwatch()
	err := r.Rows.Close()
	if r.put != nil {
		r.put()
		r.put = nil
	}
	return err
}

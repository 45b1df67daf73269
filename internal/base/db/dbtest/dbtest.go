// Package dbtest gives each test a fresh database on every engine at hand: SQLite
// always, PostgreSQL where TENON_TEST_DATABASE_URL names a server whose user may
// create databases, or where PostgreSQL is installed.
package dbtest

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"tenon/internal/base/db"
	"tenon/internal/base/db/dbtest/pgserver"
	"tenon/internal/base/job"
	"tenon/migrations"
)

// Each runs fn as a parallel subtest for each engine, with a database that has the
// whole schema, the job queue's included, and no rows.
func Each(t *testing.T, fn func(t *testing.T, d *db.DB)) {
	t.Helper()
	each(t, process().full, fn)
}

// Empty is Each without a schema.
func Empty(t *testing.T, fn func(t *testing.T, d *db.DB)) {
	t.Helper()
	each(t, process().none, fn)
}

// Open returns one SQLite database with the whole schema, for benchmarks and for tests
// that have nothing to do with SQL. With sync it is as durable as in production.
func Open(tb testing.TB, sync bool) *db.DB {
	tb.Helper()
	return openSQLite(tb, process().full, !sync)
}

// OpenPostgres returns one PostgreSQL database with the whole schema, or skips.
func OpenPostgres(tb testing.TB) *db.DB {
	tb.Helper()
	return openPostgres(tb, process().full)
}

// Count is the number of statements that fn runs.
func Count(tb testing.TB, d *db.DB, fn func()) int {
	tb.Helper()
	before := d.Statements()
	fn()
	return int(d.Statements() - before)
}

func each(t *testing.T, s *schema, fn func(t *testing.T, d *db.DB)) {
	t.Helper()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		fn(t, openSQLite(t, s, true))
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		fn(t, openPostgres(t, s))
	})
}

// schema is a state of the database that tests start from.
type schema struct {
	migrate func(ctx context.Context, d *db.DB) error
	key     func() (string, error) // changes with the schema

	lite  func() ([]byte, error) // an SQLite file
	plate func() (string, error) // the name of a PostgreSQL template
}

// shared is what the tests of one process have in common.
type shared struct {
	server     func() (string, error) // the server's URL
	own        *pgserver.Server       // ends when nothing refers to it, so it is kept here
	admin      func() (*pgxpool.Pool, error)
	full, none *schema
}

// process is a global, because no hook runs before the first and after the last test.
var process = sync.OnceValue(func() *shared {
	p := &shared{}
	p.server = sync.OnceValues(p.findServer)
	p.admin = sync.OnceValues(p.connect)
	p.full = p.schema(migrateAll, func() (string, error) { return digest(migrations.FS) })
	p.none = p.schema(func(context.Context, *db.DB) error { return nil }, func() (string, error) { return "empty", nil })
	return p
})

func (p *shared) schema(migrate func(context.Context, *db.DB) error, key func() (string, error)) *schema {
	s := &schema{migrate: migrate, key: key}
	s.lite = sync.OnceValues(s.file)
	s.plate = sync.OnceValues(func() (string, error) { return s.template(p) })
	return s
}

func migrateAll(ctx context.Context, d *db.DB) error {
	if err := d.Migrate(ctx, migrations.FS); err != nil {
		return err
	}
	return job.Migrate(ctx, d)
}

func digest(files fs.FS) (string, error) {
	sum := sha256.New()
	err := fs.WalkDir(files, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := fs.ReadFile(files, path)
		fmt.Fprintf(sum, "%s %d\n%s", path, len(text), text)
		return err
	})
	return fmt.Sprintf("%x", sum.Sum(nil)[:8]), err
}

// file builds the SQLite file once; every test gets a copy.
func (s *schema) file() ([]byte, error) {
	dir, err := os.MkdirTemp("", "tenon-sqlite-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "template.db")
	if err := s.build(context.Background(), path); err != nil {
		return nil, err
	}
	return os.ReadFile(path)
}

func (s *schema) build(ctx context.Context, address string) error {
	d, err := db.Open(ctx, db.Config{URL: address, NoSync: true, Readers: 2})
	if err != nil {
		return err
	}
	return errors.Join(s.migrate(ctx, d), d.Close())
}

func openSQLite(tb testing.TB, s *schema, noSync bool) *db.DB {
	tb.Helper()
	path := filepath.Join(tb.TempDir(), "test.db")
	s.copyTo(tb, path)
	return open(tb, db.Config{URL: path, NoSync: noSync})
}

// SQLiteFile makes an SQLite database with the whole schema at a path, for tests of programs
// that open their database themselves.
func SQLiteFile(tb testing.TB, path string) {
	tb.Helper()
	process().full.copyTo(tb, path)
}

func (s *schema) copyTo(tb testing.TB, path string) {
	tb.Helper()
	file, err := s.lite()
	if err != nil {
		tb.Fatalf("SQLite template: %v", err)
	}
	if err := os.WriteFile(path, file, 0o600); err != nil {
		tb.Fatal(err)
	}
}

func open(tb testing.TB, cfg db.Config) *db.DB {
	tb.Helper()
	cfg.Logger = slog.New(slog.NewTextHandler(tb.Output(), &slog.HandlerOptions{Level: slog.LevelWarn}))
	cfg.Stall = 3 * time.Second
	d, err := db.Open(context.WithoutCancel(tb.Context()), cfg)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := d.Close(); err != nil {
			tb.Errorf("close database: %v", err)
		}
	})
	return d
}

// findServer returns the URL of the server to test on. A cluster of our own ends with
// the process.
func (p *shared) findServer() (string, error) {
	if given := os.Getenv("TENON_TEST_DATABASE_URL"); given != "" {
		return given, nil
	}
	var err error
	if p.own, err = pgserver.Start(); err != nil {
		return "", err
	}
	return p.own.URL, nil
}

// connect opens the pool that makes and drops databases. It ends with the process.
func (p *shared) connect() (*pgxpool.Pool, error) {
	server, err := p.server()
	if err != nil {
		return nil, err
	}
	return pgxpool.New(context.Background(), server)
}

// PostgresURL makes a PostgreSQL database with the whole schema and returns its URL, or
// skips, for tests of programs that open their database themselves.
func PostgresURL(tb testing.TB) string {
	tb.Helper()
	return postgresURL(tb, process().full)
}

func openPostgres(tb testing.TB, s *schema) *db.DB {
	tb.Helper()
	return open(tb, db.Config{URL: postgresURL(tb, s), Readers: 8})
}

func postgresURL(tb testing.TB, s *schema) string {
	tb.Helper()
	server, err := process().server()
	if err != nil {
		tb.Skipf("PostgreSQL: skipped (%v)", err)
	}
	plate, err := s.plate()
	if err != nil {
		tb.Fatalf("PostgreSQL template: %v", err)
	}
	return created(tb, server, func(conn *pgx.Conn) string { return "TEMPLATE " + plate + copyFiles(conn) })
}

// PostgresEncoded makes an empty PostgreSQL database of an encoding and returns its URL, or skips.
func PostgresEncoded(tb testing.TB, encoding string) string {
	tb.Helper()
	server, err := process().server()
	if err != nil {
		tb.Skipf("PostgreSQL: skipped (%v)", err)
	}
	return created(tb, server, func(*pgx.Conn) string {
		return "TEMPLATE template0 ENCODING '" + encoding + "' LC_COLLATE 'C' LC_CTYPE 'C'"
	})
}

// created makes a database that is dropped when the test ends, and returns its URL.
func created(tb testing.TB, server string, how func(conn *pgx.Conn) string) string {
	tb.Helper()
	name := "tenon_test_" + strings.ToLower(rand.Text()[:12])
	ctx := context.WithoutCancel(tb.Context()) // cleaning up comes after its end
	pool, err := process().admin()
	if err == nil {
		err = pool.AcquireFunc(ctx, func(conn *pgxpool.Conn) error {
			return whileBusy(ctx, conn.Conn(), "CREATE DATABASE "+name+" "+how(conn.Conn()))
		})
	}
	if err != nil {
		tb.Fatalf("create database: %v", err)
	}
	tb.Cleanup(func() {
		if _, err := pool.Exec(ctx, "DROP DATABASE "+name+" WITH (FORCE)"); err != nil {
			tb.Errorf("drop database: %v", err)
		}
	})
	return within(server, name)
}

// copyFiles has a new database copied as files, which takes a sixth of the processor time of
// the default since PostgreSQL 15; before it was the only way.
func copyFiles(conn *pgx.Conn) string {
	major, _, _ := strings.Cut(conn.PgConn().ParameterStatus("server_version"), ".")
	if n, err := strconv.Atoi(major); err != nil || n < 15 {
		return ""
	}
	return " STRATEGY file_copy"
}

// template builds the database that tests copy, unless another process has done so.
func (s *schema) template(p *shared) (string, error) {
	server, err := p.server()
	if err != nil {
		return "", err
	}
	key, err := s.key()
	if err != nil {
		return "", err
	}
	name, draft := "tenon_template_"+key, "tenon_draft_"+key
	ctx := context.Background()
	return name, asAdmin(ctx, server, func(conn *pgx.Conn) error {
		if _, err := conn.Exec(ctx, "SELECT pg_advisory_lock(hashtextextended('tenon_template', 0))"); err != nil {
			return err
		}
		var exists bool
		err := conn.QueryRow(ctx, "SELECT EXISTS (SELECT 1 FROM pg_database WHERE datname = $1)", name).Scan(&exists)
		if err != nil || exists {
			return err
		}
		if _, err := conn.Exec(ctx, "DROP DATABASE IF EXISTS "+draft+" WITH (FORCE)"); err != nil {
			return err
		}
		if _, err := conn.Exec(ctx, "CREATE DATABASE "+draft+" TEMPLATE template0 ENCODING 'UTF8' LC_COLLATE 'C' LC_CTYPE 'C'"); err != nil {
			return err
		}
		if err := s.build(ctx, within(server, draft)); err != nil {
			return err
		}
		return whileBusy(ctx, conn, "ALTER DATABASE "+draft+" RENAME TO "+name)
	})
}

// asAdmin connects to the server's own database; locks end with the connection.
func asAdmin(ctx context.Context, server string, fn func(conn *pgx.Conn) error) error {
	conn, err := pgx.Connect(ctx, server)
	if err != nil {
		return err
	}
	return errors.Join(fn(conn), conn.Close(ctx))
}

// whileBusy repeats a statement as long as a closed connection still lingers in the
// database that it copies or renames.
func whileBusy(ctx context.Context, conn *pgx.Conn, statement string) error {
	for attempt := 0; ; attempt++ {
		_, err := conn.Exec(ctx, statement)
		var pg *pgconn.PgError
		if !errors.As(err, &pg) || pg.Code != "55006" || attempt == 100 {
			return err
		}
		if _, err := conn.Exec(ctx, "SELECT pg_sleep(0.05)"); err != nil {
			return err
		}
	}
}

// within is the URL of another database of the same server.
func within(server, name string) string {
	u, err := url.Parse(server)
	if err != nil {
		return server // pgx has accepted it, so this is no URL but key=value pairs, which Open refuses
	}
	u.Path = "/" + name
	return u.String()
}

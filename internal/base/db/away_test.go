package db_test

import (
	"context"
	"database/sql"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/base/db/dbtest"
)

// TestDB_locked has another program write to the file of SQLite for a long time.
func TestDB_locked(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "x.db")
	d, err := db.Open(t.Context(), db.Config{URL: path, Stall: 50 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	exec(t, d, "CREATE TABLE a (n BIGINT)")
	other, err := sql.Open("sqlite", "file:"+path+"?_txlock=exclusive")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = other.Close() })
	lock, err := other.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.Exec(t.Context(), "INSERT INTO a (n) VALUES (1)"); !errors.Is(err, db.ErrUnavailable) {
		t.Errorf("a locked database: got %v, want ErrUnavailable", err)
	}
	if n := get[int](t, d, "SELECT count(*) FROM a"); n != 0 {
		t.Errorf("got %d rows, want none", n)
	}
	if err := lock.Rollback(); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Exec(t.Context(), "INSERT INTO a (n) VALUES (1)"); err != nil {
		t.Errorf("after the lock: %v", err)
	}
}

// TestDB_away takes PostgreSQL away in every way that there is, and brings it back.
func TestDB_away(t *testing.T) {
	t.Parallel()
	direct := dbtest.PostgresURL(t)
	proxy := dbtest.NewProxy(t, direct)
	d, err := db.Open(t.Context(), db.Config{URL: proxy.URL, Readers: 4})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	operator, err := db.Open(t.Context(), db.Config{URL: direct, Readers: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = operator.Close() })
	exec(t, d, "CREATE TABLE a (n BIGINT)")
	insert := func(ctx context.Context) error { _, err := d.Exec(ctx, "INSERT INTO a (n) VALUES (1)"); return err }
	ways := map[string]func(ctx context.Context) error{
		"read":        d.Ping,
		"write":       insert,
		"transaction": func(ctx context.Context) error { return d.InTx(ctx, insert) },
	}

	proxy.Cut()
	for name, way := range ways {
		for range 3 {
			if err := way(t.Context()); !errors.Is(err, db.ErrUnavailable) {
				t.Errorf("%s while the server is away: got %v, want ErrUnavailable", name, err)
			}
		}
	}
	proxy.Restore()
	for name, way := range ways {
		if err := way(t.Context()); err != nil {
			t.Errorf("%s once the server is back: %v", name, err)
		}
	}

	// The server goes in the middle of a transaction.
	err = d.InTx(t.Context(), func(ctx context.Context) error {
		if err := insert(ctx); err != nil {
			return err
		}
		if _, err := operator.Exec(t.Context(), "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"); err != nil {
			t.Error(err)
		}
		return insert(ctx)
	})
	if !errors.Is(err, db.ErrUnavailable) {
		t.Errorf("a transaction whose connection was ended: got %v, want ErrUnavailable", err)
	}
	for name, way := range ways {
		if err := way(t.Context()); err != nil {
			t.Errorf("%s after that: %v", name, err)
		}
	}
	if n := get[int](t, d, "SELECT count(*) FROM a"); n != 4 {
		t.Errorf("got %d rows, want the 4 that were acknowledged", n)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := d.Ping(ctx); !errors.Is(err, context.Canceled) || errors.Is(err, db.ErrUnavailable) {
		t.Errorf("a caller that went away: got %v, want context.Canceled alone", err)
	}
}

// What a closure says of something else is not taken for the database's.
func TestDB_InTx_foreignError(t *testing.T) {
	t.Parallel()
	dbtest.Empty(t, func(t *testing.T, d *db.DB) {
		err := d.InTx(t.Context(), func(context.Context) error { return io.ErrUnexpectedEOF })
		if !errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, db.ErrUnavailable) {
			t.Errorf("got %v, want it as it is", err)
		}
	})
}

// TestOpen_private keeps others from reading the files, also those of an older program in
// a folder that lets them in.
func TestOpen_private(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "x.db")
	files := []string{path, path + "-wal", path + "-shm"}
	check := func(when string) {
		t.Helper()
		for _, name := range files {
			info, err := os.Stat(name)
			if err != nil {
				t.Fatalf("%s: %v", when, err)
			}
			if got := info.Mode().Perm(); got != 0o600 {
				t.Errorf("%s: %s has mode %04o, want 0600", when, filepath.Base(name), got)
			}
		}
	}
	first, err := db.Open(t.Context(), db.Config{URL: path})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = first.Close() })
	exec(t, first, "CREATE TABLE a (n BIGINT)")
	check("a new file")
	for _, name := range files {
		if err := os.Chmod(name, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	second, err := db.Open(t.Context(), db.Config{URL: path})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = second.Close() })
	check("a file that is there")
}

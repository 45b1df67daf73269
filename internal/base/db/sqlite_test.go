package db

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

func openTemp(t *testing.T) *DB {
	t.Helper()
	// A name that would end the path, were it not escaped in the address.
	d, err := Open(t.Context(), Config{URL: filepath.Join(t.TempDir(), "a ?#%41.db")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	return d
}

func pragma(t *testing.T, pool *sql.DB, name string) string {
	t.Helper()
	var v string
	if err := pool.QueryRowContext(t.Context(), "PRAGMA "+name).Scan(&v); err != nil {
		t.Fatal(err)
	}
	return v
}

func TestOpen_sqlite(t *testing.T) {
	t.Parallel()
	d := openTemp(t)
	for name, want := range map[string]string{"journal_mode": "wal", "synchronous": "2", "foreign_keys": "1", "busy_timeout": "10000", "query_only": "0"} {
		if got := pragma(t, d.writer, name); got != want {
			t.Errorf("writer: %s is %s, want %s", name, got, want)
		}
	}
	for name, want := range map[string]string{"foreign_keys": "1", "query_only": "1"} {
		if got := pragma(t, d.reader, name); got != want {
			t.Errorf("reader: %s is %s, want %s", name, got, want)
		}
	}
	if _, err := d.Exec(t.Context(), "CREATE TABLE t (a INT)"); err != nil {
		t.Fatal(err)
	}
	if _, err := d.reader.ExecContext(t.Context(), "INSERT INTO t VALUES (1)"); err == nil {
		t.Error("a reader wrote")
	}
	// RETURNING outside a transaction goes to the writer.
	if got, err := Get[int](t.Context(), d, "INSERT INTO t VALUES (?) RETURNING a", 7); err != nil || got != 7 {
		t.Errorf("got %d, %v", got, err)
	}
	if _, err := Open(t.Context(), Config{URL: "sqlite:" + filepath.Join(t.TempDir(), "no", "such", "folder.db")}); err == nil {
		t.Error("a file in a missing folder was opened")
	}
	if _, err := Open(t.Context(), Config{URL: "sqlite:"}); err == nil {
		t.Error("an address without a path was opened")
	}
	if _, err := Open(t.Context(), Config{URL: "postgres://nobody@127.0.0.1:1/none?connect_timeout=1"}); err == nil {
		t.Error("a server that is not there was opened")
	}
}

func TestOpen_path(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "a ?#%41.db")
	d, err := Open(t.Context(), Config{URL: "sqlite:" + path})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); err != nil {
		t.Errorf("the file has another name: %v", err)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 1 {
		t.Errorf("after Close there are %v (%v), want the database alone, its log folded in", left, err)
	}
}

func TestCachingConn(t *testing.T) {
	t.Parallel()
	d := openTemp(t)
	ctx := t.Context()
	conn, err := d.writer.Conn(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	cached := func() (n int) {
		_ = conn.Raw(func(c any) error { n = len(c.(*cachingConn).short.free); return nil })
		return n
	}
	run := func(query string, args ...any) {
		t.Helper()
		if _, err := conn.ExecContext(ctx, query, args...); err != nil {
			t.Fatalf("%s: %v", query, err)
		}
	}
	run("CREATE TABLE t (a INT); INSERT INTO t VALUES (1); INSERT INTO t VALUES (2);")
	if n := cached(); n != 0 {
		t.Errorf("%d statements are kept after several in one text, want 0", n)
	}
	for range 3 {
		run("INSERT INTO t VALUES (?)", 3)
	}
	if n := cached(); n != 1 {
		t.Errorf("%d statements are kept after one text, want 1", n)
	}
	// The same text may run while its own rows are open.
	sum := 0
	const all = "SELECT a FROM t WHERE a < 3 ORDER BY a"
	rows, err := conn.QueryContext(ctx, all)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var a, b int
		if err := rows.Scan(&a); err != nil {
			t.Fatal(err)
		}
		if err := conn.QueryRowContext(ctx, all).Scan(&b); err != nil {
			t.Fatal(err)
		}
		sum += a + b
	}
	if err := rows.Err(); err != nil || sum != 5 {
		t.Errorf("nested rows gave %d (%v), want 5", sum, err)
	}
	// A statement that failed, and one whose table has changed since, work again.
	run("CREATE UNIQUE INDEX u ON t (a) WHERE a < 3")
	const add = "INSERT INTO t VALUES (?) RETURNING *"
	var got int
	if err := conn.QueryRowContext(ctx, add, 1).Scan(&got); err == nil {
		t.Error("a duplicate was inserted")
	}
	run("ALTER TABLE t ADD COLUMN b INT DEFAULT 9")
	if err := conn.QueryRowContext(ctx, add, 4).Scan(&got); err == nil {
		t.Error("one value was inserted into two columns")
	}
	two, err := conn.QueryContext(ctx, "SELECT * FROM t WHERE a = 2")
	if err != nil {
		t.Fatal(err)
	}
	defer two.Close()
	if cols, err := two.Columns(); err != nil || len(cols) != 2 {
		t.Errorf("got columns %v (%v), want both", cols, err)
	}
	if err := two.Close(); err != nil || two.Err() != nil {
		t.Errorf("close: %v, %v", err, two.Err())
	}
	for i := range cachedStatements + 50 {
		run(fmt.Sprintf("SELECT %d", i))
	}
	if n := cached(); n != cachedStatements {
		t.Errorf("%d statements are kept, want %d", n, cachedStatements)
	}
}

func TestDB_readers(t *testing.T) {
	t.Parallel()
	d := openTemp(t)
	ctx := t.Context()
	if _, err := d.Exec(ctx, "CREATE TABLE t (a INT)"); err != nil {
		t.Fatal(err)
	}
	if err := d.InTx(ctx, func(tx context.Context) error {
		if _, err := d.Exec(tx, "INSERT INTO t VALUES (1)"); err != nil {
			return err
		}
		n, err := Get[int](ctx, d, "SELECT count(*) FROM t") // reads go on while a caller writes
		if err != nil || n != 0 {
			t.Errorf("a reader saw %d rows (%v), want 0", n, err)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if n, err := Get[int](ctx, d, "SELECT count(*) FROM t"); err != nil || n != 1 {
		t.Errorf("a reader saw %d rows after the commit (%v), want 1", n, err)
	}
}

// A caller who closes on several ways out need not count them.
func TestDB_Close_twice(t *testing.T) {
	t.Parallel()
	d := openTemp(t) // its cleanup closes once more
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	err := d.InTx(t.Context(), func(context.Context) error { return nil })
	if !errors.Is(err, ErrClosed) {
		t.Errorf("a transaction afterwards: got %v, want ErrClosed", err)
	}
}

// TestStablePlans sees that no connection compiles a statement again for other values: a LIMIT is enough for that.
func TestStablePlans(t *testing.T) {
	t.Parallel()
	d := openTemp(t)
	for name, pool := range map[string]*sql.DB{"reader": d.reader, "writer": d.writer} {
		conn, err := pool.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		err = conn.Raw(func(c any) error {
			handle, err := handleOf(c.(*cachingConn).liteConn)
			if err != nil {
				return err
			}
			if on, err := planSetting(handle, -1); err != nil || !on {
				t.Errorf("%s: stable plans are on: %v, %v", name, on, err)
			}
			return nil
		})
		if err := errors.Join(err, conn.Close()); err != nil {
			t.Error(err)
		}
	}
}

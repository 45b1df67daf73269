package db

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"tenon/internal/base/errs"
)

// eachOpen runs a test on both engines; PostgreSQL needs TENON_TEST_DATABASE_URL.
func eachOpen(t *testing.T, test func(t *testing.T, d *DB)) {
	t.Helper()
	for _, dialect := range []Dialect{SQLite, Postgres} {
		t.Run(dialect.Name(), func(t *testing.T) {
			t.Parallel()
			url := filepath.Join(t.TempDir(), "x.db")
			if dialect == Postgres {
				if url = os.Getenv("TENON_TEST_DATABASE_URL"); url == "" {
					t.Skip("TENON_TEST_DATABASE_URL is not set")
				}
			}
			d, err := Open(t.Context(), Config{URL: url, Readers: 4})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				if err := d.Close(); err != nil {
					t.Error(err)
				}
			})
			test(t, d)
		})
	}
}

// Statements without end, each in another way. The marker tells them apart.
const (
	endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) "
	numbers = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < CAST(? AS BIGINT)) "
)

func TestLimitReads(t *testing.T) {
	t.Parallel()
	eachOpen(t, func(t *testing.T, d *DB) {
		for name, query := range map[string]string{
			"before the first row":   endless + "SELECT count(*) FROM n",
			"after the first row":    "SELECT 1 UNION ALL SELECT * FROM (" + endless + "SELECT count(*) FROM n) x",
			"a row now and then":     endless + "SELECT i FROM n WHERE i % 1000000 = 1",
			"rows one after another": endless + "SELECT i FROM n WHERE i < 0 OR i % 7 > 9 OR i < 3",
			"while it sorts":         endless + "SELECT i FROM n ORDER BY i % 1000 LIMIT 3",
		} {
			ctx := LimitReads(t.Context(), 60*time.Millisecond, 0)
			if _, err := Select[int64](ctx, d, query); !errors.Is(err, ErrTimeout) || !errs.Is(err, errs.Unavailable) {
				t.Errorf("%s: got %v, want ErrTimeout", name, err)
			}
			for range 5 { // the connections work, or others have taken their place
				if n, err := Get[int](LimitReads(ctx, time.Minute, 0), d, "SELECT 1"); err != nil || n != 1 {
					t.Errorf("%s: afterwards got %d, %v", name, n, err)
				}
			}
		}
		// The server of PostgreSQL does not go on by itself.
		for d.Dialect() == Postgres {
			n, err := Get[int](t.Context(), d, `SELECT count(*) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND state = 'active'
				AND query LIKE 'WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL%' AND query_start < now() - INTERVAL '5 seconds'`)
			if err != nil {
				t.Fatal(err)
			}
			if n == 0 {
				break
			}
		}
	})
}

func TestLimitReads_total(t *testing.T) {
	t.Parallel()
	eachOpen(t, func(t *testing.T, d *DB) {
		var ctx context.Context
		for total := 50 * time.Millisecond; ; total *= 2 { // until one that the machine keeps
			ctx = LimitReads(t.Context(), time.Hour, total)
			_, err := Get[int](ctx, d, "SELECT 1")
			if err == nil {
				break
			}
			if !errors.Is(err, ErrTimeout) || total > time.Minute {
				t.Fatalf("the first read of %v: %v", total, err)
			}
		}
		if _, err := Get[int](ctx, d, endless+"SELECT count(*) FROM n"); !errors.Is(err, ErrTimeout) {
			t.Errorf("got %v, want ErrTimeout", err)
		}
		if _, err := Get[int](ctx, d, "SELECT 1"); !errors.Is(err, ErrTimeout) {
			t.Errorf("afterwards: got %v, want ErrTimeout", err)
		}
		// What belongs to a change is not cut off in the middle.
		if err := d.InTx(ctx, func(ctx context.Context) error {
			_, err := Get[int](ctx, d, "SELECT 1")
			return err
		}); err != nil {
			t.Errorf("in a transaction: %v", err)
		}
		// Who goes away ends the statement, too, and is told so.
		gone, cancel := context.WithCancel(t.Context())
		time.AfterFunc(20*time.Millisecond, cancel)
		if _, err := Get[int](gone, d, endless+"SELECT count(*) FROM n"); !errors.Is(err, context.Canceled) {
			t.Errorf("cancelled: got %v, want context.Canceled", err)
		}
	})
}

// However many statements without end there are, quick reads find a connection.
func TestReads_share(t *testing.T) {
	t.Parallel()
	eachOpen(t, func(t *testing.T, d *DB) {
		attack, stop := context.WithCancel(t.Context())
		var all sync.WaitGroup
		for i := range 24 {
			all.Go(func() {
				_, err := Get[int](attack, d, endless+fmt.Sprintf("SELECT count(*) FROM n WHERE i > %d", i%8)) // the same few texts
				if !errors.Is(err, context.Canceled) {
					t.Errorf("an endless read ended with %v", err)
				}
			})
		}
		quick, cancel := context.WithTimeout(t.Context(), time.Minute)
		for len(d.slow) < cap(d.slow) {
			if _, err := Get[int](quick, d, "SELECT 1"); err != nil {
				t.Fatal(err)
			}
		}
		for i := range 50 {
			if n, err := Get[int](quick, d, fmt.Sprintf("SELECT %d", i)); err != nil || n != i {
				t.Errorf("a quick read: got %d, %v", n, err)
				break
			}
		}
		if got, want := cap(d.slow), 2; got != want {
			t.Errorf("slow reads have %d of 4 connections, want %d", got, want)
		}
		// A slow one that waits for its turn is bounded as well.
		if _, err := Get[int](LimitReads(t.Context(), 30*time.Millisecond, 0), d, endless+"SELECT count(*) FROM n WHERE i > 1"); !errors.Is(err, ErrTimeout) {
			t.Errorf("waiting: got %v, want ErrTimeout", err)
		}
		cancel()
		stop()
		all.Wait()
	})
}

// A slow statement is run again, gives its rows once, and is known as a slow one until it
// is quick.
func TestReads_slow(t *testing.T) {
	t.Parallel()
	eachOpen(t, func(t *testing.T, d *DB) {
		const query = numbers + "SELECT i FROM n"
		d.patience = time.Microsecond
		before := d.Statements()
		rows, err := Select[int64](t.Context(), d, query, 50_000)
		if err != nil || len(rows) != 50_000 || rows[0] != 1 || rows[49_999] != 50_000 {
			t.Fatalf("got %d rows, %v; want 50000", len(rows), err)
		}
		if n := d.Statements() - before; n != 1 {
			t.Errorf("it counts as %d statements, want 1", n)
		}
		known := func() bool { return d.rebound.get(d.dialect, query).slowUntil.Load() > time.Now().UnixNano() }
		if !known() {
			t.Error("it is not remembered as a slow one")
		}
		d.patience = time.Hour
		if _, err := Get[int64](t.Context(), d, query, 1); err != nil || known() {
			t.Errorf("it is still a slow one after it was quick (%v)", err)
		}
		d.patience = time.Microsecond
		n, err := Get[int64](t.Context(), d, numbers+"SELECT count(*) FROM n", 50_000)
		if err != nil || n != 50_000 {
			t.Errorf("got %d, %v; want 50000", n, err)
		}
	})
}

// An interrupt never meets another statement than its own.
func TestReads_interrupted(t *testing.T) {
	t.Parallel()
	eachOpen(t, func(t *testing.T, d *DB) {
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() {
				for range 60 {
					ctx, cancel := context.WithCancel(t.Context())
					timer := time.AfterFunc(time.Duration(rand.IntN(2000))*time.Microsecond, cancel)
					_, err := Select[int64](ctx, d, numbers+"SELECT i FROM n", 3000)
					if err != nil && ctx.Err() == nil {
						t.Errorf("not cancelled, and yet: %v", err)
					}
					if n, err := Get[int64](t.Context(), d, numbers+"SELECT count(*) FROM n", 500); err != nil || n != 500 {
						t.Errorf("the next statement: %d, %v", n, err)
					}
					timer.Stop()
					cancel()
				}
			})
		}
		all.Wait()
	})
}

// A context that has ended before the statement begins ends it all the same, although SQLite forgets an interrupt that comes too early.
func TestReads_endedBefore(t *testing.T) {
	t.Parallel()
	d := openTemp(t)
	conn, err := d.reader.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	read := func(ctx context.Context, query string) (n int64, err error) {
		rows, err := sqlSession{conn}.query(watched{ctx}, query, nil)
		if err == nil {
			err = d.scanOne(rows, reflect.TypeFor[int64](), &n)
		}
		return n, err
	}
	for range 50 {
		// It is prepared by now, which looks at the context.
		if n, err := read(t.Context(), "SELECT count(*) FROM sqlite_schema"); err != nil || n != 0 {
			t.Fatalf("got %d, %v; want 0", n, err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Duration(rand.IntN(50))*time.Microsecond, cancel)
		if _, err := read(ctx, endless+"SELECT count(*) FROM n"); !errors.Is(err, context.Canceled) {
			t.Fatalf("got %v, want context.Canceled", err)
		}
	}
}

// A read that waits for the lock of another program ends with its context.
func TestReads_locked(t *testing.T) {
	t.Parallel()
	d := openTemp(t)
	if err := d.writer.Close(); err != nil { // the last connection: another program may have the file alone
		t.Fatal(err)
	}
	other, err := sqlitePool(d.file, 1, "_pragma=locking_mode(EXCLUSIVE)")
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if _, err := other.ExecContext(t.Context(), "CREATE TABLE a (n BIGINT)"); err != nil {
		t.Fatal(err)
	}
	const query = "SELECT count(*) FROM a"
	if _, err := Get[int](LimitReads(t.Context(), 5*busyRead, 0), d, query); !errors.Is(err, ErrTimeout) {
		t.Errorf("beyond its time: got %v, want ErrTimeout", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(5*busyRead, cancel)
	began := time.Now()
	if _, err := Get[int](ctx, d, query); !errors.Is(err, context.Canceled) || time.Since(began) > d.busy {
		t.Errorf("cancelled: got %v after %v", err, time.Since(began))
	}
	time.AfterFunc(5*busyRead, func() { _ = other.Close() })
	if n, err := Get[int](t.Context(), d, query); err != nil || n != 0 {
		t.Errorf("once the other program is done: got %d, %v; want 0", n, err)
	}
}

// A read whose context may end starts no goroutine that waits for it: they took a fifth of the time of a small request. Not parallel,
// for the goroutines of other tests.
func TestReads_goroutines(t *testing.T) {
	d := openTemp(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	if (&cachingConn{handle: 1}).unending(ctx).Done() != nil {
		t.Error("the driver gets a context that may end")
	}
	err := d.attempt(ctx, 0, 0, func(ctx context.Context, s session) error {
		rows, err := s.query(ctx, "SELECT 1", nil)
		if err != nil {
			return err
		}
		waits := func() bool {
			stacks := make([]byte, 1<<20)
			return strings.Contains(string(stacks[:runtime.Stack(stacks, true)]), "created by database/sql.(*Rows)")
		}
		for began := time.Now(); waits(); runtime.Gosched() { // those of earlier statements are about to end
			if time.Since(began) > 20*time.Second {
				t.Error("a goroutine of database/sql waits for the end of the context")
				break
			}
		}
		return rows.Close()
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestHandleOf(t *testing.T) {
	t.Parallel()
	for _, conn := range []*cachingConn{nil, {}} {
		if _, err := handleOf(conn); err == nil || !strings.Contains(err.Error(), "handle") {
			t.Errorf("%+v has no handle, and yet: %v", conn, err)
		}
	}
}

package db

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"reflect"
	"sync"
	"time"

	"modernc.org/libc"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// handleOf returns SQLite's own handle of a connection. The driver ends a statement with its
// context only up to the first row, starts a goroutine for it, and has no call for the rows after it.
func handleOf(conn driver.Conn) (uintptr, error) {
	v := reflect.Indirect(reflect.ValueOf(conn))
	if v.Kind() == reflect.Struct {
		if db := v.FieldByName("db"); db.IsValid() && db.Kind() == reflect.Uintptr && db.Uint() != 0 {
			return uintptr(db.Uint()), nil
		}
	}
	return 0, errors.New("the SQLite driver keeps no handle in the field db of a connection")
}

// watched is the context of a read whose end reaches the statement through [cachingConn.watch] alone. To others it never ends:
// database/sql and the driver start a goroutine for every statement whose context may.
type watched struct{ context.Context }

type watchedKey struct{}

// Deadline reports none.
func (watched) Deadline() (time.Time, bool) { return time.Time{}, false }

// Done returns nil.
func (watched) Done() <-chan struct{} { return nil }

// Err returns nil.
func (watched) Err() error { return nil }

// Value returns the context that ends by watchedKey.
func (w watched) Value(key any) any {
	if key == (watchedKey{}) {
		return w.Context
	}
	return w.Context.Value(key)
}

// ending is the context that ends a statement which was given ctx.
func ending(ctx context.Context) context.Context {
	if inner, ok := ctx.Value(watchedKey{}).(context.Context); ok {
		return inner
	}
	return ctx
}

// interruptAgain is when an interrupt is repeated: SQLite forgets one that comes before the statement has begun.
const interruptAgain = time.Millisecond

// watch interrupts the statement that runs, or is about to, when ctx ends, until the result is called.
func (c *cachingConn) watch(ctx context.Context) func() {
	if c.handle == 0 || ctx.Done() == nil {
		return func() {}
	}
	var mu sync.Mutex
	over := false
	again := func() bool {
		mu.Lock()
		defer mu.Unlock()
		if !over {
			interrupt(c.handle)
		}
		return !over
	}
	stop := context.AfterFunc(ctx, func() {
		for again() {
			<-time.After(interruptAgain)
		}
	})
	return func() {
		if stop() {
			return
		}
		mu.Lock()
		defer mu.Unlock()
		over = true
	}
}

// unending is the context for the driver: one without an end where watch sees to it.
func (c *cachingConn) unending(ctx context.Context) context.Context {
	if c.handle == 0 {
		return ctx
	}
	return context.WithoutCancel(ctx)
}

// interrupted returns the error of a context for that of a statement that was interrupted because the context ended.
func interrupted(ctx context.Context, err error) error {
	if lite, ok := errors.AsType[*sqlite.Error](err); ok && lite.Code()&0xff == sqlite3.SQLITE_INTERRUPT && ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

// interrupt ends what runs on a connection, from any goroutine. The connection must be open.
func interrupt(handle uintptr) {
	tls := libc.NewTLS()
	defer tls.Close()
	sqlite3.Xsqlite3_interrupt(tls, handle)
}

// stablePlans has a connection choose the plan of a statement without looking at the values that are bound to it.
// Otherwise SQLite compiles a prepared statement again whenever other values are bound to parameters that it looked
// at, and it looks at every LIMIT.
func stablePlans(handle uintptr) error {
	on, err := planSetting(handle, 1)
	if err == nil && !on {
		err = errors.New("SQLite refuses stable query plans")
	}
	return err
}

// planSetting turns stable plans on (1) or off (0), or leaves them (-1), and reports whether they are on.
func planSetting(handle uintptr, set int32) (on bool, err error) {
	tls := libc.NewTLS()
	defer tls.Close()
	const slots, result = 2 * 8, 8 // bytes of two variable arguments, and of the answer
	at := tls.Alloc(slots + result)
	defer tls.Free(slots + result)
	rc := sqlite3.Xsqlite3_db_config(tls, handle, sqlite3.SQLITE_DBCONFIG_ENABLE_QPSG, libc.VaList(at, set, at+slots))
	if rc != sqlite3.SQLITE_OK {
		return false, fmt.Errorf("configure query plans of SQLite: code %d", rc)
	}
	return libc.AtomicLoadPInt32(at+slots) != 0, nil
}

// statementJournal is how many bytes of pages that a savepoint may have to restore are kept in memory before
// they are written to a temporary file, 64 kB by default. It keeps them in pieces of this size and writes
// no piece of 128 kB or more.
const statementJournal = 128<<10 - 8

// keepJournals sets statementJournal for all connections. It must come before the first one.
var keepJournals = sync.OnceValue(func() error {
	tls := libc.NewTLS()
	defer tls.Close()
	const slot = 8 // bytes of a variable argument
	at := tls.Alloc(slot)
	defer tls.Free(slot)
	if rc := sqlite3.Xsqlite3_config(tls, sqlite3.SQLITE_CONFIG_STMTJRNL_SPILL, libc.VaList(at, int32(statementJournal))); rc != sqlite3.SQLITE_OK {
		return fmt.Errorf("configure journals of SQLite: code %d", rc)
	}
	return nil
})

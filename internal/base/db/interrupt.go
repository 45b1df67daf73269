package db

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"reflect"
	"sync"

	"modernc.org/libc"
	sqlite3 "modernc.org/sqlite/lib"
)

// handleOf gives SQLite's own handle of a connection. The driver ends a statement with its
// context only up to the first row, and has no call for the rows after it.
func handleOf(conn driver.Conn) (uintptr, error) {
	v := reflect.Indirect(reflect.ValueOf(conn))
	if v.Kind() == reflect.Struct {
		if db := v.FieldByName("db"); db.IsValid() && db.Kind() == reflect.Uintptr && db.Uint() != 0 {
			return uintptr(db.Uint()), nil
		}
	}
	return 0, errors.New("the SQLite driver keeps no handle in the field db of a connection")
}

// watch interrupts the statement that is running when ctx ends, until the result is called.
func (c *cachingConn) watch(ctx context.Context) func() {
	if c.handle == 0 || ctx.Done() == nil {
		return nil
	}
	var mu sync.Mutex
	over := false
	stop := context.AfterFunc(ctx, func() {
		mu.Lock()
		defer mu.Unlock()
		if !over {
			interrupt(c.handle)
		}
	})
	return func() {
		stop()
		mu.Lock()
		defer mu.Unlock()
		over = true
	}
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
// they are written to a temporary file, 64 kB if SQLite is not told. It keeps them in pieces of this size and writes
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

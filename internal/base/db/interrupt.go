package db

import (
	"context"
	"database/sql/driver"
	"errors"
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

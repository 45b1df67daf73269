package dbtest

import (
	"testing"
	"time"

	"tenon/internal/base/db"
)

// Waiting returns once a statement in the PostgreSQL database waits for a lock, and fails the
// test where none does within half a minute.
func Waiting(tb testing.TB, d *db.DB) {
	tb.Helper()
	deadline := time.After(30 * time.Second)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		waits, err := db.Get[bool](tb.Context(), d, `SELECT EXISTS (SELECT 1 FROM pg_stat_activity
			WHERE datname = current_database() AND wait_event_type = 'Lock')`)
		if err != nil {
			tb.Fatal(err)
		}
		if waits {
			return
		}
		select {
		case <-tick.C:
		case <-deadline:
			tb.Fatal("no statement waits for a lock")
		}
	}
}

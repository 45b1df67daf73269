package faults

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"tenon/internal/base/db/dbtest"
)

// TestDatabaseAway takes PostgreSQL away from a running server: callers are told to come
// again, and once it is back everything goes on, work in the background too.
func TestDatabaseAway(t *testing.T) {
	proxy := dbtest.NewProxy(t, dbtest.PostgresURL(t))
	w := newWorld(t, proxy.URL)
	proxy.Cut()
	for _, path := range []string{"/projects", fmt.Sprintf("/projects/%d", w.project), "/user"} {
		a, err := w.call(t.Context(), w.ann, "GET", path, "")
		if err != nil || a.status != 503 || a.header.Get("Retry-After") == "" {
			t.Errorf("%s: got %+v, %v, want 503 that says when to try again", path, a, err)
		}
	}
	dir := t.TempDir()
	if out, err := git(t.Context(), dir, "clone", "-q", w.remote(), "copy"); err == nil || !strings.Contains(err.Error(), "503") {
		t.Errorf("clone: got %q, %v, want 503", out, err)
	}
	proxy.Restore()
	w.want(200, w.ann, "GET", fmt.Sprintf("/projects/%d", w.project), "")
	w.git(dir, "clone", "-q", w.remote(), "copy")
	fork := w.want(201, w.ben, "POST", fmt.Sprintf("/projects/%d/fork", w.project), "").number("id")
	tick, late := time.NewTicker(50*time.Millisecond), time.After(time.Minute)
	defer tick.Stop()
	for {
		status := w.want(200, w.ben, "GET", fmt.Sprintf("/projects/%d", fork), "").text("import_status")
		if status == "finished" {
			return
		}
		select {
		case <-tick.C:
		case <-late:
			t.Fatalf("a fork is %q a minute after the database is back", status)
		}
	}
}

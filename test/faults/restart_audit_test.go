package faults

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// TestDatabaseRestart_audit restarts PostgreSQL three times while audit events are written and sealed: each change has its event, and soon after
// the last restart all events are sealed and verify.
func TestDatabaseRestart_audit(t *testing.T) {
	t.Parallel()
	cluster := ownCluster(t)
	w := newWorld(t, cluster.URL+lasting)
	stop, done := context.WithCancel(t.Context())
	defer done()
	var writers sync.WaitGroup
	written := new(atomic.Int64)
	for i := range 3 {
		writers.Go(func() {
			for n := 1; stop.Err() == nil; n++ {
				body := fmt.Sprintf(`{"key":"KEY_%d_%d","value":"x"}`, i, n)
				a, err := w.call(stop, w.ann, "POST", fmt.Sprintf("/projects/%d/variables", w.project), body)
				if err != nil || a.status != 201 {
					pause(stop)
					continue
				}
				written.Add(1)
			}
		})
	}
	for _, mode := range []string{"immediate", "fast", "immediate"} {
		before := written.Load()
		for deadline := time.Now().Add(time.Minute); written.Load() < before+50; pause(t.Context()) {
			if time.Now().After(deadline) {
				t.Fatalf("%d changes were made, and no more", written.Load())
			}
		}
		if err := cluster.Restart(t.Context(), mode); err != nil {
			t.Fatal(err)
		}
	}
	done()
	writers.Wait()
	d := w.open()
	for deadline := time.Now().Add(75 * time.Second); count(t, d, "SELECT COUNT(*) FROM audit_events WHERE sealed = 0") > 0; pause(t.Context()) {
		if time.Now().After(deadline) {
			t.Fatalf("%d events are not sealed", count(t, d, "SELECT COUNT(*) FROM audit_events WHERE sealed = 0"))
		}
	}
	for name, query := range map[string]string{
		"changes without their event":    "SELECT COUNT(*) FROM ci_variables v WHERE NOT EXISTS (SELECT 1 FROM audit_events e WHERE e.event_name = 'ci_variable_created' AND e.target_id = v.id)",
		"events without their change":    "SELECT COUNT(*) FROM audit_events e WHERE e.event_name = 'ci_variable_created' AND NOT EXISTS (SELECT 1 FROM ci_variables v WHERE v.id = e.target_id)",
		"events that have no seal":       "SELECT COUNT(*) FROM audit_events e WHERE NOT EXISTS (SELECT 1 FROM audit_seals s WHERE s.event_id = e.id)",
		"numbers missing from the chain": "SELECT MAX(number) - COUNT(*) FROM audit_seals",
	} {
		if n := count(t, d, query); n != 0 {
			t.Errorf("%s: got %d, want none", name, n)
		}
	}
	if n := count(t, d, "SELECT COUNT(*) FROM ci_variables"); n < written.Load() {
		t.Errorf("%d of %d changes are there", n, written.Load())
	}
	if out := adminDone(t, w.s.Data, w.s.Database(), "audit", "verify"); !strings.Contains(out, "\nseal ") {
		t.Errorf("verify: %s", out)
	}
}

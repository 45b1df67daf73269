package audit_test

import (
	"context"
	"runtime"
	"testing"

	"tenon/internal/base/db/dbtest"
	"tenon/internal/core/authz"
)

// Verify holds one piece of the trail at a time: what it has in memory does not grow with the trail.
func TestService_Verify_memory(t *testing.T) {
	a := newTrail(t, dbtest.Open(t, false))
	a.write(1)
	const events = 40_000
	a.exec(`INSERT INTO audit_events (author_id, author_name, entity_type, entity_id, entity_path, event_name, target_type, target_id, target_details, details, ip_address, created_at)
		WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)
		SELECT author_id, author_name, entity_type, entity_id, entity_path, event_name, target_type, target_id, target_details,
			'{"custom_message":"' || hex(zeroblob(500)) || '"}', ip_address, created_at FROM n, audit_events`, events-1)
	a.exec("INSERT INTO audit_chain (id, number, seal, unproved) VALUES (1, 0, '', ?)", events)
	a.seal()
	var first, most uint64
	r, err := a.Verify(context.Background(), authz.System(), "", func(done, _ int64) {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		if first == 0 {
			first = m.HeapAlloc
		}
		most = max(most, m.HeapAlloc)
	})
	if err != nil || !r.Valid {
		t.Fatalf("got %+v, %v", r, err)
	}
	t.Logf("first %d KB, most %d KB", first>>10, most>>10)
	if most > first+1<<20 {
		t.Errorf("verifying %d events holds %d KB more than the first piece", events, (most-first)>>10)
	}
}

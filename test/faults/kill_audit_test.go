package faults

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"tenon/test/servertest"
)

// TestKill_audit kills the server while it records audit events and seals them. Each change has its event, no event is without its
// change, and in the end all events are sealed; the commands of the operator say so.
func TestKill_audit(t *testing.T) {
	t.Parallel()
	servertest.Each(t, func(t *testing.T, database string) {
		const kills, older = 3, 10_000
		k := newKilled(newWorld(t, database))
		d := k.open()
		stop, done := context.WithCancel(t.Context())
		defer done()
		var writers sync.WaitGroup
		for i := range 3 {
			writers.Go(func() {
				for n := 1; stop.Err() == nil; n++ {
					if k.post("POST", "/variables", fmt.Sprintf(`{"key":"KEY_%d_%d","value":"x"}`, i, n), 201, 400) == nil { // 400: it was made before the kill
						k.awaitServer(stop)
					}
				}
			})
		}
		for round := range kills {
			select {
			case <-time.After(time.Duration(100+rand.IntN(400)) * time.Millisecond):
			case <-t.Context().Done():
			}
			k.upLock.Lock()
			k.up = make(chan struct{})
			k.upLock.Unlock()
			k.s.Kill()
			if round == 0 { // as an older release leaves them: the server has much to seal from its start on
				for _, query := range []string{
					fmt.Sprintf(`INSERT INTO audit_events (author_id, author_name, entity_type, entity_id, entity_path, event_name, target_type, target_id, target_details,
						details, ip_address, created_at) WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %d)
						SELECT 1, 'Ann', 'User', i, '', 'older', 'User', i, '', '{"custom_message":""}', '', created_at FROM n, (SELECT MIN(created_at) AS created_at FROM audit_events) m`, older),
					"UPDATE audit_chain SET unproved = (SELECT MAX(id) FROM audit_events)",
				} {
					if _, err := d.Exec(t.Context(), query); err != nil {
						t.Fatal(err)
					}
				}
			}
			k.s.Restart()
			k.moved()
			close(k.up)
		}
		done()
		writers.Wait()
		k.await("all audit events to be sealed", func() bool { return count(t, d, "SELECT COUNT(*) FROM audit_events WHERE sealed = 0") == 0 })
		for name, query := range map[string]string{
			"changes without their event":    "SELECT COUNT(*) FROM ci_variables v WHERE NOT EXISTS (SELECT 1 FROM audit_events e WHERE e.event_name = 'ci_variable_created' AND e.target_id = v.id)",
			"events without their change":    "SELECT COUNT(*) FROM audit_events e WHERE e.event_name = 'ci_variable_created' AND NOT EXISTS (SELECT 1 FROM ci_variables v WHERE v.id = e.target_id)",
			"events taken for those of SQL":  "SELECT COUNT(*) FROM audit_events WHERE sealed <> 1",
			"events that have no seal":       "SELECT COUNT(*) FROM audit_events e WHERE NOT EXISTS (SELECT 1 FROM audit_seals s WHERE s.event_id = e.id)",
			"numbers missing from the chain": "SELECT MAX(number) - COUNT(*) FROM audit_seals",
		} {
			if n := count(t, d, query); n != 0 {
				t.Errorf("%s: got %d, want none", name, n)
			}
		}
		changes := count(t, d, "SELECT COUNT(*) FROM ci_variables")
		if changes == 0 {
			t.Error("nothing was written")
		}
		k.checkAuditCommands(t, older, changes)
	})
}

// checkAuditCommands compares what the commands about the audit trail print with what is there.
func (k *killed) checkAuditCommands(t *testing.T, older, changes int64) {
	t.Helper()
	command := func(args ...string) string {
		return adminDone(t, k.s.Data, k.s.Database(), append([]string{"audit"}, args...)...)
	}
	verified := command("verify")
	_, seal, _ := strings.Cut(verified, "\nseal ")
	seal, _, _ = strings.Cut(seal, "\n")
	if !strings.Contains(verified, "no audit event was changed, inserted or taken away") || len(seal) != 64 {
		t.Errorf("verify: %s", verified)
	}
	if out := command("verify", "--seal", seal); !strings.Contains(out, "no audit event was changed") {
		t.Errorf("verify with the last seal: %s", out)
	}
	if out, err := admin(t.Context(), t, k.s.Data, k.s.Database(), "audit", "verify", "--seal", "00"); err == nil || !strings.Contains(out, "the given seal is not in the chain") {
		t.Errorf("verify with another seal: %v %s", err, out)
	}
	for _, tt := range []struct {
		args []string
		want int64
	}{
		{[]string{"list"}, 20},
		{[]string{"list", "--limit", "3"}, 3},
		{[]string{"list", "--entity-type", "Project", "--entity-id", fmt.Sprint(k.project), "--limit", "0"}, changes + 1},
		{[]string{"export", "--before", "2001-01-01T00:00:00Z"}, 0},
		{[]string{"export", "--entity-type", "User"}, older + count(t, k.open(), "SELECT COUNT(*) FROM audit_events WHERE entity_type = 'User' AND event_name <> 'older'")},
	} {
		lines := int64(0)
		for line := range strings.Lines(printed(t, k.s.Data, k.s.Database(), append([]string{"audit"}, tt.args...)...)) {
			var e struct {
				ID   int64  `json:"id"`
				Name string `json:"event_name"`
			}
			if json.Unmarshal([]byte(line), &e) == nil && e.ID > 0 && e.Name != "" {
				lines++
			}
		}
		if lines != tt.want {
			t.Errorf("audit %v: got %d events, want %d", tt.args, lines, tt.want)
		}
	}
}

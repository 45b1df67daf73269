package audit_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"tenon/internal/base/db/dbtest"
	"tenon/internal/base/event"
	"tenon/internal/base/page"
	"tenon/internal/core/account"
	"tenon/internal/core/audit"
	"tenon/internal/core/authz"
	"tenon/internal/core/coretest"
)

// BenchmarkService_record publishes an event in a transaction of a hundred, with the reaction and without it: the difference is what a
// row costs.
func BenchmarkService_record(b *testing.B) {
	for _, name := range []string{"without", "with"} {
		b.Run(name, func(b *testing.B) {
			d := dbtest.Open(b, false)
			w := coretest.New(b, d)
			var bus event.Bus
			if name == "with" {
				audit.New(audit.Deps{DB: d, Policy: w.Policy, Signer: signer(b), Log: slog.New(slog.DiscardHandler), Now: w.Now}).Subscribe(&bus)
			}
			e := account.SignedOn{Stamp: w.User("ann").Stamp(w.Now())}
			for b.Loop() {
				err := d.InTx(b.Context(), func(ctx context.Context) error {
					for range 100 {
						if err := bus.Publish(ctx, e); err != nil {
							return err
						}
					}
					return nil
				})
				if err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(100*b.N), "us/event")
		})
	}
}

// BenchmarkService_List reads a page of 20 among 300,000 events.
func BenchmarkService_List(b *testing.B) {
	d := dbtest.Open(b, false)
	w := coretest.New(b, d)
	s := audit.New(audit.Deps{DB: d, Policy: w.Policy, Signer: signer(b), Log: slog.New(slog.DiscardHandler), Now: w.Now})
	for range 30 {
		_, err := d.Exec(b.Context(), `INSERT INTO audit_events (author_id, author_name, entity_type, entity_id, entity_path, event_name, target_type, target_id, target_details,
		details, ip_address, created_at) WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 10000)
		SELECT 1, 'Ann', 'Project', i % 300, 'team/shop', 'member_updated', 'User', i, 'Bob', '{"custom_message":"Membership updated"}', '192.0.2.1', ? FROM n`, w.Now())
		if err != nil {
			b.Fatal(err)
		}
	}
	order := page.Order{page.ID("e.id")}.Desc()
	past, first := w.Now().Add(-time.Hour), page.Range{Limit: 20}
	if _, err := d.Exec(b.Context(), "UPDATE audit_events SET created_at = ? WHERE id <= 1000", past); err != nil {
		b.Fatal(err)
	}
	for name, f := range map[string]audit.Filter{
		"first": {Range: first}, "first by keyset": {Range: page.Range{Limit: 20, Keyset: true}},
		"later by keyset": {Range: page.Range{Limit: 20, Keyset: true, Cursor: order.Cursor(int64(100_000))}},
		"long past":       {CreatedBefore: &past, Range: first}, "long past of a type": {EntityType: audit.Project, CreatedBefore: &past, Range: first},
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				list, err := s.List(b.Context(), authz.System(), authz.Place{}, f)
				if err != nil || len(list.Items) != 20 {
					b.Fatal(len(list.Items), err)
				}
			}
		})
	}
}

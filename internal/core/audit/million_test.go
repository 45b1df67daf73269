package audit_test

import (
	"context"
	"log/slog"
	"os"
	"runtime"
	"slices"
	"strconv"
	"syscall"
	"testing"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/base/db/dbtest"
	"tenon/internal/base/page"
	"tenon/internal/core/audit"
	"tenon/internal/core/authz"
	"tenon/internal/core/coretest"
)

// BenchmarkService_large measures lists of a trail, sealing it and verifying it, on each engine: TENON_BENCH_AUDIT says how many events
// it has. Run it with -benchtime 1x: each list is read 300 times.
func BenchmarkService_large(b *testing.B) {
	events, _ := strconv.Atoi(os.Getenv("TENON_BENCH_AUDIT"))
	if events < 1_000 {
		b.Skip("TENON_BENCH_AUDIT is not set")
	}
	b.Run("sqlite", func(b *testing.B) { benchLarge(b, dbtest.Open(b, false), events) })
	b.Run("postgres", func(b *testing.B) {
		// Statements are planned as they are on a server, and not once as in tests.
		d, err := db.Open(b.Context(), db.Config{URL: dbtest.PostgresURL(b) + "&plan_cache_mode=auto", Readers: 4})
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { _ = d.Close() })
		benchLarge(b, d, events)
	})
}

func benchLarge(b *testing.B, d *db.DB, events int) {
	w := coretest.New(b, d)
	s := audit.New(audit.Deps{DB: d, Policy: w.Policy, Signer: signer(b), Log: slog.New(slog.DiscardHandler), Now: w.Now})
	exec := func(query string, args ...any) {
		b.Helper()
		if _, err := d.Exec(b.Context(), query, args...); err != nil {
			b.Fatal(err)
		}
	}
	for at := 0; at < events; at += 100_000 {
		exec(`INSERT INTO audit_events (author_id, author_name, entity_type, entity_id, entity_path, event_name, target_type, target_id, target_details,
			details, ip_address, created_at) WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)
			SELECT 1, 'Ann', 'Project', i % 300, 'team/shop', 'member_updated', 'User', i, 'Bob', '{"custom_message":"Membership updated"}', '192.0.2.1', ? FROM n`,
			min(100_000, events-at), db.At(w.Now()))
	}
	exec("INSERT INTO audit_chain (id, number, seal, unproved) VALUES (1, 0, '', ?)", events)
	past, order := w.Now().Add(time.Hour), page.Order{page.ID("e.id")}.Desc()
	exec("ANALYZE")
	for _, tt := range []struct {
		name string
		f    audit.Filter
	}{
		{"first page", audit.Filter{Range: page.Range{Limit: 20}}},
		{"first page by keyset", audit.Filter{Range: page.Range{Limit: 20, Keyset: true}}},
		{"deep page by keyset", audit.Filter{Range: page.Range{Limit: 20, Keyset: true, Cursor: order.Cursor(int64(events / 3))}}},
		{"by time", audit.Filter{CreatedBefore: &past, Range: page.Range{Limit: 20}}},
		{"by time and type", audit.Filter{CreatedBefore: &past, EntityType: audit.Project, Range: page.Range{Limit: 20}}},
	} {
		b.Run(tt.name, func(b *testing.B) {
			var times []time.Duration
			before := d.Statements()
			for range 300 {
				start := time.Now()
				if list, err := s.List(b.Context(), authz.System(), authz.Place{}, tt.f); err != nil || len(list.Items) != 20 {
					b.Fatal(len(list.Items), err)
				}
				times = append(times, time.Since(start))
			}
			slices.Sort(times)
			b.ReportMetric(float64(times[len(times)*99/100].Microseconds())/1000, "ms/p99")
			b.ReportMetric(float64(d.Statements()-before)/float64(len(times)), "statements")
		})
	}
	b.Run("seal", func(b *testing.B) {
		for done, n := 0, 1; n > 0; done += n {
			var err error
			if n, err = s.Seal(b.Context()); err != nil {
				b.Fatal(err)
			}
			if done%20_000 == 0 && d.Dialect().Name() == db.Postgres.Name() { // as a server does by itself, which the clusters of tests do not
				exec("VACUUM ANALYZE audit_events")
				exec("VACUUM ANALYZE audit_seals")
			}
		}
		b.ReportMetric(float64(events)/b.Elapsed().Seconds(), "events/s")
	})
	b.Run("verify", func(b *testing.B) {
		var first, most uint64
		start, used := time.Now(), processor()
		r, err := s.Verify(context.Background(), authz.System(), "", func(done, _ int64) {
			if done/50_000 != (done-500)/50_000 { // looking at the heap takes its time
				runtime.GC()
				var m runtime.MemStats
				runtime.ReadMemStats(&m)
				if first == 0 {
					first = m.HeapAlloc
				}
				most = max(most, m.HeapAlloc)
			}
		})
		if err != nil || !r.Valid || r.Events != int64(events) {
			b.Fatalf("%+v, %v", r, err)
		}
		b.ReportMetric(time.Since(start).Seconds(), "s/whole")
		b.ReportMetric((processor() - used).Seconds(), "cpu-s/whole")
		b.ReportMetric(float64(int64(most)-int64(first))/1024, "KB-more-than-at-first")
		b.ReportMetric(float64(most)/(1<<20), "MB/heap")
	})
}

// processor is the processor time of the process, with the system's.
func processor() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

package stats

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/base/db/dbtest"
	"tenon/internal/core/authz"
	"tenon/internal/core/coretest"
	"tenon/internal/core/deploy"
	"tenon/internal/core/project"
)

// BenchmarkService_DORA answers with the metrics of 180 days of a group whose projects have deployed to two environments on each day of
// three years, three merge requests at a time.
func BenchmarkService_DORA(b *testing.B) {
	projects, _ := strconv.Atoi(os.Getenv("TENON_BENCH_DORA"))
	if projects < 1 {
		b.Skip("TENON_BENCH_DORA is not set")
	}
	b.Run("sqlite", func(b *testing.B) { benchDORA(b, dbtest.Open(b, false), projects) })
	b.Run("postgres", func(b *testing.B) {
		// Statements are planned as they are on a server, and not once as in tests.
		d, err := db.Open(b.Context(), db.Config{URL: dbtest.PostgresURL(b) + "&plan_cache_mode=auto", Readers: 4})
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { _ = d.Close() })
		benchDORA(b, d, projects)
	})
}

func benchDORA(b *testing.B, d *db.DB, projects int) {
	w := coretest.New(b, d)
	end := time.Date(2026, 6, 20, 12, 0, 0, 0, time.UTC)
	s := New(Deps{DB: d, Policy: w.Policy, Now: func() time.Time { return end }})
	rita := w.User("rita")
	group := w.Group("acme", authz.Private, 0)
	w.Member(group, rita, authz.Reporter)
	var rows []row
	for n := range projects {
		id := w.Project(fmt.Sprintf("acme/p%d", n), authz.Private, group)
		rows = append(rows, threeYears(id, end)...)
	}
	if err := db.InsertRows(b.Context(), d, "dora_months", rows, ""); err != nil {
		b.Fatal(err)
	}
	if err := d.Analyze(b.Context()); err != nil {
		b.Fatal(err)
	}
	place := coretest.GroupAt(group, authz.Private)
	for _, metric := range Metrics {
		for _, interval := range Intervals {
			b.Run(string(metric)+" "+string(interval), func(b *testing.B) {
				const answers = 100
				var took []time.Duration
				before := d.Statements()
				for range answers {
					begin := time.Now()
					_, err := s.DORA(b.Context(), rita, place, Query{Metric: metric, Interval: interval, Start: end.AddDate(0, 0, -180), Tiers: []deploy.Tier{deploy.Production, deploy.Staging}})
					if err != nil {
						b.Fatal(err)
					}
					took = append(took, time.Since(begin))
				}
				slices.Sort(took)
				b.ReportMetric(float64(took[answers/2].Microseconds())/1000, "ms/p50")
				b.ReportMetric(float64(took[answers*99/100-1].Microseconds())/1000, "ms/p99")
				b.ReportMetric(float64(d.Statements()-before)/answers, "statements")
			})
		}
	}
}

// threeYears are the rows of a project.
func threeYears(id project.ID, end time.Time) []row {
	var out []row
	last := MonthOf(db.At(end))
	for m := last - 36; m <= last; m++ {
		for _, tier := range []deploy.Tier{deploy.Production, deploy.Staging} {
			f := &figures{}
			for n := 1; n <= 28; n++ {
				d := f.at(n)
				d.deployments, d.leads = 1, []uint64{uint64(n) * 60_000, uint64(id) * 3_600_000, uint64(m) * 7_919}
				if tier == deploy.Production && n%7 == 0 {
					d.incidents, d.restores = 1, []uint64{uint64(id) * 100_003}
				}
			}
			out = append(out, f.pack(key{id, m, tier}))
		}
	}
	return out
}

package planlimit_test

import (
	"strings"
	"testing"

	"tenon/internal/base/db"
	"tenon/internal/base/db/dbtest"
	"tenon/internal/base/errs"
	"tenon/internal/core/authz"
	"tenon/internal/core/coretest"
	"tenon/internal/core/planlimit"
)

// Limits of the default plan are in force at once where they were set, and after the next look elsewhere; other plans are stored.
func TestService_Update(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		w := coretest.New(t, d)
		boss, ctx := w.Admin("boss"), t.Context()
		deps := planlimit.Deps{DB: d, Policy: w.Policy, Bus: w.Bus, Now: w.Now}
		s, other := planlimit.New(deps), planlimit.New(deps)
		p, err := s.Find(ctx, boss, planlimit.Default)
		if err != nil || p.Limits.CIPipelineSchedules != 10 || p.Limits.GenericPackagesMaxFileSize != 5<<30 {
			t.Fatalf("at first: %+v, %v", p, err)
		}
		if _, err := s.Update(ctx, boss, planlimit.Default, map[string]int64{"ci_pipeline_schedules": 3}); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Update(ctx, boss, "gold", map[string]int64{"ci_pipeline_schedules": 7, "ci_active_jobs": 9}); err != nil {
			t.Fatal(err)
		}
		p, err = s.Update(ctx, boss, planlimit.Default, map[string]int64{"ci_active_pipelines": 2})
		if err != nil || p.Limits.CIPipelineSchedules != 3 || p.Limits.CIActivePipelines != 2 || p.Limits.CINeedsSizeLimit != 50 {
			t.Errorf("set: %+v, %v", p, err)
		}
		before := d.Statements()
		if now := s.InForce(); now.CIPipelineSchedules != 3 || now.CIActivePipelines != 2 || now.CIActiveJobs != 0 {
			t.Errorf("in force: %+v", now)
		}
		if n := d.Statements() - before; n != 0 {
			t.Errorf("looking took %d statements", n)
		}
		if err := other.Open(ctx); err != nil || other.InForce().CIPipelineSchedules != 3 {
			t.Errorf("elsewhere: %+v, %v", other.InForce(), err)
		}
		if p, err := s.Find(ctx, boss, "gold"); err != nil || p.Limits.CIPipelineSchedules != 7 || p.Limits.CIActiveJobs != 9 {
			t.Errorf("gold: %+v, %v", p, err)
		}
	})
}

func TestService_Update_refused(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		w := coretest.New(t, d)
		s := planlimit.New(planlimit.Deps{DB: d, Policy: w.Policy, Bus: w.Bus, Now: w.Now})
		for _, tt := range []struct {
			as     authz.Actor
			values map[string]int64
			kind   errs.Kind
			want   string
		}{
			{authz.Actor{}, nil, errs.Unauthorized, ""},
			{w.User("ann"), nil, errs.Forbidden, ""},
			{w.Admin("boss"), map[string]int64{"ci_active_jobs": -1}, errs.Invalid, "ci_active_jobs must be greater than or equal to 0"},
			{w.Admin("root"), map[string]int64{"npm_max_file_size": 1 << 53}, errs.Invalid, "npm_max_file_size must be less than or equal to 9007199254740991"},
		} {
			if _, err := s.Update(t.Context(), tt.as, planlimit.Default, tt.values); !errs.Is(err, tt.kind) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%v: got %v, want %s", tt.values, err, tt.want)
			}
		}
		if n, err := db.Get[int](t.Context(), d, "SELECT COUNT(*) FROM plan_limits"); n != 0 || err != nil {
			t.Errorf("%d rows, %v", n, err)
		}
	})
}

// Each limit has a name and one place where it is in force, or why it is not.
func TestTable(t *testing.T) {
	t.Parallel()
	for _, e := range planlimit.Table() {
		places := 0
		for _, place := range []string{e.Effect, e.Area, e.Later} {
			if place != "" {
				places++
			}
		}
		if e.Name == "" || e.Doc == "" || places != 1 {
			t.Errorf("%+v", e)
		}
	}
	for _, tt := range []struct {
		limit     int64
		own, want int
	}{{0, 50, 50}, {10, 50, 10}, {90, 50, 50}, {-1, 50, 50}} {
		if got := planlimit.Least(tt.limit, tt.own); got != tt.want {
			t.Errorf("the least of %d and %d: got %d, want %d", tt.limit, tt.own, got, tt.want)
		}
	}
}

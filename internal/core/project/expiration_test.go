package project_test

import (
	"testing"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/core/project"
)

func TestProject_NextRun(t *testing.T) {
	t.Parallel()
	began := time.Date(2026, 5, 4, 10, 0, 0, 0, time.UTC)
	p := &project.Project{CreatedAt: db.At(began.AddDate(0, 0, -3))}
	for name, row := range map[string]struct {
		policy project.ExpirationPolicy
		after  time.Duration // since it was enabled
		want   time.Duration // likewise; -1 is none
	}{
		"just enabled":       {project.ExpirationPolicy{Cadence: "1d", Enabled: true, ScheduledAt: &began}, 0, 24 * time.Hour},
		"before the run":     {project.ExpirationPolicy{Cadence: "7d", Enabled: true, ScheduledAt: &began}, 7*24*time.Hour - 1, 7 * 24 * time.Hour},
		"at the run":         {project.ExpirationPolicy{Cadence: "7d", Enabled: true, ScheduledAt: &began}, 7 * 24 * time.Hour, 14 * 24 * time.Hour},
		"years later":        {project.ExpirationPolicy{Cadence: "1month", Enabled: true, ScheduledAt: &began}, 3001 * 24 * time.Hour, 3030 * 24 * time.Hour},
		"a clock set back":   {project.ExpirationPolicy{Cadence: "14d", Enabled: true, ScheduledAt: &began}, -time.Hour, 14 * 24 * time.Hour},
		"without the time":   {project.ExpirationPolicy{Cadence: "3month", Enabled: true}, 0, 87 * 24 * time.Hour},
		"not enabled":        {project.ExpirationPolicy{Cadence: "1d", ScheduledAt: &began}, 0, -1},
		"no cadence":         {project.ExpirationPolicy{Enabled: true, ScheduledAt: &began}, 0, -1},
		"an unknown cadence": {project.ExpirationPolicy{Cadence: "2d", Enabled: true}, 0, -1},
	} {
		got := p.NextRun(row.policy, began.Add(row.after))
		if row.want < 0 && got != nil || row.want >= 0 && (got == nil || !got.Equal(began.Add(row.want))) {
			t.Errorf("%s: got %v, want %v after %v", name, got, row.want, began)
		}
	}
}

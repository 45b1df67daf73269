package schedule

import (
	"testing"
	"time"
)

func TestNext(t *testing.T) {
	t.Parallel()
	from := time.Date(2026, 3, 28, 23, 30, 0, 0, time.UTC) // a Saturday; Berlin changes its clocks in the night
	for _, tt := range []struct{ cron, zone, want string }{
		{"0 1 * * *", "UTC", "2026-03-29T01:00:00Z"},
		{"0 4 * * *", "Europe/Berlin", "2026-03-29T02:00:00Z"},
		{"0 4 * * 7", "UTC", "2026-03-29T04:00:00Z"},
		{"0 4 * * 5-7", "UTC", "2026-03-29T04:00:00Z"},
		{"0 4 * * 1,7", "UTC", "2026-03-29T04:00:00Z"},
		{"0 4 * * MON", "UTC", "2026-03-30T04:00:00Z"},
		{"@daily", "UTC", "2026-03-29T00:00:00Z"},
		{"0 4 * * *", "Eastern Time (US & Canada)", "2026-03-29T08:00:00Z"},
		{"0 0 30 2 *", "UTC", ""},
		{"0 0 31 2 *", "UTC", ""},
		{"0 0 29 2 *", "UTC", "2028-02-29T00:00:00Z"},
		{"@every 1s", "UTC", ""},
		{"TZ=UTC 0 1 * * *", "UTC", ""},
		{"* * * *", "UTC", ""},
		{"60 * * * *", "UTC", ""},
		{"* * * * *", "Nowhere", ""},
		{"* * * * *", "Local", ""},
		{"* * * * *", "../zone", ""},
	} {
		got := ""
		if at, ok := next(tt.cron, tt.zone, from); ok {
			got = at.Format(time.RFC3339)
		}
		if got != tt.want {
			t.Errorf("%s in %s: got %q, want %q", tt.cron, tt.zone, got, tt.want)
		}
	}
}

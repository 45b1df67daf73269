package crontab

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
		if at, ok := Next(tt.cron, tt.zone, from); ok {
			got = at.Format(time.RFC3339)
		}
		if got != tt.want {
			t.Errorf("%s in %s: got %q, want %q", tt.cron, tt.zone, got, tt.want)
		}
	}
}

// TestBetween looks at a freeze of the weekend, and at those that begin or end while the clocks of Berlin are set.
func TestBetween(t *testing.T) {
	t.Parallel()
	const berlin = "Europe/Berlin"
	for _, tt := range []struct {
		start, end, zone, at string
		want                 bool
	}{
		{"0 23 * * 5", "0 7 * * 1", "UTC", "2026-05-01T22:59:59Z", false},
		{"0 23 * * 5", "0 7 * * 1", "UTC", "2026-05-01T23:00:00Z", true},
		{"0 23 * * 5", "0 7 * * 1", "UTC", "2026-05-04T06:59:59Z", true},
		{"0 23 * * 5", "0 7 * * 1", "UTC", "2026-05-04T07:00:00Z", false},
		{"0 23 * * 5", "0 7 * * 1", berlin, "2026-05-01T21:00:00Z", true},
		{"0 23 * * 5", "0 7 * * 1", berlin, "2026-12-04T21:59:00Z", false},
		{"0 0 20 12 *", "0 0 2 1 *", "UTC", "2026-12-31T12:00:00Z", true},
		{"0 0 20 12 *", "0 0 2 1 *", "UTC", "2026-12-19T12:00:00Z", false},
		{"0 0 29 2 *", "0 0 1 3 *", "UTC", "2026-02-28T12:00:00Z", false},
		{"0 0 29 2 *", "0 0 1 3 *", "UTC", "2028-02-29T12:00:00Z", true},
		{"* * * * *", "0 6 * * *", "UTC", "2026-05-01T06:00:00Z", true},
		{"0 6 * * *", "0 6 * * *", "UTC", "2026-05-01T12:00:00Z", true},
		{"0 0 1 1 *", "0 0 30 2 *", "UTC", "2026-05-01T12:00:00Z", true}, // without an end
		{"0 0 30 2 *", "0 0 1 1 *", "UTC", "2026-05-01T12:00:00Z", false},
		{"* * * *", "0 6 * * *", "UTC", "2026-05-01T12:00:00Z", false},
		{"* * * * *", "0 6 * * *", "Nowhere", "2026-05-01T12:00:00Z", false},

		// At 01:00 UTC on 29 March the clocks go from 2:00 to 3:00.
		{"30 2 * * 0", "0 6 * * 0", berlin, "2026-03-29T00:59:59Z", false},
		{"30 2 * * 0", "0 6 * * 0", berlin, "2026-03-29T01:00:00Z", true},
		{"30 2 * * 0", "0 6 * * 0", berlin, "2026-03-29T03:59:59Z", true},
		{"30 2 * * 0", "0 6 * * 0", berlin, "2026-03-29T04:00:00Z", false},
		{"0 1 * * 0", "30 2 * * 0", berlin, "2026-03-29T00:59:59Z", true},
		{"0 1 * * 0", "30 2 * * 0", berlin, "2026-03-29T01:00:00Z", false},

		// At 01:00 UTC on 25 October they go from 3:00 back to 2:00.
		{"30 2 * * 0", "0 6 * * 0", berlin, "2026-10-25T00:29:59Z", false},
		{"30 2 * * 0", "0 6 * * 0", berlin, "2026-10-25T00:30:00Z", true},
		{"30 2 * * 0", "0 6 * * 0", berlin, "2026-10-25T01:10:00Z", true},
		{"30 2 * * 0", "0 6 * * 0", berlin, "2026-10-25T05:00:00Z", false},
		{"0 1 * * 0", "30 2 * * 0", berlin, "2026-10-25T00:29:59Z", true},
		{"0 1 * * 0", "30 2 * * 0", berlin, "2026-10-25T00:30:00Z", false},
		{"0 1 * * 0", "30 2 * * 0", berlin, "2026-10-25T01:15:00Z", false},
	} {
		at, err := time.Parse(time.RFC3339, tt.at)
		if err != nil {
			t.Fatal(err)
		}
		if got := Between(tt.start, tt.end, tt.zone, at); got != tt.want {
			t.Errorf("from %s to %s in %s at %s: got %t", tt.start, tt.end, tt.zone, tt.at, got)
		}
	}
}

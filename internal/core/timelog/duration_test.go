package timelog_test

import (
	"testing"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/base/db/dbtest"
	"tenon/internal/core/coretest"
	"tenon/internal/core/setting"
	"tenon/internal/core/timelog"
)

func TestParse(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		text string
		want int64
		ok   bool
	}{
		{"3h30m", 12600, true},
		{"1w 2d", 7 * 8 * 3600, true},
		{"1mo", 20 * 8 * 3600, true},
		{" 1 Month, 2 weeks and 30 seconds ", 30*8*3600 + 30, true},
		{"1.5h", 5400, true},
		{"2", 7200, true}, // a bare number counts hours
		{"-30m", -1800, true},
		{"0", 0, true},
		{"0h", 0, true},
		{"", 0, false},
		{"-", 0, false},
		{"soon", 0, false},
		{"1h x", 0, false},
		{"1 fortnight", 0, false},
		{"999999999999mo", 0, false},
		{"--1h", 0, false},
	} {
		if got, ok := timelog.Parse(tt.text); got != tt.want || ok != tt.ok {
			t.Errorf("Parse(%q) = %d, %v, want %d, %v", tt.text, got, ok, tt.want, tt.ok)
		}
	}
}

func TestService_Human(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		settings := setting.New(d, time.Now)
		s, set := timelog.New(timelog.Deps{Settings: settings}), coretest.Setter(t, settings)
		for _, tt := range []struct {
			seconds       int64
			want, inHours string
		}{
			{0, "0h", "0h"},
			{1, "1s", "1s"},
			{12600, "3h 30m", "3h 30m"},
			{8 * 3600, "1d", "8h"},
			{5 * 8 * 3600, "1w", "40h"},
			{20 * 8 * 3600, "1mo", "160h"},
			{-5400, "-1h 30m", "-1h 30m"},
			{27*8*3600 + 61, "1mo 1w 2d 1m 1s", "216h 1m 1s"},
		} {
			for hours, want := range map[bool]string{false: tt.want, true: tt.inHours} {
				set("time_tracking_limit_to_hours", hours)
				if got := s.Human(tt.seconds); got != want {
					t.Errorf("%d seconds, limited to hours %v: %q, want %q", tt.seconds, hours, got, want)
				}
			}
		}
	})
}

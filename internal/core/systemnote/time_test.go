package systemnote

import (
	"slices"
	"testing"
	"time"

	"tenon/internal/core/setting"
	"tenon/internal/core/timelog"
)

func TestTime(t *testing.T) {
	t.Parallel()
	s := New(Deps{Times: timelog.New(timelog.Deps{Settings: setting.New(nil, time.Now)})})
	at := time.Date(2023, 5, 22, 10, 0, 0, 0, time.UTC)
	seconds := func(n int64) *int64 { return &n }
	for _, tt := range []struct {
		diff     timelog.Diff
		estimate int64
		want     []string
	}{
		{timelog.Diff{}, 0, nil},
		{timelog.Diff{OldEstimate: seconds(0)}, 10800, []string{"added time estimate of 3h"}},
		{timelog.Diff{OldEstimate: seconds(10800)}, 28800, []string{"changed time estimate to 1d from 3h"}},
		{timelog.Diff{OldEstimate: seconds(10800)}, 0, []string{"removed time estimate of 3h"}},
		{timelog.Diff{Spent: 3600, SpentAt: at}, 0, []string{"added 1h of time spent at 2023-05-22 10:00:00 UTC"}},
		{timelog.Diff{Spent: -1800, SpentAt: at}, 0, []string{"subtracted 30m of time spent at 2023-05-22 10:00:00 UTC"}},
		{timelog.Diff{Reset: true}, 0, []string{"removed time spent"}},
	} {
		if got := s.time(tt.diff, tt.estimate); !slices.Equal(got, tt.want) {
			t.Errorf("%+v: got %q, want %q", tt.diff, got, tt.want)
		}
	}
}

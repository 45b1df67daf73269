package timelog

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"tenon/internal/base/pattern"
)

// Seconds in the units of time tracking: a day of work has 8 hours, a week 5 days and a
// month 4 weeks.
const (
	minute = 60
	hour   = 60 * minute
	day    = 8 * hour
	week   = 5 * day
	month  = 4 * week
)

// maxSeconds bounds a duration and a total.
const maxSeconds = math.MaxInt32

// units are the words for units, which may end in s.
var units = map[string]float64{
	"mo": month, "mos": month, "month": month, "months": month,
	"w": week, "wk": week, "wks": week, "week": week, "weeks": week,
	"d": day, "day": day, "days": day,
	"h": hour, "hr": hour, "hrs": hour, "hour": hour, "hours": hour,
	"m": minute, "min": minute, "mins": minute, "minute": minute, "minutes": minute,
	"s": 1, "sec": 1, "secs": 1, "second": 1, "seconds": 1,
}

var part = pattern.New(`^(\d{1,12}(?:\.\d{1,6})?)[ \t]*([A-Za-z]*)(?:[ \t]*,[ \t]*|[ \t]+and[ \t]+|[ \t]*)`)

// Parse reads a duration such as "3h30m", "1w 2d", "-1.5 hours" or "0" and returns its seconds.
// A number without a unit counts hours. It is not ok for everything else.
func Parse(text string) (seconds int64, ok bool) {
	rest := strings.TrimSpace(text)
	if len(rest) > 255 {
		return 0, false
	}
	rest, negative := strings.CutPrefix(rest, "-")
	if rest == "" {
		return 0, false
	}
	var total float64
	for rest != "" {
		found := part().FindStringSubmatch(rest)
		if found == nil {
			return 0, false
		}
		unit, known := units[strings.ToLower(found[2])]
		if found[2] == "" {
			unit, known = hour, true
		}
		n, err := strconv.ParseFloat(found[1], 64)
		if !known || err != nil {
			return 0, false
		}
		total += n * unit
		rest = rest[len(found[0]):]
	}
	if total > maxSeconds {
		return 0, false
	}
	if seconds = int64(math.Round(total)); negative {
		seconds = -seconds
	}
	return seconds, true
}

// step is a unit in which durations are written.
type step struct {
	size int64
	name string
}

// steps are the units from the longest one.
var steps = []step{{month, "mo"}, {week, "w"}, {day, "d"}, {hour, "h"}, {minute, "m"}, {1, "s"}}

// HumanPtr is Human, and nil for 0.
func (s *Service) HumanPtr(seconds int64) *string {
	if seconds == 0 {
		return nil
	}
	text := s.Human(seconds)
	return &text
}

// Human writes seconds as people do, "1w 2d 3h", with a minus before a negative number; in hours at most, "51h", where the
// settings say so. It is "0h" for 0.
func (s *Service) Human(seconds int64) string {
	units := steps
	if s.Settings.Current().TimeTrackingLimitToHours {
		units = steps[slices.IndexFunc(steps, func(u step) bool { return u.size == hour }):]
	}
	if seconds == 0 {
		return "0h"
	}
	var out strings.Builder
	if seconds < 0 {
		out.WriteString("-")
		seconds = -seconds
	}
	for _, u := range units {
		if n := seconds / u.size; n > 0 {
			if out.Len() > 1 {
				out.WriteString(" ")
			}
			out.WriteString(strconv.FormatInt(n, 10) + u.name)
			seconds %= u.size
		}
	}
	return out.String()
}

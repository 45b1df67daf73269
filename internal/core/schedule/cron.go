package schedule

import (
	"strings"
	"time"

	"github.com/robfig/cron/v3"

	"tenon/internal/base/timezone"
)

// interval is the least time between two runs of a schedule.
const interval = 10 * time.Minute

var fields = cron.NewParser(cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow | cron.Descriptor)

// parseCron reads five fields, or a word such as @daily. Nil is one that is wrong.
func parseCron(text string) cron.Schedule {
	text = strings.TrimSpace(text)
	if strings.Contains(text, "=") || strings.HasPrefix(text, "@every") {
		return nil // a time zone is in a field of its own
	}
	if parts := strings.Fields(text); len(parts) == 5 {
		parts[4] = weekdays(parts[4])
		text = strings.Join(parts, " ")
	}
	s, err := fields.Parse(text)
	if err != nil {
		return nil
	}
	return s
}

// weekdays writes Sunday as 0 where it is 7, alone or at the end of a range.
func weekdays(field string) string {
	items := strings.Split(field, ",")
	for i, item := range items {
		from, to, _ := strings.Cut(item, "-")
		switch {
		case item == "7":
			items[i] = "0"
		case to == "7" && from != "7":
			items[i] = from + "-6,0"
		}
	}
	return strings.Join(items, ",")
}

// next returns the first time after a moment at which a schedule runs; false is never, within five years.
func next(text, zone string, after time.Time) (time.Time, bool) {
	s, l := parseCron(text), timezone.Load(zone)
	if s == nil || l == nil {
		return time.Time{}, false
	}
	at := s.Next(after.In(l))
	return at.UTC(), !at.IsZero()
}

// Package crontab reads lines of five fields as cron does, in time zones.
package crontab

import (
	"sort"
	"strings"
	"time"

	"github.com/robfig/cron/v3"

	"tenon/internal/base/timezone"
)

var fields = cron.NewParser(cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow | cron.Descriptor)

// Valid reports whether a text is a line of five fields, or a word such as @daily.
func Valid(text string) bool { return parse(text) != nil }

// parse reads five fields, or a word such as @daily. Nil is one that is wrong.
func parse(text string) cron.Schedule {
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

// Next returns the first tick after a moment; false is never, within five years.
func Next(text, zone string, after time.Time) (time.Time, bool) {
	s, l := parse(text), timezone.Load(zone)
	if s == nil || l == nil {
		return time.Time{}, false
	}
	at := s.Next(after.In(l))
	return at.UTC(), !at.IsZero()
}

// years is how far back a tick is looked for.
const years = 5

// Between reports whether a moment is at or after a tick of one line and before the next tick of another. A tick that the clocks of the
// zone skip is when they are set forward, and one that they show twice is the first of both.
func Between(start, end, zone string, at time.Time) bool {
	from, to, l := parse(start), parse(end), timezone.Load(zone)
	if from == nil || to == nil || l == nil {
		return false
	}
	// Ticks are those of a clock that is never set, so that the last one before a moment can be searched.
	wall := wallOf(at.In(l)).Add(24 * time.Hour).Truncate(time.Minute)
	minutes := int(wall.Sub(wall.AddDate(-years, 0, 0)) / time.Minute)
	tick := func(back int) (time.Time, bool) {
		next := from.Next(wall.Add(-time.Duration(back) * time.Minute))
		return next, !next.IsZero() && !instant(next, l).After(at)
	}
	back := sort.Search(minutes, func(back int) bool {
		_, passed := tick(back)
		return passed
	})
	last, passed := tick(back)
	if !passed {
		return false
	}
	next := to.Next(last)
	return next.IsZero() || at.Before(instant(next, l))
}

// wallOf is what the clocks show, as if it were UTC.
func wallOf(t time.Time) time.Time {
	return time.Date(t.Year(), t.Month(), t.Day(), t.Hour(), t.Minute(), t.Second(), t.Nanosecond(), time.UTC)
}

// instant is when the clocks of a zone first show a time or a later one.
func instant(wall time.Time, l *time.Location) time.Time {
	at := time.Date(wall.Year(), wall.Month(), wall.Day(), wall.Hour(), wall.Minute(), wall.Second(), 0, l)
	begin, end := at.ZoneBounds()
	switch shown := wallOf(at); {
	case shown.Before(wall): // skipped, and counted by the offset before
		return end
	case shown.After(wall): // skipped, and counted by the offset after
		return begin
	}
	if begin.IsZero() {
		return at
	}
	// The time before the clocks were set back may be the same.
	_, now := at.Zone()
	_, was := begin.Add(-time.Second).Zone()
	if earlier := at.Add(time.Duration(now-was) * time.Second); was > now && earlier.Before(begin) {
		return earlier
	}
	return at
}

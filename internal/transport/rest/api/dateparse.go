package api

import (
	"regexp"
	"strconv"
	"strings"
	"time"

	"tenon/internal/base/pattern"
)

// ParseTime reads a date or a time in any of the notations that people and
// programs write: ISO 8601 in its forms, RFC 2822, HTTP dates, "11 March 2016",
// "Mar 11, 2016 3:45 pm", "11.3.2016". What is not said is zero, the zone UTC. The
// result keeps the offset that was written.
func ParseTime(s string) (time.Time, bool) {
	if len(s) > 128 { // no date is longer, and patterns cost time
		return time.Time{}, false
	}
	if t, err := time.Parse(time.RFC3339Nano, s); err == nil {
		return t, inRange(t)
	}
	s = strings.TrimSpace(s)
	zone := time.UTC
	clock := [4]int{}
	if m := compactPattern().FindStringSubmatch(s); m != nil {
		s = m[1] + "-" + m[2] + "-" + m[3] + "T" + m[4] + ":" + m[5] + ":" + m[6] + m[7]
	}
	if m := clockPattern().FindStringSubmatchIndex(s); m != nil {
		var ok bool
		if clock, zone, ok = readClock(s, m); !ok {
			return time.Time{}, false
		}
		s = s[:m[0]] + " " + s[m[1]:]
	}
	year, month, day, ok := readDay(strings.ToLower(s))
	if !ok || clock[0] == 24 && (clock[1] != 0 || clock[2] != 0) {
		return time.Time{}, false
	}
	t := time.Date(year, time.Month(month), day, clock[0], clock[1], clock[2], clock[3], zone)
	return t, inRange(t)
}

// inRange keeps to the years that every part of the system can store and print.
func inRange(t time.Time) bool {
	return t.UTC().Year() >= 1 && t.UTC().Year() <= 9999 && t.Year() >= 1 && t.Year() <= 9999
}

var (
	compactPattern = pattern.New(`^(\d{4})(\d\d)(\d\d)[Tt ]?(\d\d)(\d\d)(\d\d)(.*)$`)
	clockPattern   = pattern.New(`(?i)(?:\bat\s+|t|\b)(\d{1,2}):(\d\d)(?::(\d\d)(?:[.,](\d+))?)?\s*([ap]\.?m\b\.?)?\s*` +
		`(z\b|(?:utc|gmt)?[+-]\d{1,2}(?::?\d\d)?(?:\b|$)|[a-z]{3,4}\b|\d\d:\d\d$)?|t(\d\d)(\d\d)(\d\d)?(z|[+-]\d\d:?\d\d)?$`)
	isoPattern     = pattern.New(`^(\d{4})-(\d{1,2})-(\d{1,2})$`)
	slashPattern   = pattern.New(`^(\d{4})[/.](\d{1,2})[/.](\d{1,2})$`)
	plainPattern   = pattern.New(`^(\d{4})(\d\d)(\d\d)$`)
	monthPattern   = pattern.New(`^(\d{4})-(\d\d)$`)
	ordinalPattern = pattern.New(`^(\d{4})-?(\d{3})$`)
	weekPattern    = pattern.New(`^(\d{4})-?w(\d\d)(?:-?(\d))?$`)
	dmyPattern     = pattern.New(`^(\d{1,2})[-./](\d{1,2})[-./](\d{4})$`)
	dayNamePattern = pattern.New(`^(?:mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:day)?\b\.?,?\s*`)
	dMonYPattern   = pattern.New(`^(\d{1,2})(?:st|nd|rd|th)?[-\s]+([a-z]{3,9})\.?,?[-\s]+(\d{4}|\d{2})$`)
	monDYPattern   = pattern.New(`^([a-z]{3,9})\.?[-\s]+(\d{1,2})(?:st|nd|rd|th)?,?[-\s]+(\d{4})$`)
	yMonDPattern   = pattern.New(`^(\d{4})[-\s]+([a-z]{3,9})\.?[-\s]+(\d{1,2})$`)
)

// zones are the names of RFC 2822 besides UTC, with their hours.
var zones = map[string]int{
	"z": 0, "utc": 0, "gmt": 0, "ut": 0, "est": -5, "edt": -4, "cst": -6, "cdt": -5, "mst": -7, "mdt": -6, "pst": -8, "pdt": -7,
	"cet": 1, "cest": 2, "bst": 1, "eet": 2, "eest": 3, "jst": 9,
}

// readClock reads the time of day that clockPattern found: hour, minute, second, nanosecond.
func readClock(s string, m []int) (clock [4]int, zone *time.Location, ok bool) {
	group := func(i int) string {
		if m[2*i] < 0 {
			return ""
		}
		return s[m[2*i]:m[2*i+1]]
	}
	hour, minute, second, zoneText := group(1), group(2), group(3), group(6)
	if hour == "" {
		hour, minute, second, zoneText = group(7), group(8), group(9), group(10)
	}
	clock[0], clock[1], clock[2] = atoi(hour), atoi(minute), atoi(second)
	if frac := group(4); frac != "" {
		clock[3] = atoi((frac + "000000000")[:9])
	}
	switch half := strings.ToLower(group(5)); {
	case half == "":
	case clock[0] < 1 || clock[0] > 12:
		return clock, nil, false
	case half[0] == 'a':
		clock[0] %= 12
	default:
		clock[0] = clock[0]%12 + 12
	}
	if clock[0] > 24 || clock[1] > 59 || clock[2] > 60 {
		return clock, nil, false
	}
	if clock[2] == 60 { // a leap second
		clock[2] = 59
	}
	zone, ok = readZone(strings.ToLower(zoneText))
	return clock, zone, ok
}

func readZone(s string) (*time.Location, bool) {
	if s == "" {
		return time.UTC, true
	}
	if '0' <= s[0] && s[0] <= '9' { // an offset whose plus was not escaped in a query says nothing any more
		return time.UTC, true
	}
	if hours, ok := zones[s]; ok {
		return fixed(hours * 3600), true
	}
	s = strings.TrimPrefix(strings.TrimPrefix(s, "utc"), "gmt")
	if s == "" || s[0] != '+' && s[0] != '-' {
		return nil, false
	}
	digits := strings.ReplaceAll(s[1:], ":", "")
	hours, minutes := digits, ""
	if len(digits) > 2 {
		hours, minutes = digits[:len(digits)-2], digits[len(digits)-2:]
	}
	offset := atoi(hours)*3600 + atoi(minutes)*60
	if atoi(hours) > 23 || atoi(minutes) > 59 {
		return nil, false
	}
	if s[0] == '-' {
		offset = -offset
	}
	return fixed(offset), true
}

func fixed(seconds int) *time.Location {
	if seconds == 0 {
		return time.UTC
	}
	return time.FixedZone("", seconds)
}

// readDay reads the date, in lower case and without its time of day.
func readDay(s string) (year, month, day int, ok bool) {
	s = strings.TrimLeft(s, " ,\t")
	s = strings.Trim(dayNamePattern().ReplaceAllString(s, ""), " ,\t")
	for _, p := range []func() *regexp.Regexp{isoPattern, slashPattern, plainPattern} {
		if m := p().FindStringSubmatch(s); m != nil {
			return checked(atoi(m[1]), atoi(m[2]), atoi(m[3]))
		}
	}
	if m := monthPattern().FindStringSubmatch(s); m != nil {
		return checked(atoi(m[1]), atoi(m[2]), 1)
	}
	if m := ordinalPattern().FindStringSubmatch(s); m != nil {
		t := time.Date(atoi(m[1]), 1, atoi(m[2]), 0, 0, 0, 0, time.UTC)
		return t.Year(), int(t.Month()), t.Day(), atoi(m[2]) > 0 && t.Year() == atoi(m[1])
	}
	if m := weekPattern().FindStringSubmatch(s); m != nil {
		return week(atoi(m[1]), atoi(m[2]), max(1, atoi(m[3])))
	}
	if m := dmyPattern().FindStringSubmatch(s); m != nil {
		return checked(atoi(m[3]), atoi(m[2]), atoi(m[1]))
	}
	if m := dMonYPattern().FindStringSubmatch(s); m != nil {
		return checked(fullYear(m[3]), monthNamed(m[2]), atoi(m[1]))
	}
	if m := monDYPattern().FindStringSubmatch(s); m != nil {
		return checked(atoi(m[3]), monthNamed(m[1]), atoi(m[2]))
	}
	if m := yMonDPattern().FindStringSubmatch(s); m != nil {
		return checked(atoi(m[1]), monthNamed(m[2]), atoi(m[3]))
	}
	return asctime(s)
}

// asctime reads "mar 11 2016" with anything between that spaces separate.
func asctime(s string) (year, month, day int, ok bool) {
	parts := strings.Fields(s)
	if len(parts) != 3 {
		return 0, 0, 0, false
	}
	return checked(fullYear(parts[2]), monthNamed(parts[0]), atoi(strings.TrimSuffix(parts[1], ",")))
}

// checked refuses days that do not exist.
func checked(year, month, day int) (int, int, int, bool) {
	if month < 1 || month > 12 || day < 1 || year < 1 {
		return 0, 0, 0, false
	}
	t := time.Date(year, time.Month(month), day, 0, 0, 0, 0, time.UTC)
	return year, month, day, t.Day() == day
}

// week returns a day of an ISO week.
func week(year, number, day int) (int, int, int, bool) {
	if number < 1 || number > 53 || day > 7 {
		return 0, 0, 0, false
	}
	jan4 := time.Date(year, 1, 4, 0, 0, 0, 0, time.UTC)
	monday := jan4.AddDate(0, 0, -((int(jan4.Weekday()) + 6) % 7))
	t := monday.AddDate(0, 0, (number-1)*7+day-1)
	y, w := t.ISOWeek()
	return t.Year(), int(t.Month()), t.Day(), y == year && w == number
}

func monthNamed(name string) int {
	for m := time.January; m <= time.December; m++ {
		full := strings.ToLower(m.String())
		if name == full || len(name) >= 3 && name == full[:3] || name == "sept" && m == time.September {
			return int(m)
		}
	}
	return 0
}

// fullYear reads a year of four digits, or of two as mail headers of old have it.
func fullYear(s string) int {
	n := atoi(s)
	switch {
	case len(s) > 2:
		return n
	case n < 69:
		return 2000 + n
	default:
		return 1900 + n
	}
}

// atoi reads digits that a pattern has checked; anything else is 0.
func atoi(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		return 0
	}
	return n
}

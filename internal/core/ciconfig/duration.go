package ciconfig

import (
	"strconv"
	"strings"
	"time"
	"unicode"
)

const (
	day  = 24 * time.Hour
	year = 8766 * time.Hour // 365.25 days
)

// units are the names of durations without the s of the plural.
func unit(name string) time.Duration {
	if len(name) > 1 && name != "mos" {
		name = strings.TrimSuffix(name, "s")
	}
	switch name {
	case "s", "sec", "second":
		return time.Second
	case "m", "min", "minute":
		return time.Minute
	case "h", "hr", "hour":
		return time.Hour
	case "d", "dy", "day":
		return day
	case "w", "wk", "week":
		return 7 * day
	case "mo", "mos", "month":
		return 30 * day
	case "y", "yr", "year":
		return year
	}
	return 0
}

// ParseDuration reads a duration such as "1h 30m", "3 days and 4 hours" or "3600", which is in seconds. ok is false for
// anything else, "never" among it, and for what is longer than 100 years.
func ParseDuration(text string) (d time.Duration, ok bool) {
	rest := strings.ToLower(strings.TrimSpace(text))
	if rest == "" {
		return 0, false
	}
	var sum float64
	for rest != "" {
		n := strings.IndexFunc(rest, func(r rune) bool { return r != '.' && (r < '0' || r > '9') })
		if n < 0 {
			n = len(rest)
		}
		number, err := strconv.ParseFloat(rest[:n], 64)
		if err != nil {
			return 0, false
		}
		rest = strings.TrimLeft(rest[n:], " ")
		n = strings.IndexFunc(rest, func(r rune) bool { return !unicode.IsLetter(r) })
		if n < 0 {
			n = len(rest)
		}
		u := time.Second
		if n > 0 {
			u = unit(rest[:n])
		} else if rest != "" {
			return 0, false
		}
		if u == 0 {
			return 0, false
		}
		sum += number * float64(u)
		rest = strings.TrimLeft(rest[n:], " ,")
		rest = strings.TrimLeft(strings.TrimPrefix(rest, "and "), " ")
	}
	if sum > float64(100*year) {
		return 0, false
	}
	return time.Duration(sum).Round(time.Second), true
}

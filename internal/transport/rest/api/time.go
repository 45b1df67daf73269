package api

import (
	"reflect"
	"time"
)

// Time is a moment in a parameter or a response. It is written in UTC with
// milliseconds, "2023-05-22T10:11:12.345Z"; use a *Time or a NullTime where the
// answer may be null.
type Time time.Time

// NullTime is a Time whose zero value is written as null.
type NullTime time.Time

// CommitTime is a moment in the life of a commit: it is written with the offset
// that the commit itself carries, "2014-02-27T10:27:00.000+02:00".
type CommitTime time.Time

// Date is a day, "2016-03-11". The empty Date is written as null.
type Date string

const (
	utcLayout    = `"2006-01-02T15:04:05.000Z"`
	offsetLayout = `"2006-01-02T15:04:05.000-07:00"`
	dateLayout   = "2006-01-02"
)

// MarshalJSON writes the time as the API does.
func (t Time) MarshalJSON() ([]byte, error) {
	return time.Time(t).UTC().AppendFormat(make([]byte, 0, len(utcLayout)), utcLayout), nil
}

// MarshalJSON writes the time as the API does, null for the zero time.
func (t NullTime) MarshalJSON() ([]byte, error) {
	if time.Time(t).IsZero() {
		return []byte("null"), nil
	}
	return Time(t).MarshalJSON()
}

// MarshalJSON writes the time with its own offset.
func (t CommitTime) MarshalJSON() ([]byte, error) {
	return time.Time(t).AppendFormat(make([]byte, 0, len(offsetLayout)), offsetLayout), nil
}

// MarshalJSON writes the day, null for the empty one.
func (d Date) MarshalJSON() ([]byte, error) {
	if d == "" {
		return []byte("null"), nil
	}
	out := append(make([]byte, 0, len(dateLayout)+2), '"')
	return append(append(out, d...), '"'), nil
}

// TimePtr returns the form of an optional time for a response: nil stays null.
func TimePtr(t *time.Time) *Time {
	if t == nil {
		return nil
	}
	out := Time(*t)
	return &out
}

// Time returns the first moment of the day in UTC, the zero time for the empty Date.
func (d Date) Time() time.Time {
	t, err := time.Parse(dateLayout, string(d))
	if err != nil {
		return time.Time{}
	}
	return t
}

func parseMoment(raw any) (time.Time, outcome) {
	s, ok := raw.(string)
	switch {
	case raw == nil || ok && s == "":
		return time.Time{}, null
	case !ok:
		return time.Time{}, refused
	}
	t, ok := ParseTime(s)
	if !ok {
		return time.Time{}, refused
	}
	return t, taken
}

func setTime(to reflect.Value, raw any, _ *decoding, _ string) outcome {
	t, out := parseMoment(raw)
	if out == taken {
		to.Set(reflect.ValueOf(t.UTC()).Convert(to.Type()))
	}
	return out
}

// setDate takes the day as it was written, whatever the offset beside it.
func setDate(to reflect.Value, raw any, _ *decoding, _ string) outcome {
	t, out := parseMoment(raw)
	if out == taken {
		to.SetString(t.Format(dateLayout))
	}
	return out
}

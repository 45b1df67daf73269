package db

import (
	"database/sql"
	"database/sql/driver"
	"fmt"
	"time"
)

// Time is a time as both engines keep it: UTC, whole microseconds. Use it for
// columns of type {{time}} and above all for expressions such as max(created_at)
// and COALESCE(a, b), which SQLite hands out as text. Where NULL may come, use
// *Time or NullTime.
type Time struct{ time.Time }

// NullTime is a Time that may be NULL.
type NullTime = sql.Null[Time]

// At returns t as the database keeps it.
func At(t time.Time) Time { return Time{utc(t)} }

func utc(t time.Time) time.Time { return t.UTC().Truncate(time.Microsecond) }

// Ptr returns the time of a column that may be NULL: nil stays nil.
func (t *Time) Ptr() *time.Time {
	if t == nil {
		return nil
	}
	return &t.Time
}

// Scan reads a time, the text of one, or microseconds since 1970.
func (t *Time) Scan(src any) error {
	switch v := src.(type) {
	case time.Time:
		t.Time = utc(v)
		return nil
	case int64:
		t.Time = time.UnixMicro(v).UTC()
		return nil
	case []byte:
		return t.Scan(string(v))
	case string:
		for _, layout := range []string{"2006-01-02 15:04:05.999999999-07:00", time.RFC3339Nano, time.DateTime, time.DateOnly} {
			if parsed, err := time.Parse(layout, v); err == nil {
				t.Time = utc(parsed)
				return nil
			}
		}
		return fmt.Errorf("no time: %q", v)
	default:
		return fmt.Errorf("no time: %T", src)
	}
}

// Value binds the time.
func (t Time) Value() (driver.Value, error) { return utc(t.Time), nil }

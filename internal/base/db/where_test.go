package db_test

import (
	"testing"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/base/db/dbtest"
)

// TestWhere_times compares a time of microseconds with bounds.
func TestWhere_times(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		at := time.Date(2026, 5, 4, 15, 38, 0, 123_456_000, time.UTC)
		for _, tt := range []struct {
			name         string
			bound        time.Time
			since, until bool
		}{
			{"the same", at, true, true},
			{"its millisecond", at.Truncate(time.Millisecond), true, true},
			{"the millisecond before", at.Truncate(time.Millisecond).Add(-time.Millisecond), true, false},
			{"the next millisecond", at.Truncate(time.Millisecond).Add(time.Millisecond), false, true},
			{"a microsecond before", at.Add(-time.Microsecond), true, false},
			{"a microsecond later", at.Add(time.Microsecond), false, true},
			{"elsewhere", at.Truncate(time.Millisecond).In(time.FixedZone("", 3600)), true, true},
		} {
			var since, until db.Where
			since.Since("x.at", &tt.bound)
			until.Until("x.at", &tt.bound)
			for kind, check := range map[string]struct {
				w    db.Where
				want bool
			}{"since": {since, tt.since}, "until": {until, tt.until}} {
				got, err := db.Get[bool](t.Context(), d, "SELECT EXISTS (SELECT 1 FROM (SELECT "+castTime(d)+" AS at) x"+check.w.SQL()+")",
					append([]any{db.At(at)}, check.w.Args()...)...)
				if err != nil || got != check.want {
					t.Errorf("%s %s: got %t, %v, want %t", kind, tt.name, got, err, check.want)
				}
			}
		}
		var open db.Where
		open.Since("x.at", nil)
		open.Until("x.at", nil)
		if open.SQL() != "" {
			t.Errorf("without bounds: got %q", open.SQL())
		}
	})
}

// castTime is a parameter with the type that columns of times have.
func castTime(d *db.DB) string {
	if d.Dialect() == db.SQLite {
		return "?"
	}
	return "CAST(? AS TIMESTAMPTZ)"
}

// TestWhere_Equal compares the columns of the fields that are set.
func TestWhere_Equal(t *testing.T) {
	t.Parallel()
	type selection struct {
		Open  *bool  `db:"open"`
		Name  string `db:"name"`
		Other string
	}
	for want, s := range map[string]selection{
		"":                                 {Other: "x"},
		" WHERE t.name = ?":                {Name: "a", Other: "x"},
		" WHERE t.open = ? AND t.name = ?": {Open: new(false), Name: "a"},
	} {
		var w db.Where
		w.Equal("t", s)
		if got := w.SQL(); got != want {
			t.Errorf("%+v: got %q, want %q", s, got, want)
		}
	}
}

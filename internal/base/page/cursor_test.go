package page_test

import (
	"encoding/base64"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/base/db/dbtest"
	"tenon/internal/base/page"
)

// A cursor from outside is refused, or means the same when it is written again.
func FuzzOrder_Values(f *testing.F) {
	order := page.Order{page.Time("at", ""), page.Bool("done", ""), page.Text("name", "").Null(), page.ID("")}
	f.Add(order.Cursor(time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC), true, "x", int64(1)))
	f.Add("e30")
	f.Add(base64.RawURLEncoding.EncodeToString([]byte(`{"at":"9999-12-31T23:59:59-23:59","done":"1","name":"","id":"9223372036854775807"}`)))
	f.Add(base64.RawURLEncoding.EncodeToString([]byte(`{"at":"0000-01-01T00:00:00+01:00","done":"F","name":"a\u0000","id":"-9223372036854775808"}`)))
	f.Add(base64.RawURLEncoding.EncodeToString([]byte(`{"at":"2026-01-02T03:04:05+01:00","done":"t","name":null,"id":"-1"}`)))
	f.Fuzz(func(t *testing.T, s string) {
		values, err := order.Values(s)
		if err != nil && !errors.Is(err, page.ErrCursor) {
			t.Fatalf("%q: got %v, want ErrCursor", s, err)
		}
		if err != nil || values[2] == nil {
			return
		}
		if year := values[0].(time.Time).UTC().Year(); year < 1 || year > 9999 || strings.Contains(values[2].(string), "\x00") {
			t.Fatalf("%q: got %v, which a database refuses", s, values)
		}
		again, err := order.Values(order.Cursor(values...))
		if err != nil || len(again) != 4 || !again[0].(time.Time).Equal(values[0].(time.Time)) || again[1] != values[1] || again[2] != values[2] || again[3] != values[3] {
			t.Fatalf("%q is %v, and that is read as %v, %v", s, values, again, err)
		}
	})
}

// A cursor with the largest and smallest values reads a page, on both engines.
func TestSelect_extremes(t *testing.T) {
	t.Parallel()
	dbtest.Empty(t, func(t *testing.T, d *db.DB) {
		things(t, d, 3)
		values := map[string][]string{
			"id":   {"-9223372036854775808", "9223372036854775807"},
			"rank": {"-9223372036854775808", "9223372036854775807"},
			"made": {"0001-01-01T00:00:00Z", "9999-12-31T23:59:59.999999999Z"},
			"name": {"", strings.Repeat("\U0010ffff", 1024)},
			"due":  {"", "9999-99-99"},
			"done": {"false", "true"},
		}
		both(t, func(t *testing.T, name string, o page.Order) {
			for i := range 2 {
				content := `{"_kd":"n"`
				for column, v := range values {
					content += `,"` + column + `":"` + v[i] + `"`
				}
				cursor := base64.URLEncoding.EncodeToString([]byte(content + "}"))
				_, err := page.Select[thing](t.Context(), d, page.Query{Columns: "t.id", From: "things t", Order: o},
					page.Range{Limit: 2, Keyset: true, Cursor: cursor})
				if err != nil {
					t.Errorf("%s, %d: got %v, want a page", name, i, err)
				}
			}
		})
	})
}

// A cursor names a place in a snapshot, or is refused.
func FuzzRange_Place(f *testing.F) {
	f.Add("e30", 20)
	f.Add(base64.RawURLEncoding.EncodeToString([]byte(`{"of":"x","id":"2147483646","_kd":"p"}`)), 1)
	f.Fuzz(func(t *testing.T, cursor string, limit int) {
		limit = max(limit, 0)
		at, err := page.Range{Limit: limit, Keyset: true, Cursor: cursor}.Place()
		if err != nil && !errors.Is(err, page.ErrCursor) || err == nil && (at.Offset < 0 || at.Offset > math.MaxInt32 || at.Limit < 0) {
			t.Fatalf("%q: got %+v, %v", cursor, at, err)
		}
	})
}

// Cursors come from clients: a position that no list has is refused, on all platforms.
func TestSnapshot_positions(t *testing.T) {
	t.Parallel()
	all := []string{"a", "b", "c"}
	for _, tt := range []struct {
		position, direction string
		want                string
		err                 error
	}{
		{"0", "n", "[b c]", nil},
		{"7", "n", "[]", nil},
		{"2147483646", "n", "[]", nil},
		{"2", "p", "[a b]", nil},
		{"0", "p", "", page.ErrCursor},
		{"-1", "n", "", page.ErrCursor},
		{"2147483647", "n", "", page.ErrCursor},
		{"9223372036854775807", "n", "", page.ErrCursor},
		{"9223372036854775807", "p", "", page.ErrCursor},
	} {
		cursor := base64.URLEncoding.EncodeToString([]byte(`{"of":"x","id":"` + tt.position + `","_kd":"` + tt.direction + `"}`))
		p, err := page.Snapshot(all, "x", page.Range{Limit: 2, Keyset: true, Cursor: cursor})
		if got := fmt.Sprint(p.Items); !errors.Is(err, tt.err) || err == nil && got != tt.want {
			t.Errorf("position %s, %s: got %s, %v, want %s, %v", tt.position, tt.direction, got, err, tt.want, tt.err)
		}
	}
}

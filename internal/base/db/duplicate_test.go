package db_test

import (
	"errors"
	"testing"

	"tenon/internal/base/db"
)

func TestDuplicate(t *testing.T) {
	each(t, func(t *testing.T, d *db.DB) {
		insert(t, d, thing{Name: "One)=(two"})
		exec(t, d, "INSERT INTO pairs (a, b, n) VALUES (1, 2, 3)")
		row := thing{Name: "one)=(TWO", Made: day()}
		name := db.Create(t.Context(), d, "things", &row)
		_, pair := d.Exec(t.Context(), "INSERT INTO pairs (a, b, n) VALUES (1, 2, 4)")
		for _, tt := range []struct {
			name    string
			err     error
			table   string
			columns []string
			want    bool
		}{
			{"any of the table", name, "things", nil, true},
			{"by its column", name, "things", []string{"name_fold"}, true},
			{"another column", name, "things", []string{"id"}, false},
			{"another table", name, "pairs", nil, false},
			{"primary key of two columns", pair, "pairs", []string{"a", "b"}, true},
			{"a part of it", pair, "pairs", []string{"a"}, false},
			{"another error", errors.New("failed"), "things", nil, false},
			{"none", nil, "things", nil, false},
		} {
			if got := db.Duplicate(tt.err, tt.table, tt.columns...); got != tt.want {
				t.Errorf("%s: got %v, want %v: %v", tt.name, got, tt.want, tt.err)
			}
		}
	})
}

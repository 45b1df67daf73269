package db_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"tenon/internal/base/db"
	"tenon/internal/base/db/dbtest"
)

func TestDB_errors(t *testing.T) {
	each(t, func(t *testing.T, d *db.DB) {
		parent := insert(t, d, thing{Name: "parent"})
		insert(t, d, thing{Name: "child", Parent: &parent})
		tagged := insert(t, d, thing{Name: "tagged"})
		exec(t, d, "INSERT INTO tags (thing_id, tag) VALUES (?, 'x')", tagged)
		exec(t, d, "INSERT INTO pairs (a, b, n) VALUES (1, 1, 1)")
		tests := []struct {
			name, query string
			args        []any
			want        error
		}{
			{"unique", "UPDATE things SET name_fold = 'child' WHERE id = ?", []any{parent}, db.ErrDuplicate},
			{"primary key", "INSERT INTO pairs (a, b, n) VALUES (1, 1, 2)", nil, db.ErrDuplicate},
			{"id", "INSERT INTO things (id, name, name_fold, kind, hidden, made_at) VALUES (?, 'y', 'y', '', ?, ?)", []any{parent, false, day()}, db.ErrDuplicate},
			{"refers to nothing", "UPDATE things SET parent_id = 99 WHERE id = ?", []any{parent}, db.ErrReference},
			{"is referenced", "DELETE FROM things WHERE id = ?", []any{parent}, db.ErrReference},
			{"is referenced, restrict", "DELETE FROM things WHERE id = ?", []any{tagged}, db.ErrReference},
		}
		for _, tt := range tests {
			_, err := d.Exec(t.Context(), tt.query, tt.args...)
			if !errors.Is(err, tt.want) {
				t.Errorf("%s: got %v, want %v", tt.name, err, tt.want)
			}
			err = d.InTx(t.Context(), func(ctx context.Context) error {
				_, err := d.Exec(ctx, tt.query, tt.args...)
				return fmt.Errorf("in a transaction: %w", err)
			})
			if !errors.Is(err, tt.want) {
				t.Errorf("%s: got %v, want %v", tt.name, err, tt.want)
			}
		}
		if _, err := d.Exec(t.Context(), "SELECT * FROM nowhere"); err == nil || errors.Is(err, db.ErrDuplicate) || errors.Is(err, db.ErrReference) {
			t.Errorf("unknown table: got %v", err)
		}
	})
}

func TestDB_lists(t *testing.T) {
	each(t, func(t *testing.T, d *db.DB) {
		ids := []thingID{insert(t, d, thing{Name: "a"}), insert(t, d, thing{Name: "b"}), insert(t, d, thing{Name: "c"})}
		var w db.Where
		w.In("t.id", ids[:3])
		w.And("t.made_at >= ?", day())
		w.Raw("t.parent_id IS NULL")
		got := list[thingID](t, d, "SELECT t.id FROM things t"+w.SQL()+" ORDER BY t.id DESC LIMIT ?", append(w.Args(), 2)...)
		if !slices.Equal(got, []thingID{ids[2], ids[1]}) {
			t.Errorf("got %v", got)
		}
		var none, all db.Where
		none.In("id", []thingID{})
		all.NotIn("id", []thingID{})
		if n := get[int](t, d, "SELECT count(*) FROM things"+none.SQL(), none.Args()...); n != 0 {
			t.Errorf("IN of an empty list matched %d rows", n)
		}
		if n := get[int](t, d, "SELECT count(*) FROM things"+all.SQL(), all.Args()...); n != 3 {
			t.Errorf("NOT IN of an empty list matched %d rows", n)
		}
		found := 0
		many := make([]thingID, 12_000)
		for i := range many {
			many[i] = thingID(i)
		}
		for chunk := range slices.Chunk(many, db.MaxArgs) {
			marks, args := db.Marks(chunk)
			found += get[int](t, d, "SELECT count(*) FROM things WHERE id IN ("+marks+")", args...)
		}
		if found != 3 {
			t.Errorf("12,000 ids in chunks found %d rows, want 3", found)
		}
	})
}

func TestDB_Statements(t *testing.T) {
	each(t, func(t *testing.T, d *db.DB) {
		n := dbtest.Count(t, d, func() {
			insert(t, d, thing{Name: "one"})
			list[thingID](t, d, "SELECT id FROM things")
			if err := d.InTx(t.Context(), func(ctx context.Context) error {
				_, err := d.Exec(ctx, "DELETE FROM things")
				return err
			}); err != nil {
				t.Fatal(err)
			}
		})
		if n != 3 {
			t.Errorf("counted %d statements, want 3", n)
		}
	})
}

func TestMarks(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]int{1: 1, 2: 2, 3: 4, 4: 4, 5: 8, 1000: 1024} {
		ids := make([]int, n)
		for i := range ids {
			ids[i] = i + 7
		}
		marks, args := db.Marks(ids)
		if len(args) != want || strings.Count(marks, "?") != want {
			t.Errorf("%d ids gave %d arguments for %q, want %d", n, len(args), marks, want)
		}
		if args[len(args)-1] != 7 && n != want {
			t.Errorf("padded with %v, want the first id", args[len(args)-1])
		}
	}
	if marks, args := db.Marks([]int{3, 4, 3, 5, 4, 3}); marks != "?,?,?,?" || !slices.Equal(args, []any{3, 4, 5, 3}) {
		t.Errorf("repeated ids gave %q %v", marks, args)
	}
	if marks, args := db.Marks[int](nil); marks != "NULL" || len(args) != 0 {
		t.Errorf("no ids gave %q %v", marks, args)
	}
}

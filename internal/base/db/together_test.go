package db_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"tenon/internal/base/db"
)

// Many calls together read what each would read alone, with as many statements as one.
func TestTogether(t *testing.T) {
	each(t, func(t *testing.T, d *db.DB) {
		ctx := t.Context()
		now := time.Date(2026, 5, 22, 10, 11, 12, 0, time.UTC)
		kind := map[db.Dialect]string{db.SQLite: "TIMESTAMP", db.Postgres: "TIMESTAMPTZ"}[d.Dialect()]
		for _, query := range []string{"CREATE TABLE people (id BIGINT NOT NULL, name TEXT NOT NULL, admin BOOLEAN NOT NULL, seen " + kind + ")"} {
			if _, err := d.Exec(ctx, query); err != nil {
				t.Fatal(err)
			}
		}
		for i := range 30 {
			var seen any
			if i%2 == 0 {
				seen = now.Add(time.Duration(i) * time.Hour)
			}
			if _, err := d.Exec(ctx, "INSERT INTO people (id, name, admin, seen) VALUES (?, ?, ?, ?)", i+100, fmt.Sprintf("user%02d", i), i%3 == 0, seen); err != nil {
				t.Fatal(err)
			}
		}
		list := func(ctx context.Context, i int) (string, error) {
			type who struct {
				ID    int64    `db:"id"`
				Name  string   `db:"name"`
				Admin bool     `db:"admin"`
				Seen  *db.Time `db:"seen"`
			}
			rows, err := db.Select[who](ctx, d, "SELECT u.id, u.name, u.admin, u.seen FROM people u WHERE u.id >= ? AND u.id <= ? ORDER BY u.name DESC LIMIT ?", 100, 100+i, 3)
			if err != nil {
				return "", err
			}
			var out []string
			for _, r := range rows {
				seen := "never"
				if r.Seen != nil {
					seen = r.Seen.Format(time.RFC3339)
				}
				out = append(out, fmt.Sprint(r.ID, r.Name, r.Admin, seen))
			}
			// Calls that have nothing to read the second time do not hold the others up.
			if i%5 == 0 {
				return strings.Join(out, "; "), nil
			}
			n, err := db.Get[int64](ctx, d, "SELECT COUNT(*) FROM people u WHERE u.id >= ? AND u.id <= ?", 100, 100+i)
			if err != nil {
				return "", err
			}
			_, err = db.Get[int64](ctx, d, "SELECT u.id FROM people u WHERE u.id = ?", i)
			if !errors.Is(err, db.ErrNotFound) {
				return "", fmt.Errorf("user %d, want none: %w", i, err)
			}
			return fmt.Sprint(strings.Join(out, "; "), n), nil
		}
		for _, n := range []int{1, 2, 30} {
			alone, together := make([]string, n), make([]string, n)
			for i := range n {
				var err error
				if alone[i], err = list(ctx, i); err != nil {
					t.Fatal(err)
				}
			}
			before := d.Statements()
			err := d.Together(ctx, n, func(ctx context.Context, i int) (err error) {
				together[i], err = list(ctx, i)
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
			want := uint64(3)
			if n == 1 {
				want = 1 // it is one of those that stop after the first
			}
			if got := d.Statements() - before; got != want {
				t.Errorf("%d calls: %d statements, want %d", n, got, want)
			}
			for i := range n {
				if alone[i] != together[i] {
					t.Errorf("call %d of %d: got %s, want %s", i, n, together[i], alone[i])
				}
			}
		}
	})
}

// An error of one call is that of all, a broken statement is told to each that waited for it, and
// the writes of a call are its own.
func TestTogether_errors(t *testing.T) {
	each(t, func(t *testing.T, d *db.DB) {
		ctx := t.Context()
		err := d.Together(ctx, 3, func(ctx context.Context, i int) error {
			if i == 1 {
				return errors.New("one of three")
			}
			_, err := db.Get[int64](ctx, d, "SELECT COUNT(*) FROM things u")
			return err
		})
		if err == nil || err.Error() != "one of three" {
			t.Errorf("got %v", err)
		}
		told := make([]error, 3)
		_ = d.Together(ctx, 3, func(ctx context.Context, i int) error {
			_, told[i] = db.Get[int64](ctx, d, "SELECT nothing FROM things u")
			return nil
		})
		for i, err := range told {
			if err == nil {
				t.Errorf("call %d of a broken statement: no error", i)
			}
		}
		ended, cancel := context.WithCancel(ctx)
		err = d.Together(ended, 2, func(ctx context.Context, _ int) error {
			cancel()
			_, err := db.Get[int64](ctx, d, "SELECT COUNT(*) FROM things u")
			return err
		})
		if !errors.Is(err, context.Canceled) {
			t.Errorf("canceled: got %v", err)
		}
		defer func() {
			if recover() == nil {
				t.Error("the panic of a call is lost")
			}
		}()
		_ = d.Together(ctx, 2, func(_ context.Context, i int) error {
			if i == 1 {
				panic("a call")
			}
			return nil
		})
	})
}

// Reads that differ in the numbers beside their rows alone are answered by one statement.
func TestTogether_numbers(t *testing.T) {
	each(t, func(t *testing.T, d *db.DB) {
		ctx := t.Context()
		if _, err := d.Exec(ctx, "CREATE TABLE sizes (id BIGINT NOT NULL)"); err != nil {
			t.Fatal(err)
		}
		for id := range 3 {
			if _, err := d.Exec(ctx, "INSERT INTO sizes (id) VALUES (?)", id); err != nil {
				t.Fatal(err)
			}
		}
		type row struct {
			ID int64 `db:"id"`
			N  int64 `db:"n"`
		}
		counts := []string{"SELECT COUNT(*) FROM sizes", "SELECT COUNT(*) FROM sizes WHERE id > ?", "SELECT COUNT(*) FROM (SELECT 1 AS one FROM sizes WHERE id > ? AND ')' <> '') x"}
		got := make([][]row, len(counts))
		before := d.Statements()
		err := d.Together(ctx, len(counts), func(ctx context.Context, i int) error {
			var args []any
			if i > 0 {
				args = append(args, i-1)
			}
			rows, err := db.Select[row](ctx, d, "SELECT s.id, "+db.Number(counts[i])+" AS n FROM sizes s WHERE s.id <= ? ORDER BY s.id", append(args, i)...)
			got[i] = rows
			return err
		})
		if want := "[[{0 3}] [{0 2} {1 2}] [{0 1} {1 1} {2 1}]]"; err != nil || fmt.Sprint(got) != want || d.Statements() != before+1 {
			t.Errorf("got %v in %d statements, %v; want %s in one", got, d.Statements()-before, err, want)
		}
	})
}

// TestTogether_many: more calls, with more queries within each other, than one statement takes.
func TestTogether_many(t *testing.T) {
	each(t, func(t *testing.T, d *db.DB) {
		ctx := t.Context()
		if _, err := d.Exec(ctx, "CREATE TABLE gathered (id BIGINT NOT NULL)"); err != nil {
			t.Fatal(err)
		}
		if _, err := d.Exec(ctx, "INSERT INTO gathered (id) VALUES (?)", 7); err != nil {
			t.Fatal(err)
		}
		const long = "p.id = i.id AND NOT p.id < 0 AND p.id IN (SELECT id FROM gathered WHERE id > 0) AND NOT p.id > 9 AND NOT p.id IN (SELECT a.id FROM gathered a JOIN gathered c ON c.id = a.id WHERE a.id > 8) AND p.id > 0"
		for name, within := range map[string]string{
			"plain":  "SELECT o.id + ? AS id FROM gathered o",
			"long":   "SELECT o.id + ? AS id FROM gathered o JOIN gathered q ON q.id = o.id JOIN (WITH found AS MATERIALIZED (SELECT i.id, i.id AS page_key FROM (SELECT i.id FROM (SELECT id FROM gathered WHERE id > 0) place CROSS JOIN gathered p CROSS JOIN gathered i WHERE " + long + " AND p.id = place.id) candidate CROSS JOIN gathered i CROSS JOIN gathered p WHERE " + long + " AND i.id = candidate.id ORDER BY i.id DESC) SELECT found.id, (SELECT COUNT(*) FROM found) AS total FROM found ORDER BY found.page_key DESC LIMIT 5) page ON page.id = o.id ORDER BY o.id DESC",
			"nested": "SELECT o.id + ? AS id FROM gathered o WHERE o.id IN (SELECT a.id FROM (SELECT b.id FROM gathered b WHERE EXISTS (SELECT 1 FROM gathered c WHERE c.id = b.id)) a) ORDER BY o.id LIMIT 5",
		} {
			calls := 1200
			if name == "long" {
				calls = 200
			}
			got := make([]int64, calls)
			before := d.Statements()
			err := d.Together(ctx, calls, func(ctx context.Context, i int) (err error) {
				got[i], err = db.Get[int64](ctx, d, within, i)
				return err
			})
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			for i, n := range got {
				if n != int64(i)+7 {
					t.Fatalf("%s: call %d read %d", name, i, n)
				}
			}
			if took := d.Statements() - before; took > uint64(calls)/10 {
				t.Errorf("%s: %d statements for %d calls", name, took, calls)
			}
		}
	})
}

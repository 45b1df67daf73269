package page_test

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/base/db/dbtest"
	"tenon/internal/base/page"
)

type thing struct {
	ID   int64   `db:"id"`
	Name string  `db:"name"`
	Due  *string `db:"due"`
	Rank int64   `db:"rank"`
	Done bool    `db:"done"`
	Made db.Time `db:"made"`
}

var orders = page.Orders{
	"":     {page.ID("t.id")},
	"name": {page.Text("name", "t.name"), page.ID("t.id")},
	"due":  {page.Text("due", "t.due").Null(), page.ID("t.id")},
	"made": {page.Time("made", "t.made"), page.ID("t.id").Desc().Fixed()},
	"low":  {page.Text("due", "t.due").NullLow(), page.ID("t.id")},
	"high": {page.Text("due", "t.due").NullHigh(), page.ID("t.id")},
	"rank": {page.Int("rank", "t.rank").Desc(), page.ID("t.id")},
	"most": {page.Bool("done", "t.done").Desc(), page.Text("due", "t.due").Null().Desc(), page.Time("made", "t.made"), page.ID("t.id")},
	"luck": {page.Computed("t.rank * ?", 2), page.ID("t.id")},
}

// things makes a table of rows that share most of their values.
func things(t *testing.T, d *db.DB, n int) {
	t.Helper()
	exec(t, d, `CREATE TABLE things (id BIGINT PRIMARY KEY, name TEXT, due TEXT, rank BIGINT, done BOOLEAN, made `+
		map[db.Dialect]string{db.SQLite: "TIMESTAMP", db.Postgres: "TIMESTAMPTZ"}[d.Dialect()]+`)`)
	for i := range n {
		add(t, d, int64(10*(i+1)))
	}
}

func add(t *testing.T, d *db.DB, id int64) {
	t.Helper()
	random := rand.New(rand.NewPCG(uint64(id), 7))
	var due *string
	if random.IntN(3) > 0 {
		due = new(fmt.Sprintf("2026-01-%02d", 1+random.IntN(3)))
	}
	made := time.Date(2026, 1, 1, 0, 0, 0, 1000*random.IntN(3), time.UTC)
	if _, err := db.InsertRow(t.Context(), d, "things", struct {
		ID   int64   `db:"id,"`
		Name string  `db:"name"`
		Due  *string `db:"due"`
		Rank int64   `db:"rank"`
		Done bool    `db:"done"`
		Made db.Time `db:"made"`
	}{id, []string{"a", "b", `"ü"`}[random.IntN(3)], due, int64(random.IntN(3)), random.IntN(2) == 0, db.At(made)}, ""); err != nil {
		t.Fatal(err)
	}
}

func exec(t *testing.T, d *db.DB, query string, args ...any) {
	t.Helper()
	if err := d.InTx(t.Context(), func(ctx context.Context) error {
		_, err := d.Exec(ctx, query, args...)
		return err
	}); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, d *db.DB, o page.Order, r page.Range) page.Page[thing] {
	t.Helper()
	p, err := page.Select[thing](t.Context(), d, page.Query{Columns: "t.id, t.name, t.due, t.rank, t.done, t.made", From: "things t", Order: o}, r)
	if err != nil {
		t.Fatalf("%+v: %v", r, err)
	}
	return p
}

func ids(list []thing) []int64 {
	out := make([]int64, len(list))
	for i := range list {
		out[i] = list[i].ID
	}
	return out
}

// walk reads a list to its end by cursor, and calls between after each page.
func walk(t *testing.T, d *db.DB, o page.Order, limit int, between func(seen []int64)) []int64 {
	t.Helper()
	var out []int64
	r := page.Range{Limit: limit, Keyset: true}
	for {
		p := read(t, d, o, r)
		out = append(out, ids(p.Items)...)
		if p.Total != -1 || len(p.Items) > limit {
			t.Fatalf("got %d rows of %d", len(p.Items), p.Total)
		}
		if !p.HasNext {
			return out
		}
		r.Cursor = p.Next()
		if between != nil {
			between(out)
		}
	}
}

func both(t *testing.T, fn func(t *testing.T, name string, o page.Order)) {
	t.Helper()
	for name, o := range orders {
		if name == "luck" {
			continue
		}
		fn(t, name, o)
		fn(t, name+" desc", o.Desc())
	}
}

func TestSelect_keyset_equals_offset(t *testing.T) {
	t.Parallel()
	dbtest.Empty(t, func(t *testing.T, d *db.DB) {
		things(t, d, 23)
		both(t, func(t *testing.T, name string, o page.Order) {
			all := ids(read(t, d, o, page.Range{}).Items)
			var paged []int64
			for offset := 0; offset < len(all); offset += 4 {
				p := read(t, d, o, page.Range{Limit: 4, Offset: offset})
				if p.Total != 23 {
					t.Errorf("%s from %d: got a total of %d, want 23", name, offset, p.Total)
				}
				paged = append(paged, ids(p.Items)...)
			}
			if !slices.Equal(paged, all) {
				t.Errorf("%s by offset: got %v, want %v", name, paged, all)
			}
			for _, limit := range []int{1, 2, 5, 23, 50} {
				if got := walk(t, d, o, limit, nil); !slices.Equal(got, all) {
					t.Errorf("%s by cursor, %d a page: got %v, want %v", name, limit, got, all)
				}
			}
			var back []int64
			last := read(t, d, o, page.Range{Limit: 5, Keyset: true, Back: true})
			for {
				back = append(slices.Clone(ids(last.Items)), back...)
				if !last.HasPrev {
					break
				}
				last = read(t, d, o, page.Range{Limit: 5, Keyset: true, Cursor: last.Prev()})
				if !last.HasNext {
					t.Errorf("%s: a page before another one has no next", name)
				}
			}
			if !slices.Equal(back, all) {
				t.Errorf("%s backwards: got %v, want %v", name, back, all)
			}
		})
	})
}

// A list that is read by cursor neither skips nor repeats a row that stays as it is, whatever
// happens to the others between two pages.
func TestSelect_stable(t *testing.T) {
	t.Parallel()
	dbtest.Empty(t, func(t *testing.T, d *db.DB) {
		things(t, d, 30)
		fresh := int64(1)
		both(t, func(t *testing.T, name string, o page.Order) {
			touched := map[int64]bool{}
			before := ids(read(t, d, o, page.Range{}).Items)
			random := rand.New(rand.NewPCG(1, 2))
			got := walk(t, d, o, 3, func(seen []int64) {
				last := seen[len(seen)-1]
				for _, id := range []int64{last, before[random.IntN(len(before))]} { // the row that the cursor names goes as well
					exec(t, d, "DELETE FROM things WHERE id = ?", id)
					touched[id] = true
				}
				moved := before[random.IntN(len(before))]
				exec(t, d, "UPDATE things SET name = 'ab', due = NULL, rank = 9, done = NOT done WHERE id = ?", moved)
				touched[moved] = true
				for range 2 {
					for fresh%10 == 0 {
						fresh++
					}
					add(t, d, fresh)
					touched[fresh] = true
					fresh++
				}
			})
			still := func(list []int64) []int64 {
				return slices.DeleteFunc(slices.Clone(list), func(id int64) bool { return touched[id] })
			}
			if want := still(before); !slices.Equal(still(got), want) || len(want) == 0 {
				t.Errorf("%s: got %v, want %v", name, still(got), want)
			}
			for id := range touched {
				exec(t, d, "DELETE FROM things WHERE id = ?", id)
			}
			for len(ids(read(t, d, o, page.Range{}).Items)) < 30 {
				for fresh%10 == 0 {
					fresh++
				}
				add(t, d, fresh)
				fresh++
			}
		})
	})
}

func TestSelect_narrow(t *testing.T) {
	t.Parallel()
	dbtest.Empty(t, func(t *testing.T, d *db.DB) {
		things(t, d, 9)
		q := page.Query{
			Columns: "t.id, t.name, t.due, t.rank, t.done, t.made", From: "things t JOIN (SELECT id AS other FROM things) o ON o.other = t.id",
			Key: "t.id", Narrow: "things t", Order: orders["most"],
		}
		q.Where.And("t.id > ?", 20)
		want := slices.DeleteFunc(ids(read(t, d, q.Order, page.Range{}).Items), func(id int64) bool { return id <= 20 })
		var got []int64
		r := page.Range{Limit: 2, Keyset: true}
		for {
			p, err := page.Select[thing](t.Context(), d, q, r)
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, ids(p.Items)...)
			if r.Cursor = p.Next(); r.Cursor == "" {
				break
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
	})
}

// A page that is not full tells the total itself; nothing is counted for cursors.
func TestSelect_statements(t *testing.T) {
	t.Parallel()
	dbtest.Empty(t, func(t *testing.T, d *db.DB) {
		things(t, d, 5)
		for _, tt := range []struct {
			r           page.Range
			rows, total int
			statements  int
			next, prev  bool
		}{
			{page.Range{}, 5, 5, 1, false, false},
			{page.Range{Limit: 6}, 5, 5, 1, false, false},
			{page.Range{Limit: 5}, 5, 5, 2, false, false},
			{page.Range{Limit: 2, Offset: 4}, 1, 5, 1, false, true},
			{page.Range{Limit: 2, Offset: 2}, 2, 5, 2, false, true},
			{page.Range{Limit: 2, Offset: 8}, 0, 5, 2, false, true},
			{page.Range{Limit: 2, Uncounted: true}, 2, -1, 1, true, false},
			{page.Range{Limit: 2, Offset: 3, Uncounted: true}, 2, -1, 1, false, true},
			{page.Range{Limit: 2, Keyset: true}, 2, -1, 1, true, false},
			{page.Range{Limit: 5, Keyset: true, Offset: 3}, 5, -1, 1, false, false},
			{page.Range{Limit: 2, Keyset: true, Counted: true}, 2, 5, 1, true, false},
			{page.Range{Limit: 9, Keyset: true, Counted: true}, 5, 5, 1, false, false},
		} {
			var p page.Page[thing]
			n := dbtest.Count(t, d, func() { p = read(t, d, orders[""], tt.r) })
			if len(p.Items) != tt.rows || p.Total != tt.total || n != tt.statements || p.HasNext != tt.next || p.HasPrev != tt.prev {
				t.Errorf("%+v: got %d rows of %d in %d statements, next %t, prev %t; want %+v", tt.r, len(p.Items), p.Total, n, p.HasNext, p.HasPrev, tt)
			}
			if !tt.r.Keyset && p.After(0) != "" {
				t.Errorf("%+v: a page by offset has the cursor %s", tt.r, p.After(0))
			}
		}
		// A page by cursor that is counted tells of the whole list, also beyond its end.
		counted := page.Range{Limit: 3, Keyset: true, Counted: true}
		for i, want := range []int{1, 1, 2} {
			var p page.Page[thing]
			n := dbtest.Count(t, d, func() { p = read(t, d, orders["made"], counted) })
			if p.Total != 5 || n != want {
				t.Errorf("page %d: a total of %d in %d statements, want 5 in %d", i, p.Total, n, want)
			}
			counted.Cursor = p.After(len(p.Items) - 1)
		}
		refuse := func(o page.Order, cursor string) error {
			_, err := page.Select[thing](t.Context(), d, page.Query{Columns: "t.*", From: "things t", Order: o}, page.Range{Limit: 2, Keyset: true, Cursor: cursor})
			return err
		}
		if err := refuse(orders["luck"], ""); !errors.Is(err, page.ErrOrder) {
			t.Errorf("a computed order: got %v", err)
		}
		of := func(s string) string { return base64.URLEncoding.EncodeToString([]byte(s)) }
		for _, bad := range []string{
			"x", "!!", of("{}"), of("null"), of(`{"id":1}`), of(`{"id":"x"}`), of(`{"id":null}`), of("{\"id\":\"\xff\"}"), of("[1]"),
			of(`{"id":"99999999999999999999"}`), of(`{"name":"a"}`), of(`{"id":"1","x":"` + strings.Repeat("x", 20_000) + `"}`),
		} {
			if err := refuse(orders[""], bad); !errors.Is(err, page.ErrCursor) {
				t.Errorf("cursor %.40q: got %v, want %v", bad, err, page.ErrCursor)
			}
		}
		for _, bad := range []string{of(`{"name":"\u0000","id":"1"}`), of(`{"made":"yesterday","id":"1"}`), of(`{"done":"x","due":null,"made":"2026-01-01T00:00:00Z","id":"x"}`)} {
			for _, name := range []string{"name", "made", "most"} {
				if err := refuse(orders[name], bad); !errors.Is(err, page.ErrCursor) {
					t.Errorf("cursor %.40q by %s: got %v, want %v", bad, name, err, page.ErrCursor)
				}
			}
		}
	})
}

// The text of a cursor is that of the public API: its columns as strings, and the direction.
func TestPage_cursors(t *testing.T) {
	t.Parallel()
	d := dbtest.Open(t, false)
	things(t, d, 1)
	exec(t, d, `UPDATE things SET name = 'x"<y>', id = 26`)
	p := read(t, d, orders["name"], page.Range{Limit: 1, Keyset: true})
	if got, want := p.After(0), "eyJuYW1lIjoieFwiPHk-IiwiaWQiOiIyNiIsIl9rZCI6Im4ifQ=="; got != want {
		t.Errorf("After: got %s, want %s", got, want)
	}
	raw, err := base64.URLEncoding.DecodeString(p.Before(0))
	if want := `{"name":"x\"<y>","id":"26","_kd":"p"}`; err != nil || string(raw) != want {
		t.Errorf("Before: got %s, %v, want %s", raw, err, want)
	}
	if p.Next() != "" || p.Prev() != "" {
		t.Errorf("the only page leads on: %q, %q", p.Next(), p.Prev())
	}
	names := page.Map(p, func(t *thing) string { return t.Name })
	if names.Items[0] != `x"<y>` || names.After(0) != p.After(0) || !names.Keyset {
		t.Errorf("Map: got %+v", names)
	}
}

func TestSlice(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 1, 2, 3, 4, 5, 6, time.FixedZone("", 3600))
	type ref struct {
		name string
		at   time.Time
	}
	var all []ref
	for i := range 9 {
		all = append(all, ref{fmt.Sprint(i), at.Add(-time.Duration(i/3) * time.Nanosecond)})
	}
	order := page.Order{page.Time("at", "").Desc(), page.Text("name", "")}
	keys := func(r *ref) []any { return []any{r.at, r.name} }
	names := func(p page.Page[ref]) string {
		var out []string
		for _, r := range p.Items {
			out = append(out, r.name)
		}
		return strings.Join(out, " ")
	}
	var got []string
	r := page.Range{Limit: 2, Keyset: true}
	var last page.Page[ref]
	for {
		p, err := page.Slice(all, r, order, keys)
		if err != nil {
			t.Fatal(err)
		}
		last = p
		got = append(got, names(p))
		if len(got) == 2 { // 3 is the row that the cursor names
			all = slices.Delete(all, 2, 4)
		}
		if r.Cursor = p.Next(); r.Cursor == "" {
			break
		}
	}
	if want := []string{"0 1", "2 3", "4 5", "6 7", "8"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	p, err := page.Slice(all, page.Range{Limit: 2, Keyset: true, Cursor: last.Prev()}, order, keys)
	if err != nil || names(p) != "6 7" || !p.HasPrev || !p.HasNext {
		t.Errorf("the page before: got %q, %v", names(p), err)
	}
	for _, tt := range []struct {
		r     page.Range
		want  string
		total int
	}{
		{page.Range{}, "0 1 4 5 6 7 8", 7},
		{page.Range{Limit: 3, Offset: 2}, "4 5 6", 7},
		{page.Range{Limit: 3, Offset: 6, Uncounted: true}, "8", -1},
		{page.Range{Limit: 3, Offset: 60}, "", 7},
	} {
		p, err := page.Slice(all, tt.r, order, keys)
		if err != nil || names(p) != tt.want || p.Total != tt.total {
			t.Errorf("%+v: got %q of %d, %v; want %+v", tt.r, names(p), p.Total, err, tt)
		}
	}
	if _, err := page.Slice(all, page.Range{Keyset: true}, page.Order{page.Computed("")}, keys); !errors.Is(err, page.ErrOrder) {
		t.Errorf("an order without cursors: got %v", err)
	}
}

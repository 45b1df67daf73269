package tree_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"testing"

	"tenon/internal/base/db"
	"tenon/internal/base/db/dbtest"
	"tenon/internal/core/tree"
)

// family is a service with rows that are nested in each other.
type family struct{ db *db.DB }

type named struct {
	Name string `tree:"name"`
}

func (f family) Relations() []tree.Relation {
	return []tree.Relation{
		tree.Past[named](tree.Relation{Name: "tops", File: true, Parts: true, Kind: "Top", Children: []string{"top", "kids", "others"}, Lacking: []string{"absent"}}),
		tree.Past[named](tree.Relation{Name: "top"}), tree.Past[named](tree.Relation{Name: "others"}),
		tree.Past[named](tree.Relation{Name: "kids", Parts: true, Children: []string{"grandkids"}, Old: []string{"old"}}),
		tree.Past[named](tree.Relation{Name: "grandkids"}), tree.Past[named](tree.Relation{Name: "old"}),
	}
}

var errBoom = errors.New("boom")

func (f family) Writers() (out []tree.Writer) {
	for _, relation := range []string{"tops", "top", "kids", "others", "grandkids", "old"} {
		out = append(out, tree.Write(relation, func(ctx context.Context, _ *tree.Writing, rows []*tree.Row[named]) error {
			next, err := db.Get[int64](ctx, f.db, "SELECT COALESCE(MAX(id), 0) FROM family")
			if err != nil {
				return err
			}
			var values []string
			var args []any
			for _, r := range rows {
				switch r.Value.Name {
				case "boom":
					return errBoom
				case "lost":
					r.Lose("not wanted")
					continue
				}
				name := relation + ":" + r.Value.Name
				var above string
				if r.Above("name", &above) {
					name = above + "/" + name
				}
				next++
				r.ID = next
				values, args = append(values, "(?, ?, ?)"), append(args, next, r.Parent, name)
			}
			if len(values) == 0 {
				return nil
			}
			_, err = f.db.Exec(ctx, "INSERT INTO family (id, parent, name) VALUES "+strings.Join(values, ", "), args...)
			return err
		}))
	}
	return out
}

// list is many rows as JSON.
func list(prefix string, n int, more map[int]string) string {
	var out []string
	for i := range n {
		row, ok := more[i]
		if !ok {
			row = fmt.Sprintf(`{"name":"%s%d"}`, prefix, i)
		}
		out = append(out, row)
	}
	return "[" + strings.Join(out, ",") + "]"
}

// A line that is too large for one transaction is written in several, of a bounded number of rows each. Wherever that is interrupted it goes on where it was: the
// rows and counts in the end are those of a run that was not.
func TestWriting_Large(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		if _, err := d.Exec(t.Context(), "CREATE TABLE family (id BIGINT PRIMARY KEY, parent BIGINT NOT NULL, name TEXT NOT NULL)"); err != nil {
			t.Fatal(err)
		}
		all, err := tree.Collect(tree.Projects, family{d})
		if err != nil {
			t.Fatal(err)
		}
		kids := list("k", 1500, map[int]string{
			7:   `{"name":"seven","grandkids":` + list("g", 1200, map[int]string{5: `{"name":5}`}) + `,"old":[{"name":"o"}]}`,
			8:   `{"name":"lost","grandkids":` + list("x", 1100, nil) + `}`,
			9:   `{"name":"boom","grandkids":` + list("y", 1100, nil) + `}`,
			20:  `{"name":5,"grandkids":[{"name":"of a broken one"}]}`,
			30:  `{"name":"boom"}`,
			900: `{"name":"small","grandkids":[{"name":"a"},{"name":"b"}]}`,
		})
		line := tree.Line{Number: 3, Text: []byte(`{"name":"T","top":{"name":"one"},"kids":` + kids + `,"others":[{"name":"last"}],"absent":[{},{}]}`)}
		rel := all.Find("tops")
		if !rel.InParts(line.Text) || rel.InParts([]byte(`{"name":"small"}`)) || all.Find("others").InParts(line.Text) {
			t.Error("which lines are written in parts")
		}
		// run writes the line; every stop-th transaction is the last one of an attempt. It returns how many transactions there were, the rows and the counts.
		run := func(stop int) (transactions int, rows []string, counts map[string]tree.Counts, items []tree.Item) {
			t.Helper()
			if _, err := d.Exec(t.Context(), "DELETE FROM family"); err != nil {
				t.Fatal(err)
			}
			stored, counts, ended := "[]", map[string]tree.Counts{}, false
			for attempt := 0; !ended; attempt++ {
				if attempt > 200 {
					t.Fatal("it makes no progress")
				}
				var from tree.Part
				if err := json.Unmarshal([]byte(stored), &from); err != nil {
					t.Fatal(err)
				}
				w := &tree.Writing{DB: d, All: all, Log: slog.New(slog.DiscardHandler)}
				calls := 0
				err := w.Large(t.Context(), rel, line, from, func(ctx context.Context, tally *tree.Tally, part tree.Part) error {
					if calls++; stop > 0 && calls > stop {
						return tree.ErrStop
					}
					text, err := json.Marshal(part)
					d.AfterCommit(ctx, func() {
						transactions, stored, ended = transactions+1, string(text), len(part) == 0
						items = append(items, tally.Items...)
						for name, c := range tally.Counts {
							sum := counts[name]
							sum.Add(c)
							counts[name] = sum
						}
					})
					return err
				})
				if err != nil && !errors.Is(err, tree.ErrStop) {
					t.Fatal(err)
				}
			}
			rows, err := db.Select[string](t.Context(), d, "SELECT p.name || '>' || f.name FROM family f LEFT JOIN family p ON p.id = f.parent WHERE f.parent > 0 ORDER BY 1")
			if err != nil {
				t.Fatal(err)
			}
			return transactions, rows, counts, items
		}
		var transactions int
		var want []string
		var counts map[string]tree.Counts
		var items []tree.Item
		_, most := dbtest.Largest(dbtest.Transactions(t, d, func() { transactions, want, counts, items = run(0) }))
		if most > 1600 || transactions < 5 { // the first deletes nothing
			t.Errorf("%d transactions, %d rows in one", transactions, most)
		}
		for name, c := range map[string]tree.Counts{
			"tops": {Read: 1, Written: 1}, "top": {Read: 1, Written: 1}, "kids": {Read: 1500, Written: 1496, Lost: 4}, "grandkids": {Read: 1199 + 1 + 1100 + 1 + 2, Written: 1201, Lost: 1102},
			"old": {Read: 1, Written: 1}, "others": {Read: 1, Written: 1}, "absent": {Read: 2, Lost: 2},
		} {
			if counts[name] != c {
				t.Errorf("%s: %+v, want %+v", name, counts[name], c)
			}
		}
		if n := len(want); n != 1+1496+1201+1+1 || !slices.Contains(want, "tops:T>T/others:last") {
			t.Errorf("%d rows: %.1000s", n, want)
		}
		text := tree.NewLineText(line.Text)
		for _, item := range items {
			if item.Place != nil && item.Relation == "kids" && !strings.HasPrefix(string(text.At(*item.Place)), `{"name":`) {
				t.Errorf("%+v is not at its place: %s", item, text.At(*item.Place))
			}
		}
		for _, stop := range []int{1, 2, 3} {
			_, rows, sums, _ := run(stop)
			if len(rows) != len(want) || !maps.Equal(sums, counts) {
				t.Fatalf("interrupted after each %d transactions: %d rows, want %d; %v, want %v", stop, len(rows), len(want), sums, counts)
			}
			for i := range rows {
				if rows[i] != want[i] {
					t.Fatalf("interrupted after each %d transactions: row %d is %s, want %s", stop, i, rows[i], want[i])
				}
			}
		}
	})
}

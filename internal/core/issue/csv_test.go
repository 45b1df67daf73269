package issue_test

import (
	"bytes"
	"context"
	"encoding/csv"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"

	"tenon/internal/base/db"
	"tenon/internal/base/db/dbtest"
	"tenon/internal/base/errs"
	"tenon/internal/core/account"
	"tenon/internal/core/authz"
	"tenon/internal/core/issue"
)

// people knows every user as "User n".
type people struct{}

func (people) ByIDs(_ context.Context, ids []authz.UserID) (map[authz.UserID]*account.Summary, error) {
	out := map[authz.UserID]*account.Summary{}
	for _, id := range ids {
		out[id] = &account.Summary{ID: id, Name: fmt.Sprint("User ", id), Username: fmt.Sprint("user", id)}
	}
	return out, nil
}

// An export holds what the caller may read, and nothing that a spreadsheet takes for a
// formula; what was exported is imported again.
func TestService_Export(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		f := setUp(t, d)
		for _, title := range []string{"=1+1", "+1", "-1", "@SUM(A1)", `quoted "text", and a comma`} {
			f.create(f.planner, issue.Input{Title: title, Weight: ptr(int64(2)), DueDate: ptr("2023-06-01"), Labels: []string{"a", "b"}, Attributes: issue.Attributes{Description: ptr("line\n=two")}})
		}
		f.create(f.owner, issue.Input{Title: "secret", Attributes: issue.Attributes{Confidential: new(true)}})
		export := func(as authz.Actor, filter issue.Filter) [][]string {
			t.Helper()
			var out bytes.Buffer
			if err := f.issues.Export(ctx, as, f.Find(as, f.id), filter, people{}, &out); err != nil {
				t.Fatal(err)
			}
			rows, err := csv.NewReader(&out).ReadAll()
			if err != nil {
				t.Fatal(err)
			}
			return rows
		}
		rows := export(f.stranger, issue.Filter{})
		var titles []string
		for _, row := range rows {
			titles = append(titles, row[0])
		}
		if want := []string{"Title", `quoted "text", and a comma`, "'@SUM(A1)", "'-1", "'+1", "'=1+1"}; !slices.Equal(titles, want) {
			t.Errorf("titles for a stranger = %q, want %q", titles, want)
		}
		want := fmt.Sprintf("line\n=two|5|Open|User %[1]d|user%[1]d|No|2023-06-01|2|a,b", f.planner.UserID)
		row := rows[1]
		if got := strings.Join([]string{row[1], row[2], row[4], row[5], row[6], row[9], row[11], row[15], row[16]}, "|"); got != want {
			t.Errorf("row = %q, want %q", got, want)
		}
		if got := len(export(f.planner, issue.Filter{})); got != 7 {
			t.Errorf("a planner gets %d lines, want 7 with the confidential issue", got)
		}
		if got := len(export(f.planner, issue.Filter{Search: "quoted"})); got != 2 {
			t.Errorf("a search gives %d lines, want 2", got)
		}
	})
}

// The attack: a file that is small to send and large to read (CVE-2024-6826): cells without end, a
// cell that does not end, texts longer than an issue holds. Each is refused, or its rows are, with memory
// that its size bounds. The test is not parallel, so that nothing else allocates meanwhile.
func TestService_Import_bombs(t *testing.T) {
	f := setUp(t, dbtest.Open(t, false))
	p := f.Find(f.planner, f.id)
	const size = 10<<20 - 100
	fill := func(head, unit string) string { return head + strings.Repeat(unit, (size-len(head))/len(unit)) }
	for name, text := range map[string]string{
		"columns":             fill("title", ","),
		"cells of a row":      fill("title\n", ","),
		"cells of many lines": fill("title\n", "\"\n\","),
		"cells of tabs":       fill("title\tweight\n", "\t"),
		"an open quote":       fill("title\n\"", "x\n"),
		"quotes":              fill("title\n", "\""),
		"empty lines":         fill("title\n", "\n") + "x",
		"long titles":         "title\n" + strings.Repeat(strings.Repeat("x", 1<<20)+"\n", 9),
		"long descriptions":   "title,description\n" + strings.Repeat("x,"+strings.Repeat("y", 3<<20)+"\n", 3),
		"NUL":                 fill("title\n", "\x00\n"),
		"broken text":         "title\n" + strings.Repeat("\xff\xfe", 1000) + "\n",
	} {
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		made, err := f.issues.Import(ctx, f.planner, p, strings.NewReader(text))
		runtime.ReadMemStats(&after)
		took := (after.TotalAlloc - before.TotalAlloc) >> 20
		t.Logf("%s: %d MB allocated", name, took)
		if err != nil && errs.KindOf(err) == errs.Internal || err == nil && name != "empty lines" && len(made.Issues) > 0 {
			t.Errorf("%s: got %+v, %.200v, want it refused", name, made, err)
		}
		if took > 160 {
			t.Errorf("%s: %d MB allocated", name, took)
		}
	}
}

func TestService_Import(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		f := setUp(t, d)
		p := f.Find(f.planner, f.id)
		made, err := f.issues.Import(ctx, f.planner, p, strings.NewReader(
			"\ufeffTitle;Description;Due Date;weight;other\r\nOne;\"two\r\nlines\";2023-06-01;3;x\r\n ;no title;;;\r\nTwo\r\nBad;;soon;;\r\n"))
		if err != nil || !slices.Equal(made.Issues, []issue.IID{1, 2}) || !slices.Equal(made.Errors, []int{4, 6}) {
			t.Fatalf("import = %+v, %v, want issues 1 and 2, and errors in lines 4 and 6", made, err)
		}
		one, err := f.issues.Find(ctx, f.planner, p, 1)
		if err != nil || one.Title != "One" || *one.Description != "two\nlines" || *one.DueDate != "2023-06-01" || *one.Weight != 3 {
			t.Errorf("issue 1 = %+v, %v", one, err)
		}
		if two, err := f.issues.Find(ctx, f.planner, p, 2); err != nil || two.Title != "Two" || two.Description != nil {
			t.Errorf("issue 2 = %+v, %v", two, err)
		}
		for name, text := range map[string]string{
			"empty": "", "no title": "name,text\na,b\n", "too many rows": "title\n" + strings.Repeat("x\n", 1001),
		} {
			if _, err := f.issues.Import(ctx, f.planner, p, strings.NewReader(text)); !errs.Is(err, errs.Invalid) {
				t.Errorf("%s: error = %v, want one of kind Invalid", name, err)
			}
		}
		if _, err := f.issues.Import(ctx, f.planner, p, strings.NewReader("title\n"+strings.Repeat("x", 11<<20))); !errs.Is(err, errs.TooLarge) {
			t.Errorf("11 MiB: error = %v, want one of kind TooLarge", err)
		}
		_, err = f.issues.Import(ctx, f.guest, f.Find(f.guest, f.id), strings.NewReader("title\nx\n"))
		wantKind(t, err, errs.Forbidden)
	})
}

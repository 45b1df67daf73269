package app

import (
	"fmt"
	"net/http"
	"runtime"
	"strings"
	"testing"
)

// TestDoubling sends what is large or hostile, and twice of it: that allocates about twice as
// much, and takes as many statements. It runs alone, because it counts what the program allocates.
func TestDoubling(t *testing.T) {
	apart(t)
	w := newWorld(newServer(t, ""))
	path := "/projects/" + w.projects[0].values["projects/:id"]
	issue := func() string {
		return fmt.Sprintf("%s/issues/%v", path, w.do("owner", "POST", path+"/issues", obj{"title": "Large"})["iid"])
	}
	long, commanded := issue(), issue()
	for range 40 {
		w.do("owner", "POST", long+"/notes", obj{"body": strings.Repeat("word ", 200_000)})
	}
	list := func(format string) func(n int) request {
		return func(n int) request {
			names := make([]string, n)
			for i := range names {
				names[i] = fmt.Sprintf("label-%d", i)
			}
			return request{as: "owner", method: "GET", path: path + "/issues?" + fmt.Sprintf(format, strings.Join(names, ","))}
		}
	}
	text := func(at, key, unit string) func(n int) request {
		return func(n int) request {
			return request{as: "owner", method: "POST", path: at, body: obj{"title": "Large", "gfm": true, key: strings.Repeat(unit, n)}}
		}
	}
	for _, tt := range []struct {
		name  string
		sends func(n int) request
		n     int
		want  int
	}{
		{"notes of 1 MB", func(n int) request {
			return request{as: "owner", method: "GET", path: fmt.Sprintf("%s/notes?per_page=%d", long, n)}
		}, 10, http.StatusOK},
		{"too many of them", func(n int) request {
			return request{as: "owner", method: "GET", path: fmt.Sprintf("%s/notes?per_page=%d", long, n)}
		}, 40, http.StatusUnprocessableEntity},
		{"references in a description", text(path+"/issues", "description", "#1 "), 50_000, http.StatusCreated},
		{"mentions in a description", text(path+"/issues", "description", "@owner "), 50_000, http.StatusCreated},
		{"references in the message of a commit of a merge request", func(n int) request {
			branch := fmt.Sprintf("references-%d", n)
			w.do("owner", "POST", path+"/repository/commits", obj{
				"branch": branch, "start_branch": "main", "commit_message": "Closes " + strings.Repeat("#1 @owner ", n),
				"actions": []any{obj{"action": "create", "file_path": branch, "content": "x"}},
			})
			m := w.do("owner", "POST", path+"/merge_requests", obj{"title": branch, "source_branch": branch, "target_branch": "main"})
			return request{as: "owner", method: "GET", path: fmt.Sprintf("%s/merge_requests/%v/closes_issues", path, m["iid"])}
		}, 20_000, http.StatusOK},
		{"labels of a filter", list("labels=%s"), 50, http.StatusOK},
		{"labels that are left out", list("not[labels]=%s"), 50, http.StatusOK},
		{"too many labels", list("labels=%s"), 5_000, http.StatusBadRequest},
		{"commands of a note", text(commanded+"/notes", "body", "/estimate 1h\n"), 5_000, http.StatusAccepted},
		{"drawings of a note", text(commanded+"/notes", "body", "/shrug\n"), 5_000, http.StatusCreated},
		{"references", text("/markdown", "text", "#1 "), 20_000, http.StatusCreated},
		{"quotes", text("/markdown", "text", strings.Repeat("> ", 50)+"a\n"), 600, http.StatusCreated},
		{"deep quotes", text("/markdown", "text", ">"), 50_000, http.StatusCreated},
		{"lists in lists", text("/markdown", "text", strings.Repeat("- ", 50)+"a\n"), 600, http.StatusCreated},
		{"emphasis", text("/markdown", "text", "*a **b _c_ ~~d~~\n\n"), 3_000, http.StatusCreated},
		{"emphasis in one paragraph", text("/markdown", "text", "*a **b"), 10_000, http.StatusCreated},
		{"links", text("/markdown", "text", "[a](b)\n\n"), 6_000, http.StatusCreated},
		{"open links", text("/markdown", "text", "["), 60_000, http.StatusCreated},
		{"tables", text("/markdown", "text", "|a|b|\n|-|-|\n|1|2|\n\n"), 3_000, http.StatusCreated},
		{"a wide table", text("/markdown", "text", "|a"), 30_000, http.StatusCreated},
		{"footnotes", text("/markdown", "text", "[^1]\n\n[^1]: a\n\n"), 4_000, http.StatusCreated},
		{"HTML", text("/markdown", "text", "<div><b>a\n\n"), 5_000, http.StatusCreated},
	} {
		once, first := w.allocated(t, tt.sends(tt.n), tt.want)
		twice, second := w.allocated(t, tt.sends(2*tt.n), tt.want)
		const slack = 8 << 20 // of what else runs
		t.Logf("%-28s %6d kB, %6d kB; %d and %d statements", tt.name, once>>10, twice>>10, first, second)
		if twice > 5*once/2+slack {
			t.Errorf("%s: %d bytes allocated, %d for twice as much", tt.name, once, twice)
		}
		if second > first+2 {
			t.Errorf("%s: %d statements, %d for twice as much", tt.name, first, second)
		}
	}
}

// allocated makes a request three times and returns the least that the program allocated, in
// bytes, and the fewest statements.
func (w *world) allocated(t *testing.T, q request, want int) (bytes uint64, statements int64) {
	t.Helper()
	for i := range 3 {
		var before, after runtime.MemStats
		runtime.GC() // twice: buffers that are kept for the next request are gone then
		runtime.GC()
		runtime.ReadMemStats(&before)
		count := w.db.Statements()
		a := w.send(t.Context(), q)
		runtime.ReadMemStats(&after)
		if a.Code != want {
			t.Fatalf("%s %.60s: got %d %.200s, want %d", q.method, q.path, a.Code, a.Body, want)
		}
		took, asked := after.TotalAlloc-before.TotalAlloc, int64(w.db.Statements()-count)
		if i == 0 || took < bytes {
			bytes = took
		}
		if i == 0 || asked < statements {
			statements = asked
		}
	}
	return bytes, statements
}

package app

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/vektah/gqlparser/v2"

	"tenon/internal/base/db"
	"tenon/internal/transport/graphql"
	"tenon/internal/transport/graphql/exec"
	"tenon/internal/transport/rest/api"
)

// The documented bounds of answers in bytes, and of what one holds in memory.
const (
	maxJSON = 256 << 20
	maxPage = 32 << 20
	maxHeld = 64 << 20
)

// longTexts are columns that hold long texts, with how many characters may be stored.
var longTexts = map[string]int{
	"issues.description": 1_048_576, "merge_requests.description": 1_048_576, "epics.description": 1_048_576, "milestones.description": 1_048_576, "iterations.description": 1_048_576,
	"iteration_cadences.description": 1_048_576, "snippets.description": 1_048_576, "labels.description": 512 << 10, "notes.body": 1_000_000, "users.note": 1_000_000,
	"draft_notes.note": 1_000_000, "projects.description": 2000, "groups.description": 2000,
}

// TestAnswerSizes asks for everything with texts of ten characters, and with the largest that can be stored: no answer has more
// bytes than documented, and no request holds more than 64 MB over what it holds with short texts. It takes one request of each kind
// unless TENON_TEST_ANSWERS is "all". It runs alone, because it measures the memory of the program.
func TestAnswerSizes(t *testing.T) {
	apart(t)
	whole := os.Getenv("TENON_TEST_ANSWERS") == "all"
	w := newWorld(newServer(t, ""))
	values, path := w.planned(1)
	w.fill(path, "many", few)
	w.copies("issues", "milestone_id IS NOT NULL", with{"iid": "10000 + k"})
	for table, kind := range map[string]string{"issues": "Issue", "merge_requests": "MergeRequest", "epics": "Epic"} {
		w.exec(fmt.Sprintf(`INSERT INTO todos (user_id, author_id, target_type, target_id, commit_id, internal, action, state, created_at, updated_at)
			SELECT 1, author_id, '%s', id, '', false, 'marked', 'pending', created_at, updated_at FROM %s WHERE true ORDER BY id DESC LIMIT 30 ON CONFLICT DO NOTHING`, kind, table))
	}
	w.compareSizes(t, w.heavyRequests(t, values, whole), func() {
		w.heavyCommit(t, path)
		w.heavyWiki(t, path)
		w.heavyLog(t, values[":job_id"])
	})

	pages := newWebWorld(t, newServer(t, ""))
	pages.token("mona", "mona", "api")
	var requests []request
	for route, at := range pages.samples() {
		if whole || route == "/{project...}/-/commits/{rest...}" || route == "/{project...}/-/jobs/{id}" {
			requests = append(requests, request{as: "mona", method: http.MethodGet, path: at, whole: true})
		}
	}
	pages.compareSizes(t, requests, func() {
		pages.heavyCommit(t, "/projects/"+strings.ReplaceAll(pages.path, "/", "%2F"))
		pages.heavyLog(t, fmt.Sprint(pages.job))
	})
}

// compareSizes makes requests with short texts and with long ones, and holds the answers against the bounds.
func (s *server) compareSizes(t *testing.T, requests []request, heavy func()) {
	t.Helper()
	s.texts("ten letter")
	short := map[string]weighed{}
	for _, q := range requests {
		short[q.named()] = s.weigh(q)
	}
	s.texts("\x01")
	heavy()
	var slower time.Duration
	for _, q := range requests {
		before, now := short[q.named()], s.weigh(q)
		most := int64(maxJSON)
		switch {
		case q.path == graphql.Path:
			most = exec.MaxAnswer + 1<<20
		case q.whole && !strings.HasSuffix(q.path, "/raw"): // a raw log is the log itself, written in pieces
			most = maxPage
		}
		if now.bytes > most {
			t.Errorf("%s: %d bytes, at most %d are documented", q.named(), now.bytes, most)
		}
		if now.held > maxHeld {
			t.Errorf("%s: holds %d MB", q.named(), now.held>>20)
		}
		if now.status >= 500 || now.status != before.status && now.status != http.StatusUnprocessableEntity {
			t.Errorf("%s: got %d, with short texts %d: %s", q.named(), now.status, before.status, s.logs.last())
		}
		slower = max(slower, now.took-before.took)
		if now.bytes > 1<<20 || now.status == http.StatusUnprocessableEntity || now.took > before.took+300*time.Millisecond {
			t.Logf("%3d %9d bytes %3d MB held %6d ms (%d) %s", now.status, now.bytes, now.held>>20, now.took.Milliseconds(), before.took.Milliseconds(), q.named())
		}
	}
	t.Logf("%d requests; the slowest takes %s of the processor more than with short texts", len(requests), slower)
}

// heavyRequests are requests that read: of every route and list, or one of each kind.
func (w *world) heavyRequests(t *testing.T, values map[string]string, whole bool) []request {
	t.Helper()
	kinds := []string{
		"GET /projects/:id/issues", "GET /projects/:id/milestones", "GET /projects/:id/repository/branches", "GET /projects/:id/repository/commits", "GET /projects/:id/repository/commits/:sha",
		"GET /projects/:id/wikis", "GET /projects/:id/jobs", "GET /projects/:id/jobs/:job_id/trace", "GET /projects/:id/merge_requests/:merge_request_iid/notes", "GET /todos",
	}
	all := samples()
	var out []request
	for _, route := range w.kit().Routes() {
		if route.Method != http.MethodGet || !whole && !slices.Contains(kinds, key(route)) {
			continue
		}
		for _, r := range w.rows(route, all) {
			if r.sample.first != "" || !slices.Contains([]string{"private", "instance"}, r.place.name) {
				continue
			}
			q, missing := r.request()
			if missing != "" {
				t.Fatalf("%s: no value for :%s", r.title(), missing)
			}
			q.as = "admin"
			for _, more := range []string{"per_page", "with_labels_details", "with_content", "with_stats", "trailers"} {
				for _, param := range route.Params {
					if param.Name == more {
						q.path = withQuery(q.path, more+"="+map[bool]string{true: "100", false: "true"}[more == "per_page"])
					}
				}
			}
			out = append(out, q)
			if key(route) == "GET /projects/:id/jobs/:job_id/trace" {
				out = append(out, q)
			}
		}
	}
	schema, err := gqlparser.LoadSchema(w.schemaText())
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range queryLists(schema, values) {
		if whole || l.name == "Project.issues" {
			document := fmt.Sprintf(l.text, many, strings.Join(leavesOf(schema, l.typ, 20), " "))
			out = append(out, request{as: "admin", way: bearer, method: http.MethodPost, path: "/api/graphql", whole: true, body: obj{"query": document}})
		}
	}
	return out
}

// texts fills the columns with long texts with a text, again and again up to its bound.
func (s *server) texts(text string) {
	s.tb.Helper()
	const rows = 20 // of a table, so that lists are above and below their bound
	for column, most := range longTexts {
		table, name, _ := strings.Cut(column, ".")
		if text == "ten letter" {
			most = len(text)
		}
		s.exec(fmt.Sprintf("UPDATE %[1]s SET %[2]s = ? WHERE rowid IN (SELECT rowid FROM %[1]s ORDER BY rowid DESC LIMIT ?)", table, name), strings.Repeat(text, most/len(text)), rows)
	}
	s.exec("UPDATE issues SET description = 'Short' WHERE iid BETWEEN 10000 AND 10095")
}

// heavyCommit pushes a commit with a message of 15,000,000 bytes and makes a hundred branches of it.
func (s *server) heavyCommit(t *testing.T, path string) {
	t.Helper()
	s.do("admin", "POST", path+"/repository/commits", obj{
		"branch": "heavy", "start_branch": "main", "commit_message": "Title\n\n" + strings.Repeat("\x01", 15_000_000), "actions": []obj{{"action": "create", "file_path": "heavy", "content": "x"}},
	})
	for i := range 100 {
		s.do("admin", "POST", path+"/repository/branches", obj{"branch": fmt.Sprintf("a-heavy-%d", i), "ref": "heavy"})
	}
	s.do("admin", "POST", path+"/repository/tags", obj{"tag_name": "heavy", "ref": "heavy"})
	s.exec("UPDATE pipelines SET sha = (SELECT ?)", s.do("admin", "GET", path+"/repository/branches/heavy", nil)["commit"].(map[string]any)["id"])
}

// heavyWiki writes pages whose front matter has aliases of aliases.
func (s *server) heavyWiki(t *testing.T, path string) {
	t.Helper()
	front := "---\na0: &a0 [" + strings.Repeat("lol, ", 100) + "lol]\n"
	for i := range 6 {
		front += fmt.Sprintf("a%d: &a%d [%s*a%d]\n", i+1, i+1, strings.Repeat(fmt.Sprintf("*a%d, ", i), 20), i)
	}
	for i := range 10 {
		s.do("admin", "POST", path+"/wikis", obj{"title": fmt.Sprintf("Heavy %d", i), "content": front + "---\nText\n"})
	}
}

// heavyLog gives a job a log of 96 MiB.
func (s *server) heavyLog(t *testing.T, job string) {
	t.Helper()
	const piece = 4 << 20
	data := bytes.Repeat([]byte("a line of a log that is long\r\n\x1b"), piece/31)[:piece/31*31]
	s.exec("DELETE FROM job_log_pieces WHERE job_id = ?", job)
	for i := range 24 {
		s.exec("INSERT INTO job_log_pieces (job_id, start, data) VALUES (?, ?, ?)", job, i*len(data), data)
	}
	s.exec("UPDATE jobs SET log_key = NULL, log_size = ? WHERE job_id = ?", 24*len(data), job)
	if n, err := db.Get[int64](s.tb.Context(), s.db, "SELECT log_size FROM jobs WHERE job_id = ?", job); err != nil || n == 0 {
		t.Fatalf("the log has %d bytes, %v", n, err)
	}
}

// weighed is what a request takes.
type weighed struct {
	status int
	bytes  int64
	held   int64
	took   time.Duration // of the processor
}

// counted is an answer that keeps its length alone.
type counted struct {
	header http.Header
	weighed
	looks *looks // nil where memory is not looked at
	next  int64  // bytes before the next look
}

// looks is the most memory that was in use when it was looked at. While an answer is written it is looked at between two
// pieces: what the request is done with meanwhile is no garbage that waits for its collection.
type looks struct {
	most    atomic.Int64
	writing atomic.Bool
}

func (l *looks) look(writing bool) {
	var now runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&now)
	if held := int64(now.HeapAlloc); writing == l.writing.Load() && held > l.most.Load() {
		l.most.Store(held)
	}
}

func (c *counted) Header() http.Header { return c.header }

func (c *counted) WriteHeader(status int) {
	if c.status == 0 {
		c.status = status
	}
}

func (c *counted) Write(p []byte) (int, error) {
	c.WriteHeader(http.StatusOK)
	if c.bytes += int64(len(p)); c.looks != nil && c.bytes >= c.next {
		c.looks.writing.Store(true)
		c.looks.look(true)
		c.next = c.bytes + 8<<20
	}
	return len(p), nil
}

// named names a request in messages.
func (q request) named() string {
	if text, ok := q.body["query"].(string); ok {
		return text[:min(len(text), 100)]
	}
	return q.method + " " + q.path
}

// processorTime is what the program has used, without the processes of git.
func processorTime() time.Duration {
	var use syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &use); err != nil {
		return 0
	}
	return time.Duration(use.Utime.Nano() + use.Stime.Nano())
}

// weigh makes a request. One that allocates much is made again, and looked at while it runs: what it holds is what is there
// after a collection of garbage.
func (s *server) weigh(q request) weighed {
	once := func(l *looks) weighed {
		in, kind := q.encode()
		prefix := api.Prefix
		if q.whole {
			prefix = ""
		}
		r := httptest.NewRequestWithContext(s.tb.Context(), q.method, prefix+q.path, in)
		r.Header.Set("Content-Type", kind)
		r.Header.Set("Authorization", "Bearer "+s.keys[q.as])
		out := &counted{header: http.Header{}, looks: l}
		began := processorTime()
		s.http.Handler.ServeHTTP(out, r)
		out.took = processorTime() - began
		return out.weighed
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	out := once(nil)
	runtime.ReadMemStats(&after)
	if after.TotalAlloc-before.TotalAlloc < maxHeld {
		return out
	}
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&before)
	var l looks
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case <-done:
				return
			default:
				l.look(false)
			}
		}
	}()
	once(&l)
	close(done)
	<-ended
	out.held = max(l.most.Load()-int64(before.HeapAlloc), 0)
	return out
}

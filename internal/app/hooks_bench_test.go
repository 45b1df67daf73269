package app

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/base/db/dbtest"
)

// burst is a project with hooks, and what has come of them.
type burst struct {
	*server
	b        *testing.B
	arrived  atomic.Int64  // calls of healthy hooks
	all      chan struct{} // is closed with the last one that is waited for
	wanted   int64
	beside   chan string // titles of the issues that a hook elsewhere has been notified of
	receiver *httptest.Server
}

// BenchmarkHooks measures hooks in a whole server, on each engine; TENON_BENCH_HOOKS says how many commits are made before anything is
// delivered. Run it with -benchtime 1x.
func BenchmarkHooks(b *testing.B) {
	commits, _ := strconv.Atoi(os.Getenv("TENON_BENCH_HOOKS"))
	if commits < 1 {
		b.Skip("TENON_BENCH_HOOKS is not set")
	}
	for _, engine := range []struct {
		name     string
		database func() string
	}{{"sqlite", func() string { return "" }}, {"postgres", func() string { return dbtest.PostgresURL(b) + "&plan_cache_mode=auto" }}} {
		b.Run(engine.name, func(b *testing.B) {
			b.Run("change", func(b *testing.B) { newBurst(b, engine.database()).measureChanges() })
			b.Run("burst", func(b *testing.B) { newBurst(b, engine.database()).measure(commits) })
			b.Run("log", func(b *testing.B) { newBurst(b, engine.database()).measureLog() })
			b.Run("rest", func(b *testing.B) { newBurst(b, engine.database()).measureRest() })
		})
	}
}

func newBurst(b *testing.B, database string) *burst {
	w := &burst{server: newServer(b, database), b: b, all: make(chan struct{}), beside: make(chan string, 1000)}
	w.receiver = httptest.NewServer(http.HandlerFunc(w.receive))
	b.Cleanup(w.receiver.Close)
	w.do("admin", "PUT", "/application/settings", obj{"allow_local_requests_from_web_hooks_and_services": true})
	return w
}

// receive answers as healthy hooks do, after 1 ms, and as slow ones do.
func (w *burst) receive(_ http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case "/slow":
		select {
		case <-time.After(8 * time.Second):
		case <-r.Context().Done():
		}
	case "/beside":
		w.beside <- time.Now().Format(time.RFC3339Nano)
	default:
		pause(r.Context(), time.Millisecond)
		if w.arrived.Add(1) == w.wanted {
			close(w.all)
		}
	}
}

// project makes a project in a group of its own.
func (w *burst) project(name string) string {
	group := w.do("admin", "POST", "/groups", obj{"name": name, "path": name})
	return "/projects/" + number(w.do("admin", "POST", "/projects", obj{"name": name, "namespace_id": group["id"], "initialize_with_readme": true}), "id")
}

// furnish makes 20 hooks: 15 are healthy, two are slow, one closes connections, one refuses them, one never answers.
func (w *burst) furnish(project string) (healthy int64) {
	closed, silent := listen(w.b, func(c net.Conn) { _ = c.Close() }), listen(w.b, func(net.Conn) {})
	addresses := []string{closed, silent, "http://127.0.0.1:1", w.receiver.URL + "/slow", w.receiver.URL + "/slow"}
	for len(addresses) < 20 {
		healthy++
		addresses = append(addresses, fmt.Sprintf("%s/%d", w.receiver.URL, healthy))
	}
	for _, at := range addresses {
		w.do("admin", "POST", project+"/hooks", obj{"url": at, "push_events": true, "note_events": true, "issues_events": true})
	}
	return healthy
}

// listen returns the address of a server that does this with each connection.
func listen(b *testing.B, with func(c net.Conn)) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = l.Close() })
	go func() { // ends with the listener
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			with(c)
		}
	}()
	return "http://" + l.Addr().String()
}

// measure makes the commits, then lets the workers begin, and reads and changes elsewhere meanwhile.
func (w *burst) measure(commits int) {
	project, other := w.project("Shop"), w.project("Yard")
	w.wanted = w.furnish(project) * int64(commits)
	w.do("admin", "POST", other+"/hooks", obj{"url": w.receiver.URL + "/beside", "issues_events": true})
	issue := other + "/issues/" + number(w.do("admin", "POST", other+"/issues", obj{"title": "Read"}), "iid")
	for i := range 20 {
		w.do("admin", "POST", issue+"/notes", obj{"body": fmt.Sprint("note ", i)})
	}
	if err := w.jobs.Drain(w.b.Context()); err != nil {
		w.b.Fatal(err)
	}
	for len(w.beside) > 0 {
		<-w.beside
	}
	for i := range commits {
		w.do("admin", "POST", project+"/repository/commits", obj{
			"branch": "main", "commit_message": fmt.Sprint("commit ", i), "actions": []obj{{"action": "create", "file_path": fmt.Sprint("file", i), "content": "x"}},
		})
	}
	began, used := time.Now(), processorTime()
	if err := w.jobs.Start(w.b.Context()); err != nil {
		w.b.Fatal(err)
	}
	ctx, stop := context.WithCancel(w.b.Context())
	var beside sync.WaitGroup
	var pages, starts []time.Duration
	beside.Go(func() {
		for ctx.Err() == nil {
			start := time.Now()
			if a := w.send(ctx, get("admin", issue+"/notes?per_page=20")); a.Code != http.StatusOK && ctx.Err() == nil {
				w.b.Errorf("notes: got %d %s", a.Code, a.Body)
			}
			pages = append(pages, time.Since(start))
			pause(ctx, 20*time.Millisecond)
		}
	})
	beside.Go(func() {
		for ctx.Err() == nil {
			w.do("admin", "POST", other+"/issues", obj{"title": "Beside"})
			start := time.Now()
			select {
			case <-w.beside:
				starts = append(starts, time.Since(start))
			case <-time.After(time.Minute):
				starts = append(starts, time.Minute)
			}
			pause(ctx, 200*time.Millisecond)
		}
	})
	select {
	case <-w.all:
	case <-time.After(5 * time.Minute):
	}
	took := time.Since(began)
	stop()
	beside.Wait()
	if err := w.jobs.Stop(context.WithoutCancel(w.b.Context())); err != nil {
		w.b.Error(err)
	}
	slices.Sort(pages)
	slices.Sort(starts)
	w.b.ReportMetric(float64(w.arrived.Load()), "arrived")
	w.b.ReportMetric(took.Seconds(), "s/all")
	w.b.ReportMetric(float64((processorTime()-used).Microseconds())/float64(w.arrived.Load()), "cpu-us/delivery")
	w.b.ReportMetric(milliseconds(quantile(pages, 99)), "ms/page-p99")
	w.b.ReportMetric(float64(len(pages)), "pages")
	w.b.ReportMetric(milliseconds(quantile(starts, 50)), "ms/start-p50")
	w.b.ReportMetric(milliseconds(quantile(starts, 100)), "ms/start-longest")
}

// pause waits so long, or until the context ends.
func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// measureChanges compares a note where no hook listens with one where 20 do, by turns, while nothing is delivered.
func (w *burst) measureChanges() {
	quiet, heard := w.project("Quiet"), w.project("Heard")
	w.furnish(heard)
	var used [2]time.Duration
	var statements [2]uint64
	const rounds = 1000
	for _, p := range []string{quiet, heard} {
		w.do("admin", "POST", p+"/issues", obj{"title": "Talk"})
	}
	for i := range rounds {
		for side, p := range []string{quiet, heard} {
			before, start := w.db.Statements(), processorTime()
			w.do("admin", "POST", p+"/issues/1/notes", obj{"body": fmt.Sprint("note ", i)})
			used[side] += processorTime() - start
			statements[side] += w.db.Statements() - before
		}
	}
	for side, name := range []string{"quiet", "heard"} {
		w.b.ReportMetric(float64(used[side].Microseconds())/rounds, "cpu-us/"+name)
		w.b.ReportMetric(float64(statements[side])/rounds, "statements/"+name)
	}
}

// measureRest counts what a server does that has 10,000 hooks and nothing to deliver.
func (w *burst) measureRest() {
	for i := range 100 {
		project := w.project(fmt.Sprint("Shop", i))
		for n := range 100 {
			w.do("admin", "POST", project+"/hooks", obj{"url": fmt.Sprintf("%s/%d", w.receiver.URL, n), "push_events": true})
		}
	}
	if err := w.jobs.Drain(w.b.Context()); err != nil {
		w.b.Fatal(err)
	}
	if err := w.jobs.Start(w.b.Context()); err != nil {
		w.b.Fatal(err)
	}
	pause(w.b.Context(), 8*time.Second) // until the queue rests
	before, used := w.db.Statements(), processorTime()
	pause(w.b.Context(), 10*time.Second)
	w.b.ReportMetric(float64(w.db.Statements()-before), "statements/10s")
	w.b.ReportMetric(milliseconds(processorTime()-used), "cpu-ms/10s")
	if err := w.jobs.Stop(context.WithoutCancel(w.b.Context())); err != nil {
		w.b.Error(err)
	}
}

// measureLog reads a page of attempts whose bodies have 10 kB, and has a million attempts cut to a tenth of their bytes.
func (w *burst) measureLog() {
	project := w.project("Shop")
	var hook string
	for i := range 20 {
		hook = number(w.do("admin", "POST", project+"/hooks", obj{"url": fmt.Sprintf("%s/%d", w.receiver.URL, i), "push_events": true}), "id")
	}
	letters := make([]byte, 4_000) // a push has them twice
	for i := range letters {
		letters[i] = byte('a' + rand.IntN(26))
	}
	w.do("admin", "POST", project+"/repository/commits", obj{
		"branch": "main", "commit_message": string(letters), "actions": []obj{{"action": "create", "file_path": "file", "content": "x"}},
	})
	if err := w.jobs.Drain(w.b.Context()); err != nil {
		w.b.Fatal(err)
	}
	// As if that had been done 50,000 times.
	w.exec(`INSERT INTO webhook_bodies (place_id, maker_id, chain, event, at, content, size, bytes, created_at) WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 50000)
		SELECT b.place_id, b.maker_id, 'chain', b.event, b.at, b.content, b.size, b.bytes, b.created_at FROM n, webhook_bodies b WHERE b.id = 1`)
	w.exec(`INSERT INTO webhook_attempts (webhook_id, body_id, idempotency_key, url, request_headers, status, response_headers, response_body, duration, bytes, created_at)
		SELECT t.webhook_id, b.id, t.idempotency_key, t.url, t.request_headers, t.status, t.response_headers, t.response_body, t.duration, t.bytes, t.created_at
		FROM webhook_bodies b, webhook_attempts t WHERE b.chain = 'chain' ORDER BY b.id, t.id`)
	w.exec(`UPDATE webhooks SET log_bytes = (SELECT SUM(t.bytes + b.bytes) FROM webhook_attempts t JOIN webhook_bodies b ON b.id = t.body_id WHERE t.webhook_id = webhooks.id)`)
	if w.db.Shared() {
		w.exec("VACUUM (ANALYZE)") // as PostgreSQL does by itself, which the cluster of the tests leaves out
	} else {
		w.exec("ANALYZE")
	}
	var lists []time.Duration
	for range 300 {
		start := time.Now()
		a := w.send(w.b.Context(), get("admin", project+"/hooks/"+hook+"/events?per_page=20"))
		if a.Code != http.StatusOK || a.Body.Len() < 20*10_000 {
			w.b.Fatalf("attempts: got %d, %d bytes", a.Code, a.Body.Len())
		}
		lists = append(lists, time.Since(start))
	}
	slices.Sort(lists)
	w.b.ReportMetric(milliseconds(quantile(lists, 99)), "ms/list-p99")
	size := w.logBytes()
	w.do("admin", "PUT", "/application/settings", obj{"webhook_log_size_limit": size / 10})
	w.exec("UPDATE river_job SET state = 'available', scheduled_at = created_at WHERE kind = 'clean_hook_log'")
	var longest time.Duration
	start := time.Now()
	all := dbtest.Transactions(w.b, w.db, func() {
		if err := w.jobs.Drain(w.b.Context()); err != nil {
			w.b.Fatal(err)
		}
	})
	w.b.ReportMetric(time.Since(start).Seconds(), "s/clean")
	for _, t := range all {
		longest = max(longest, t.Took)
	}
	w.b.ReportMetric(milliseconds(longest), "ms/longest-transaction")
	w.b.ReportMetric(float64(size)/(1<<20), "MB/log")
	w.b.ReportMetric(float64(size/10)/(1<<20), "MB/limit")
	w.b.ReportMetric(float64(w.logBytes())/(1<<20), "MB/left")
}

// logBytes returns the bytes of all attempts and their bodies.
func (w *burst) logBytes() int64 {
	out, err := db.Get[int64](w.b.Context(), w.db, "SELECT CAST((SELECT COALESCE(SUM(bytes), 0) FROM webhook_attempts) + (SELECT COALESCE(SUM(bytes), 0) FROM webhook_bodies) AS BIGINT)")
	if err != nil {
		w.b.Fatal(err)
	}
	return out
}

// quantile returns the time that so many of a hundred do not exceed.
func quantile(sorted []time.Duration, percent int) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[min(len(sorted)*percent/100, len(sorted)-1)]
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

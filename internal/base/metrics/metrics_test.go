package metrics

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
)

func scrape(t *testing.T, r *Registry) string {
	t.Helper()
	w := httptest.NewRecorder()
	r.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/-/metrics", nil))
	if w.Code != http.StatusOK {
		t.Fatalf("status %d: %s", w.Code, w.Body)
	}
	return w.Body.String()
}

func want(t *testing.T, page string, lines ...string) {
	t.Helper()
	for _, line := range lines {
		if !strings.Contains(page, line+"\n") {
			t.Errorf("%q is missing in\n%s", line, page)
		}
	}
}

func TestRegistry(t *testing.T) {
	t.Parallel()
	r := New(Build{Version: "1.2.3", Revision: "abc", Go: "go1.26"})
	r.Request("/projects/:id", http.MethodGet, 200, 3*time.Millisecond)
	r.Request("/projects/:id", http.MethodGet, 200, 30*time.Millisecond)
	r.Request("", "BREW", 4711, time.Millisecond)
	done := r.RequestStarted()
	running := int64(1)
	if err := r.GitProcesses(func() int64 { return 2 }, func() int64 { return running }); err != nil {
		t.Fatal(err)
	}
	r.Job("webhook", "retried", 2*time.Second)
	if err := r.SQL(func() uint64 { return 42 }); err != nil {
		t.Fatal(err)
	}
	if err := r.Gauge("tenon_readers", "Readers.", func() float64 { return 1.5 }); err != nil {
		t.Fatal(err)
	}
	page := scrape(t, r)
	want(t, page,
		`tenon_http_request_duration_seconds_count{method="GET",route="/projects/:id",status="200"} 2`,
		`tenon_http_request_duration_seconds_bucket{method="GET",route="/projects/:id",status="200",le="0.005"} 1`,
		`tenon_http_request_duration_seconds_count{method="other",route="none",status="other"} 1`,
		`tenon_http_requests_in_flight 1`,
		`tenon_git_processes_started_total 2`,
		`tenon_git_processes_running 1`,
		`tenon_job_duration_seconds_count{kind="webhook",outcome="retried"} 1`,
		`tenon_sql_statements_total 42`,
		`tenon_readers 1.5`,
		`tenon_build_info{go="go1.26",revision="abc",version="1.2.3"} 1`,
	)
	if !strings.Contains(page, "go_goroutines ") || !strings.Contains(page, "process_resident_memory_bytes ") {
		t.Error("the metrics of the process are missing")
	}
	done()
	running = 0
	want(t, scrape(t, r), `tenon_http_requests_in_flight 0`, `tenon_git_processes_running 0`)
	if err := r.SQL(func() uint64 { return 0 }); err == nil {
		t.Error("a taken name passed")
	}
}

// TestRegistry_cardinality is the attack of a client that sends ever new values.
func TestRegistry_cardinality(t *testing.T) {
	t.Parallel()
	r := New(Build{})
	r.routes = newLimited(10)
	var wg sync.WaitGroup
	for worker := range 4 {
		wg.Go(func() {
			for i := range 500 {
				r.Request(fmt.Sprintf("/%d/%d", worker, i), fmt.Sprintf("M%d", i), 200, 0)
			}
		})
	}
	r.Request("/bad\xff", http.MethodGet, 200, 0)
	r.Request("/"+strings.Repeat("x", 300), http.MethodGet, 200, 0)
	wg.Wait()
	if got := strings.Count(scrape(t, r), "tenon_http_request_duration_seconds_count{"); got > 12 {
		t.Errorf("%d series, want 12 at most", got)
	}
}

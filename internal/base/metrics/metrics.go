// Package metrics counts what the server does, for Prometheus. Every label takes its
// values from a small fixed set, so that no client can make the server keep a series of
// its own choosing.
package metrics

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Other is the label for what is not in the fixed set: an unknown method, a route or
// a kind over the limit.
const Other = "other"

// most is how many routes or kinds of jobs get series of their own.
const most = 2000

// buckets of durations in seconds: from a warm read to a slow clone.
var buckets = []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60}

var methods = []string{
	http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions,
}

// Build says which program runs.
type Build struct {
	Version  string
	Revision string
	Go       string
}

// Registry holds the metrics of one server. It is safe for concurrent use.
type Registry struct {
	registry *prometheus.Registry
	routes   *limited
	kinds    *limited

	listed []Metric

	requests *prometheus.HistogramVec
	sql      *prometheus.HistogramVec
	git      *prometheus.HistogramVec
	gitBytes *prometheus.CounterVec
	inFlight prometheus.Gauge
	jobs     *prometheus.HistogramVec
	limited  *prometheus.CounterVec
}

// New makes a registry with the metrics of the process, the Go runtime and the build.
func New(b Build) *Registry {
	r := &Registry{
		registry: prometheus.NewRegistry(),
		routes:   newLimited(most),
		kinds:    newLimited(most),
		requests: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "tenon_http_request_duration_seconds", Help: "Time from the request line to the last byte of the answer.", Buckets: buckets,
		}, []string{"route", "method", "status"}),
		inFlight: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "tenon_http_requests_in_flight", Help: "Requests being answered.",
		}),
		jobs: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "tenon_job_duration_seconds", Help: "Time a job took, by kind and outcome.", Buckets: buckets,
		}, []string{"kind", "outcome"}),
		limited: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "tenon_rate_limited_total", Help: "Requests refused because their caller made too many, by limit.",
		}, []string{"limit"}),
	}
	info := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "tenon_build_info", Help: "Always 1; the labels say what runs.",
		ConstLabels: prometheus.Labels{"version": b.Version, "revision": b.Revision, "go": b.Go},
	})
	info.Set(1)
	r.registry.MustRegister(collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		r.requests, r.inFlight, r.jobs, r.limited, info)
	r.note("tenon_http_request_duration_seconds", Histogram, "Time from the request line to the last byte of the answer.", "route", "method", "status")
	r.note("tenon_http_requests_in_flight", Gauge, "Requests being answered.")
	r.note("tenon_job_duration_seconds", Histogram, "Time a job took, by kind and outcome.", "kind", "outcome")
	r.note("tenon_rate_limited_total", Counter, "Requests refused because their caller made too many, by limit.", "limit")
	r.note("tenon_build_info", Gauge, "Always 1; the labels say what runs.", "version", "revision", "go")
	r.extend()
	return r
}

// Request records one answered HTTP request. The route is the template, such as
// "/projects/:id/issues", or "" where none matched.
func (r *Registry) Request(route, method string, status int, took time.Duration) {
	if route == "" {
		route = "none"
	}
	if !slices.Contains(methods, method) {
		method = Other
	}
	code := Other
	if status >= 100 && status <= 599 {
		code = strconv.Itoa(status)
	}
	r.requests.WithLabelValues(r.routes.value(route), method, code).Observe(took.Seconds())
}

// RequestStarted counts a request as being answered until the returned function is called.
func (r *Registry) RequestStarted() (done func()) {
	r.inFlight.Inc()
	return r.inFlight.Dec
}

// Job records one attempt at a job; the outcome is one of a fixed set.
func (r *Registry) Job(kind, outcome string, took time.Duration) {
	r.jobs.WithLabelValues(r.kinds.value(kind), outcome).Observe(took.Seconds())
}

// Limited counts a request that a rate limit refused. The limit is one of a fixed set.
func (r *Registry) Limited(limit string) { r.limited.WithLabelValues(limit).Inc() }

// SQL publishes a count of SQL statements that the database kit keeps itself.
func (r *Registry) SQL(statements func() uint64) error {
	return r.Counter("tenon_sql_statements_total", "SQL statements run, transaction control left out.", statements)
}

// GitProcesses publishes the counts of git processes that the git kit keeps itself: started so
// far and running now, kept-open readers included.
func (r *Registry) GitProcesses(started, running func() int64) error {
	return errors.Join(
		r.Counter("tenon_git_processes_started_total", "Git processes started.", func() uint64 { return uint64(started()) }),
		r.Gauge("tenon_git_processes_running", "Git processes that run now.", func() float64 { return float64(running()) }))
}

// Counter publishes a count that other code keeps and that never falls. It fails where
// the name is taken.
func (r *Registry) Counter(name, help string, read func() uint64) error {
	r.note(name, Counter, help)
	return r.add(prometheus.NewCounterFunc(prometheus.CounterOpts{Name: name, Help: help}, func() float64 { return float64(read()) }))
}

// Gauge publishes a value that other code keeps. It fails where the name is taken.
func (r *Registry) Gauge(name, help string, read func() float64) error {
	r.note(name, Gauge, help)
	return r.add(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, read))
}

func (r *Registry) add(c prometheus.Collector) error {
	if err := r.registry.Register(c); err != nil {
		var taken prometheus.AlreadyRegisteredError
		if errors.As(err, &taken) {
			return fmt.Errorf("metric is there already: %w", err)
		}
		return fmt.Errorf("register metric: %w", err)
	}
	return nil
}

// Handler answers with all metrics in the text format that Prometheus reads.
func (r *Registry) Handler() http.Handler {
	return promhttp.HandlerFor(r.registry, promhttp.HandlerOpts{MaxRequestsInFlight: 2})
}

package metrics

import (
	"cmp"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Type is what kind of metric one is.
type Type string

// The types of metrics.
const (
	Counter   Type = "counter"
	Gauge     Type = "gauge"
	Histogram Type = "histogram"
)

// Metric describes one metric.
type Metric struct {
	Name   string
	Type   Type
	Help   string
	Labels []string
}

// List describes the metrics of the server by name, without those of the Go runtime and of the
// process.
func (r *Registry) List() []Metric {
	out := slices.Clone(r.listed)
	slices.SortFunc(out, func(a, b Metric) int { return cmp.Compare(a.Name, b.Name) })
	return out
}

func (r *Registry) note(name string, kind Type, help string, labels ...string) {
	r.listed = append(r.listed, Metric{Name: name, Type: kind, Help: help, Labels: labels})
}

// Values of labels.
const (
	HTTP = "http"
	SSH  = "ssh"

	served  = "ok"
	refused = "refused"
	failed  = "failed"
)

// gitServices are what git asks for by name.
var gitServices = []string{"git-upload-pack", "git-receive-pack", "git-upload-archive", "git-lfs", "git-lfs-authenticate"}

// sqlBuckets are in seconds: from a read of one row to a statement that is given up.
var sqlBuckets = []float64{.0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 15}

// extend adds the metrics of git and of the database, with a series for each set of labels.
func (r *Registry) extend() {
	const (
		sqlName, sqlHelp     = "tenon_sql_duration_seconds", "Time a statement took with the wait for its connection, by kind: read or write."
		gitName, gitHelp     = "tenon_git_request_duration_seconds", "Time of requests of git over HTTP and commands over SSH, by service and result: ok, refused or failed."
		bytesName, bytesHelp = "tenon_git_bytes_total", "Bytes that git sent (in) and got (out)."
	)
	r.sql = prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: sqlName, Help: sqlHelp, Buckets: sqlBuckets}, []string{"kind"})
	r.git = prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: gitName, Help: gitHelp, Buckets: buckets}, []string{"transport", "service", "result"})
	r.gitBytes = prometheus.NewCounterVec(prometheus.CounterOpts{Name: bytesName, Help: bytesHelp}, []string{"transport", "service", "direction"})
	r.registry.MustRegister(r.sql, r.git, r.gitBytes)
	r.note(sqlName, Histogram, sqlHelp, "kind")
	r.note(gitName, Histogram, gitHelp, "transport", "service", "result")
	r.note(bytesName, Counter, bytesHelp, "transport", "service", "direction")
	for _, kind := range []string{"read", "write"} {
		r.sql.WithLabelValues(kind)
	}
	for _, transport := range []string{HTTP, SSH} {
		for _, service := range gitServices[:2] {
			for _, result := range []string{served, refused, failed} {
				r.git.WithLabelValues(transport, service, result)
			}
			r.gitBytes.WithLabelValues(transport, service, "in")
			r.gitBytes.WithLabelValues(transport, service, "out")
		}
	}
}

// Statement records one statement of SQL.
func (r *Registry) Statement(write bool, took time.Duration) {
	kind := "read"
	if write {
		kind = "write"
	}
	r.sql.WithLabelValues(kind).Observe(took.Seconds())
}

// GitRequest is a request of git over HTTP, or a command over SSH.
type GitRequest struct {
	Transport string // HTTP or SSH
	Service   string
	Status    int // of HTTP, or of the command
	Duration  time.Duration
	In, Out   int64 // bytes
}

// Git records one request of git.
func (r *Registry) Git(g GitRequest) {
	service := g.Service
	if !slices.Contains(gitServices, service) {
		service = Other
	}
	result := served
	switch {
	case g.Transport == SSH && g.Status != 0, g.Status >= 500:
		result = failed
	case g.Status >= 400:
		result = refused
	}
	r.git.WithLabelValues(g.Transport, service, result).Observe(g.Duration.Seconds())
	r.gitBytes.WithLabelValues(g.Transport, service, "in").Add(float64(g.In))
	r.gitBytes.WithLabelValues(g.Transport, service, "out").Add(float64(g.Out))
}

// Sampled publishes values that are read when metrics are scraped: read emits one for each set of
// labels. It fails where the name is taken.
func (r *Registry) Sampled(m Metric, read func(emit func(value float64, labels ...string))) error {
	r.note(m.Name, m.Type, m.Help, m.Labels...)
	kind := prometheus.GaugeValue
	if m.Type == Counter {
		kind = prometheus.CounterValue
	}
	return r.add(&sampled{desc: prometheus.NewDesc(m.Name, m.Help, m.Labels, nil), kind: kind, read: read})
}

// sampled is a collector of values that are read when metrics are scraped.
type sampled struct {
	desc *prometheus.Desc
	kind prometheus.ValueType
	read func(emit func(value float64, labels ...string))
}

// Describe tells what Collect may give.
func (s *sampled) Describe(to chan<- *prometheus.Desc) { to <- s.desc }

// Collect reads the values.
func (s *sampled) Collect(to chan<- prometheus.Metric) {
	s.read(func(value float64, labels ...string) {
		if m, err := prometheus.NewConstMetric(s.desc, s.kind, value, labels...); err == nil {
			to <- m
		} else {
			to <- prometheus.NewInvalidMetric(s.desc, err)
		}
	})
}

package app

import (
	"context"
	"errors"
	"fmt"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/base/job"
	"tenon/internal/base/lru"
	"tenon/internal/base/metrics"
	"tenon/internal/core"
	hooks "tenon/internal/core/webhook"
	"tenon/internal/transport/gitssh"
	"tenon/internal/transport/httpkit"
)

// sampleTime is how long a look at the metrics may ask the database.
const sampleTime = 5 * time.Second

// measure publishes what is known before the services are built.
func (a *App) measure() error {
	a.db.Observe(func(ctx context.Context, s db.Statement) {
		a.metrics.Statement(s.Write, time.Since(s.Began))
		a.tracer.Statement(ctx, a.db.Dialect().Name(), s.Query, s.Began, s.Err)
	})
	return errors.Join(
		a.metrics.SQL(a.db.Statements),
		a.metrics.GitProcesses(a.git.Started, a.git.Running),
		a.sampled("tenon_database_size_bytes", "Bytes that the database takes on its disk.", func(ctx context.Context) (float64, error) {
			size, err := a.db.Size(ctx)
			return float64(size), err
		}),
		a.sampled("tenon_disk_size_bytes", "Size of the disk of the data folder.", a.disk(func(r room) uint64 { return r.Size })),
		a.sampled("tenon_disk_used_bytes", "Bytes of that disk that are in use, or reserved for root.", a.disk(func(r room) uint64 { return r.Size - r.Free })),
		a.sampled("tenon_disk_free_bytes", "Bytes of that disk that are free.", a.disk(func(r room) uint64 { return r.Free })),
		a.measureCaches(),
	)
}

// sampled publishes a gauge that is read when metrics are scraped, and left out where that fails.
func (a *App) sampled(name, help string, read func(ctx context.Context) (float64, error)) error {
	return a.metrics.Sampled(metrics.Metric{Name: name, Type: metrics.Gauge, Help: help}, func(emit func(float64, ...string)) {
		ctx, cancel := context.WithTimeout(context.Background(), sampleTime)
		defer cancel()
		value, err := read(ctx)
		if err != nil {
			a.log.Warn("read metric", "metric", name, "error", err)
			return
		}
		emit(value)
	})
}

func (a *App) disk(part func(r room) uint64) func(context.Context) (float64, error) {
	return func(context.Context) (float64, error) {
		r, err := roomOf(a.config.Data)
		return float64(part(r)), err
	}
}

// caches returns the figures of all caches, by name.
func (a *App) caches() map[string]lru.Stats {
	all := a.git.Caches()
	for name, c := range map[string]interface {
		Stats() (hits, misses uint64, bytes int64)
	}{"archives": a.archives, "packs": a.packs} {
		hits, misses, bytes := c.Stats()
		all[name] = lru.Stats{Hits: hits, Misses: misses, Bytes: bytes}
	}
	if a.core != nil {
		all["tokens"] = a.core.Tokens.CacheStats()
	}
	return all
}

func (a *App) measureCaches() error {
	add := func(name string, kind metrics.Type, help string, part func(s lru.Stats) float64) error {
		return a.metrics.Sampled(metrics.Metric{Name: name, Type: kind, Help: help, Labels: []string{"cache"}}, func(emit func(float64, ...string)) {
			for cache, s := range a.caches() {
				emit(part(s), cache)
			}
		})
	}
	return errors.Join(
		add("tenon_cache_hits_total", metrics.Counter, "Reads that a cache answered.", func(s lru.Stats) float64 { return float64(s.Hits) }),
		add("tenon_cache_misses_total", metrics.Counter, "Reads that a cache could not answer.", func(s lru.Stats) float64 { return float64(s.Misses) }),
		add("tenon_cache_bytes", metrics.Gauge, "Bytes in a cache: git_* and tokens in memory, archives and packs on disk.", func(s lru.Stats) float64 { return float64(s.Bytes) }),
	)
}

// measureJobs publishes how many jobs there are.
func (a *App) measureJobs() error {
	if err := a.measureHooks(); err != nil {
		return err
	}
	m := metrics.Metric{
		Name: "tenon_jobs", Type: metrics.Gauge, Labels: []string{"kind", "state"},
		Help: "Jobs by kind and state: available, running, scheduled, retryable (failed, to be tried again), discarded (given up), completed and cancelled; the latter are removed after a while.",
	}
	return a.metrics.Sampled(m, func(emit func(float64, ...string)) {
		ctx, cancel := context.WithTimeout(context.Background(), sampleTime)
		defer cancel()
		counts, err := a.jobs.Counts(ctx)
		if err != nil {
			a.log.Warn("read metric", "metric", m.Name, "error", err)
			return
		}
		for _, c := range counts {
			emit(float64(c.Count), c.Kind, c.State)
		}
	})
}

// measureHooks publishes what became of the calls of hooks.
func (a *App) measureHooks() error {
	m := metrics.Metric{
		Name: "tenon_webhook_calls_total", Type: metrics.Counter, Labels: []string{"result"},
		Help: "Calls of webhooks, by result: delivered, repeated (failed, to be tried again), refused by the receiver, unanswered.",
	}
	of := core.Part[*hooks.Service](a.core)
	return a.metrics.Sampled(m, func(emit func(float64, ...string)) {
		for result, n := range of.Results() {
			emit(float64(n), result)
		}
	})
}

// observeRequest counts a request over HTTP, and says in its span what came of it.
func (a *App) observeRequest(o httpkit.Observation) {
	facts := map[string]any{}
	if o.Service != "" {
		facts["tenon.git.service"], facts["tenon.bytes_in"], facts["tenon.bytes_out"] = o.Service, o.In, o.Out
	}
	a.tracer.Answered(o.Context, o.Method, o.Route, o.Status, facts)
	a.metrics.Request(o.Route, o.Method, o.Status, o.Duration)
	if o.Service != "" {
		a.metrics.Git(metrics.GitRequest{Transport: metrics.HTTP, Service: o.Service, Status: o.Status, Duration: o.Duration, In: o.In, Out: o.Out})
	}
}

// observeSSH counts a command over SSH.
func (a *App) observeSSH(ctx context.Context, service string) (context.Context, func(gitssh.Observation)) {
	ctx, end := a.tracer.Work(ctx, "ssh "+service, map[string]any{"tenon.git.service": service})
	return ctx, func(o gitssh.Observation) {
		var failed error
		if o.Status != 0 {
			failed = fmt.Errorf("status %d", o.Status)
		}
		end(failed)
		a.metrics.Git(metrics.GitRequest{Transport: metrics.SSH, Service: o.Service, Status: o.Status, Duration: o.Duration, In: o.In, Out: o.Out})
	}
}

// observeJob counts an attempt at a job.
func (a *App) observeJob(ctx context.Context, kind string) (context.Context, func(job.Outcome, error)) {
	began := time.Now()
	ctx, end := a.tracer.Work(ctx, "job "+kind, map[string]any{"tenon.job.kind": kind})
	return ctx, func(outcome job.Outcome, err error) {
		end(err)
		a.metrics.Job(kind, string(outcome), time.Since(began))
	}
}

package rest

import (
	"context"
	"time"

	"tenon/internal/base/job"
	"tenon/internal/core"
	"tenon/internal/core/authz"
	"tenon/internal/core/usage"
	"tenon/internal/transport/rest/api"
)

var _ = Resource("sidekiq", (*Server).queueRoutes)

func (s *Server) queueRoutes() []*api.Route {
	h := queueHandlers{core.Part[*usage.Service](s.Services)}
	return api.Scoped(nil,
		api.Get("/sidekiq/queue_metrics", h.queues).Doc("Get the backlog and latency of the queues of background jobs").Needs(authz.ReadQueues),
		api.Get("/sidekiq/process_metrics", h.processes).Doc("Get the processes that run background jobs").Needs(authz.ReadQueues),
		api.Get("/sidekiq/job_stats", h.jobs).Doc("Get the statistics of background jobs").Needs(authz.ReadQueues),
		api.Get("/sidekiq/compound_metrics", h.all).Doc("Get the queues, processes and statistics of background jobs").Needs(authz.ReadQueues),
	)
}

type queueHandlers struct{ usage *usage.Service }

type queueBacklog struct {
	Backlog int64 `json:"backlog"`
	Latency int64 `json:"latency"` // whole seconds
}

type queueMetrics struct {
	Queues map[job.QueueName]queueBacklog `json:"queues"`
}

type queueProcess struct {
	Hostname    string          `json:"hostname"`
	PID         int             `json:"pid"`
	Tag         string          `json:"tag"`
	StartedAt   api.Time        `json:"started_at"`
	Queues      []job.QueueName `json:"queues"`
	Labels      []string        `json:"labels"`
	Concurrency int             `json:"concurrency"`
	Busy        int64           `json:"busy"`
}

type processMetrics struct {
	Processes []queueProcess `json:"processes"`
}

type jobCounts struct {
	Processed int64 `json:"processed"` // since the process began, as the next
	Failed    int64 `json:"failed"`
	Enqueued  int64 `json:"enqueued"`
	Dead      int64 `json:"dead"`
}

type jobStats struct {
	Jobs jobCounts `json:"jobs"`
}

type compoundMetrics struct {
	queueMetrics
	processMetrics
	jobStats
}

func newQueueMetrics(f *job.Figures) queueMetrics {
	out := queueMetrics{map[job.QueueName]queueBacklog{}}
	for name, b := range f.Queues {
		out.Queues[name] = queueBacklog{b.Jobs, int64(b.Latency / time.Second)}
	}
	return out
}

func newProcessMetrics(f *job.Figures) processMetrics {
	p := f.Process
	return processMetrics{[]queueProcess{{
		Hostname: p.Host, PID: p.PID, StartedAt: api.Time(p.Started), Queues: p.Queues, Labels: []string{}, Concurrency: p.Concurrency, Busy: p.Busy,
	}}}
}

func newJobStats(f *job.Figures) jobStats {
	return jobStats{jobCounts{f.Processed, f.Failed, f.Enqueued, f.Dead}}
}

func (h queueHandlers) queues(ctx context.Context, as authz.Actor, _ struct{}) (queueMetrics, error) {
	f, err := h.usage.QueueFigures(ctx, as)
	if err != nil {
		return queueMetrics{}, err
	}
	return newQueueMetrics(f), nil
}

func (h queueHandlers) processes(ctx context.Context, as authz.Actor, _ struct{}) (processMetrics, error) {
	f, err := h.usage.QueueFigures(ctx, as)
	if err != nil {
		return processMetrics{}, err
	}
	return newProcessMetrics(f), nil
}

func (h queueHandlers) jobs(ctx context.Context, as authz.Actor, _ struct{}) (jobStats, error) {
	f, err := h.usage.QueueFigures(ctx, as)
	if err != nil {
		return jobStats{}, err
	}
	return newJobStats(f), nil
}

func (h queueHandlers) all(ctx context.Context, as authz.Actor, _ struct{}) (compoundMetrics, error) {
	f, err := h.usage.QueueFigures(ctx, as)
	if err != nil {
		return compoundMetrics{}, err
	}
	return compoundMetrics{newQueueMetrics(f), newProcessMetrics(f), newJobStats(f)}, nil
}

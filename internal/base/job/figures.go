package job

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"time"

	"tenon/internal/base/db"
)

// Figures are how the queues and this process do.
type Figures struct {
	Queues  map[QueueName]Backlog
	Process Process

	Processed int64 // attempts that ended since the process began
	Failed    int64 // of these, those that failed
	Enqueued  int64 // jobs that could begin
	Dead      int64 // jobs that were given up
}

// Backlog is what waits in a queue.
type Backlog struct {
	Jobs    int64         // that could begin
	Latency time.Duration // for which the first of them waits
}

// Process is a process that works on jobs.
type Process struct {
	Host        string
	PID         int
	Started     time.Time
	Queues      []QueueName
	Concurrency int   // jobs at a time
	Busy        int64 // jobs that run
}

// Figures reads the figures in one statement.
func (q *Queue) Figures(ctx context.Context, now time.Time) (*Figures, error) {
	type row struct {
		Queue QueueName `db:"queue"`
		Ready int64     `db:"ready"`
		Dead  int64     `db:"dead"`
		First *db.Time  `db:"first"`
	}
	rows, err := db.Select[row](ctx, q.d, `SELECT queue, SUM(CASE WHEN state = 'discarded' THEN 0 ELSE 1 END) AS ready, SUM(CASE WHEN state = 'discarded' THEN 1 ELSE 0 END) AS dead,
		MIN(CASE WHEN state = 'discarded' THEN NULL ELSE scheduled_at END) AS first
		FROM river_job WHERE state = 'discarded' OR state = 'available' AND scheduled_at <= ? GROUP BY queue ORDER BY queue`, now)
	if err != nil {
		return nil, fmt.Errorf("read figures of queues: %w", err)
	}
	host, err := os.Hostname()
	if err != nil {
		return nil, fmt.Errorf("name of the host: %w", err)
	}
	out := &Figures{
		Queues: map[QueueName]Backlog{}, Processed: q.ended.Load(), Failed: q.failed.Load(),
		Process: Process{Host: host, PID: os.Getpid(), Started: q.made, Busy: q.active.Load()},
	}
	counts := q.counts()
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		out.Queues[name] = Backlog{}
		out.Process.Queues = append(out.Process.Queues, name)
		out.Process.Concurrency += counts[name]
	}
	for _, r := range rows {
		b := Backlog{Jobs: r.Ready}
		if r.First != nil {
			b.Latency = max(now.Sub(r.First.Time), 0)
		}
		out.Queues[r.Queue] = b
		out.Enqueued += r.Ready
		out.Dead += r.Dead
	}
	return out, nil
}

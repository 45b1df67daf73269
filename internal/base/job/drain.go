package job

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/riverqueue/river"

	"tenon/internal/base/db"
)

// progress holds one signal that jobs were fetched or have ended.
type progress chan struct{}

func (p progress) signal() {
	select {
	case p <- struct{}{}:
	default:
	}
}

// Drain does all jobs that are due, and those that these enqueue, and returns when
// none is left. Its error joins those of jobs that failed. It is for tests and
// for commands that end; beside a started queue it only waits.
func (q *Queue) Drain(ctx context.Context) (err error) {
	failures := q.failures.watch()
	defer func() { err = errors.Join(failures(), err) }()
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	for {
		waiting, running, err := q.due(ctx)
		switch {
		case err != nil:
			return err
		case len(waiting) == 0 && !running:
			return nil
		case len(waiting) > 0 && q.running == nil:
			if err := q.work(ctx, waiting); err != nil {
				return err
			}
			continue
		}
		for _, name := range waiting {
			q.bell.ring(string(name))
		}
		select { // for the started queue, or another Drain
		case <-again.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// work does jobs by a client of its own until none waits and none runs. River stores that a job is done
// when the client ends, or else a quarter of a second later.
func (q *Queue) work(ctx context.Context, waiting []QueueName) (err error) {
	counts, known := q.counts(), map[QueueName]int{}
	for _, name := range waiting {
		known[name] = counts[name]
	}
	c, err := q.engineOf(known, q.moved.signal)
	if err != nil {
		return err
	}
	if err := c.Start(ctx); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, q.end(context.WithoutCancel(ctx), c)) }()
	again := time.NewTicker(50 * time.Millisecond) // another Drain may have had the signal
	defer again.Stop()
	for {
		select {
		case <-q.moved:
		case <-again.C:
		case <-ctx.Done():
			return ctx.Err()
		}
		busy := q.active.Load() > 0
		if waiting, _, err = q.due(ctx); err != nil || len(waiting) == 0 && !busy {
			return err
		}
		for _, name := range waiting {
			if known[name] > 0 {
				q.bell.ring(string(name))
				continue
			}
			known[name] = counts[name]
			if err := c.Queues().Add(string(name), river.QueueConfig{MaxWorkers: counts[name]}); err != nil {
				return err
			}
		}
	}
}

// due returns the queues whose jobs wait, and says whether jobs run. It wakes those whose time has come.
func (q *Queue) due(ctx context.Context) (waiting []QueueName, running bool, err error) {
	now := time.Now()
	if err := q.release(ctx, now); err != nil {
		return nil, false, err
	}
	type row struct {
		Queue   QueueName `db:"queue"`
		Running bool      `db:"running"`
	}
	rows, err := db.Select[row](ctx, q.d, `SELECT DISTINCT queue, state = 'running' AS running FROM river_job
		WHERE state = 'running' OR (state = 'available' AND scheduled_at <= ?) ORDER BY queue`, now)
	for _, r := range rows {
		if r.Running {
			running = true
		} else if q.counts()[r.Queue] > 0 && !slices.Contains(waiting, r.Queue) {
			waiting = append(waiting, r.Queue)
		}
	}
	return waiting, running, err
}

package job

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/riverdriver/riversqlite"
	"github.com/riverqueue/river/rivertype"

	"tenon/internal/base/db"
)

// engine is River over one of the two databases.
type engine interface {
	insert(ctx context.Context, d *db.DB, jobs []river.InsertManyParams, unique bool) error
	client
}

// client is the part of River's client that does not depend on the database.
type client interface {
	Start(ctx context.Context) error
	Stop(ctx context.Context) error
	StopAndCancel(ctx context.Context) error
	Subscribe(kinds ...river.EventKind) (<-chan *river.Event, func())
	Queues() *river.QueueBundle
}

// riverEngine is River over transactions of type T.
type riverEngine[T any] struct {
	*river.Client[T]
	tx func(lite *sql.Tx, pg pgx.Tx) T
}

func newRiver[T any](d *driver[T], conf *river.Config, tx func(*sql.Tx, pgx.Tx) T) (engine, error) {
	c, err := river.NewClient(d, conf)
	if err != nil {
		return nil, err
	}
	return &riverEngine[T]{Client: c, tx: tx}, nil
}

// insert stays within the transaction: on SQLite anything else waits for itself.
func (e *riverEngine[T]) insert(ctx context.Context, d *db.DB, jobs []river.InsertManyParams, unique bool) error {
	return d.Native(ctx, func(ctx context.Context, lite *sql.Tx, pg pgx.Tx) error {
		var err error
		switch tx := e.tx(lite, pg); {
		case len(jobs) == 1:
			_, err = e.InsertTx(ctx, tx, jobs[0].Args, jobs[0].InsertOpts)
		case unique: // the fast way fails on duplicates
			_, err = e.InsertManyTx(ctx, tx, jobs)
		default:
			_, err = e.InsertManyFastTx(ctx, tx, jobs)
		}
		return err
	})
}

// newEngine makes a client that shares the writer of SQLite, or the pool of PostgreSQL.
func (q *Queue) newEngine() (engine, error) { return q.engineOf(q.counts(), nil) }

// engineOf is newEngine with the queues given. With fetched the client is one of Drain, which starts
// at once, does not maintain the tables, and calls fetched whenever it has fetched jobs.
func (q *Queue) engineOf(queues map[QueueName]int, fetched func()) (engine, error) {
	conf := &river.Config{
		CompletedJobRetentionPeriod: 15 * time.Minute,
		ErrorHandler:                q.failures,
		ID:                          q.config.Owner,
		Logger:                      slog.New(quiet{q.config.Logger.Handler()}),
		Hooks:                       []rivertype.Hook{river.HookInsertBeginFunc(q.fit)},
		Middleware:                  []rivertype.Middleware{river.WorkerMiddlewareFunc(q.begin)},
		Queues:                      map[string]river.QueueConfig{},
		RescueStuckJobsAfter:        q.longest() + 5*time.Minute,
		TestOnly:                    fetched != nil,
		Workers:                     q.registry.workers,
	}
	for name, workers := range queues {
		conf.Queues[string(name)] = river.QueueConfig{MaxWorkers: workers}
	}
	if len(q.registry.kinds) == 0 {
		conf.Queues, conf.Workers = nil, nil
	}
	writer, pool := q.d.Pools()
	if pool == nil {
		conf.ReindexerSchedule = river.NeverSchedule() // it knows only the indexes of PostgreSQL
	}
	// The bell says when there is something to fetch; polling is for what it cannot know.
	conf.FetchPollInterval, conf.FetchCooldown = 10*time.Second, 10*time.Millisecond
	if fetched != nil {
		conf.FetchCooldown = time.Millisecond
	}
	how := behaviour{notify: q.bell.ring, fetched: fetched, alone: pool == nil}
	if pool == nil {
		return newRiver(&driver[*sql.Tx]{riversqlite.New(writer), &q.bell, how}, conf, func(lite *sql.Tx, _ pgx.Tx) *sql.Tx { return lite })
	}
	return newRiver(&driver[pgx.Tx]{riverpgxv5.New(pool), &q.bell, how}, conf, func(_ *sql.Tx, pg pgx.Tx) pgx.Tx { return pg })
}

func (q *Queue) longest() time.Duration {
	longest := 10 * time.Minute
	for _, s := range q.registry.kinds {
		longest = max(longest, s.timeout)
	}
	return longest
}

// begin gives up a unique job's claim before it looks at anything, so that a change
// made while it runs enqueues another. A caller who enqueues at the same moment holds the
// job's row, or the whole database, until its change can be seen.
func (q *Queue) begin(ctx context.Context, j *rivertype.JobRow, work func(ctx context.Context) error) error {
	q.active.Add(1)
	defer q.moved.signal()
	defer q.active.Add(-1)
	if len(j.UniqueKey) > 0 {
		if _, err := q.d.Exec(ctx, "UPDATE river_job SET unique_key = NULL WHERE id = ?", j.ID); err != nil {
			return fmt.Errorf("begin unique job: %w", err)
		}
	}
	if hold := q.config.Hold; hold != nil && hold() {
		return river.JobSnooze(heldFor)
	}
	if j.Queue == string(Maintenance) {
		running := q.maintaining.Add(1)
		defer q.maintaining.Add(-1)
		if most := q.config.Background; most != nil && running > int64(most()) {
			return river.JobSnooze(crowdedFor)
		}
	}
	var err error
	if j.EncodedArgs, err = unpack(j.EncodedArgs); err != nil {
		return err
	}
	failed := true // unless it is known better, as after a panic
	defer func() {
		q.ended.Add(1)
		if failed {
			q.failed.Add(1)
		}
	}()
	err = q.observed(ctx, j, work)
	failed = err != nil
	var last *river.JobCancelError
	if errors.As(err, &last) { // River does not hand these to the ErrorHandler
		q.failures.write(ctx, j, err, slog.Any("error", err))
	}
	return err
}

// heldFor is how long a job waits before it asks again whether jobs are held.
const heldFor = 15 * time.Second

// crowdedFor is how long a job of Maintenance waits before it asks again whether too many others run.
const crowdedFor = time.Second

// observed works, and tells who observes the queue.
func (q *Queue) observed(ctx context.Context, j *rivertype.JobRow, work func(ctx context.Context) error) (err error) {
	if q.config.Observe == nil {
		return work(ctx)
	}
	ctx, done := q.config.Observe(ctx, j.Kind)
	outcome := Discarded // unless it is known better, as after a panic
	defer func() { done(outcome, err) }()
	err = work(ctx)
	var last *river.JobCancelError
	switch {
	case err == nil:
		outcome = Done
	case !errors.As(err, &last) && j.Attempt < j.MaxAttempts:
		outcome = Retried
	}
	return err
}

// Count is how many jobs of a kind are in a state.
type Count struct {
	Kind  string `db:"kind"`
	State string `db:"state"` // available, running, scheduled, retryable, discarded and the like
	Count int64  `db:"count"`
}

// Counts returns the numbers of the jobs that are there, with a zero for each kind that has none
// that waits or runs.
func (q *Queue) Counts(ctx context.Context) ([]Count, error) {
	out, err := db.Select[Count](ctx, q.d, "SELECT kind, CAST(state AS TEXT) AS state, count(*) AS count FROM river_job GROUP BY kind, state ORDER BY kind, state")
	if err != nil {
		return nil, fmt.Errorf("count jobs: %w", err)
	}
	seen := map[[2]string]bool{}
	for _, c := range out {
		seen[[2]string{c.Kind, c.State}] = true
	}
	for _, kind := range slices.Sorted(maps.Keys(q.registry.kinds)) {
		for _, state := range []string{"available", "running", "scheduled", "retryable", "discarded"} {
			if !seen[[2]string{kind, state}] {
				out = append(out, Count{Kind: kind, State: state})
			}
		}
	}
	return out, nil
}

// Start begins to do jobs, those first that a crash interrupted. It ends with Stop,
// not with ctx.
func (q *Queue) Start(ctx context.Context) error {
	if len(q.registry.kinds) == 0 {
		return errors.New("start job queue: no job is registered")
	}
	var err error
	switch {
	case q.d.Dialect() == db.SQLite: // no other process has this file, so none runs them
		_, err = q.d.Exec(ctx, `UPDATE river_job SET state = 'available' WHERE state = 'running'`)
	case q.config.Owner != "":
		_, err = q.d.Exec(ctx, `UPDATE river_job SET state = 'available' WHERE state = 'running' AND ? = ANY(attempted_by)`, q.config.Owner)
	}
	if err != nil {
		return fmt.Errorf("start job queue: %w", err)
	}
	if err := q.sort(ctx); err != nil {
		return fmt.Errorf("start job queue: %w", err)
	}
	r, err := q.start(context.WithoutCancel(ctx))
	if err != nil {
		return fmt.Errorf("start job queue: %w", err)
	}
	q.running = r
	return nil
}

// sort puts the jobs that wait into the queues that their kinds have now.
func (q *Queue) sort(ctx context.Context) error {
	kinds := map[QueueName][]string{}
	for kind, s := range q.registry.kinds {
		kinds[s.queue()] = append(kinds[s.queue()], kind)
	}
	for name, kinds := range kinds {
		var w db.Where
		w.And("finalized_at IS NULL AND queue <> ?", name)
		w.In("kind", kinds)
		if _, err := q.d.Exec(ctx, "UPDATE river_job SET queue = ?"+w.SQL(), append([]any{name}, w.Args()...)...); err != nil {
			return err
		}
	}
	return nil
}

// Stop takes no more jobs and waits for those that run. When ctx ends they are
// cancelled, and given five seconds to notice; they run again after the next Start.
func (q *Queue) Stop(ctx context.Context) error {
	if q.running == nil {
		return nil
	}
	r := q.running
	q.running = nil
	return r.stop(ctx)
}

// end stops a client. River's may wait for itself for ever where it is stopped while it becomes
// the leader, so a client that has not ended after q.config.Patience without a running job
// is left behind: its jobs are done and stored by then.
func (q *Queue) end(ctx context.Context, c client) error {
	ended := make(chan error, 1)
	go func() { ended <- stop(ctx, c) }()
	look := time.NewTicker(q.config.Patience / 10)
	defer look.Stop()
	busy := time.Now()
	for {
		select {
		case err := <-ended:
			return err
		case now := <-look.C:
			if q.active.Load() > 0 {
				busy = now
			}
			if now.Sub(busy) >= q.config.Patience {
				q.config.Logger.Warn("job queue: left a client behind that does not end")
				return nil
			}
		}
	}
}

// stop waits for the jobs of a client, and cancels them when ctx ends.
func stop(ctx context.Context, c client) error {
	err := c.Stop(ctx)
	if err == nil || ctx.Err() == nil {
		return err
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	if err := c.StopAndCancel(last); err != nil {
		return fmt.Errorf("stop job queue: %w", err)
	}
	return nil
}

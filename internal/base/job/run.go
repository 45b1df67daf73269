package job

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/riverqueue/river"

	"tenon/internal/base/db"
)

const (
	defaultRest = 5 * time.Second
	patience    = 5 * time.Second
	lookEvery   = time.Minute            // at rest, for jobs without a notification
	lookAgain   = 5 * time.Second        // after a failure
	lookGap     = 100 * time.Millisecond // between two looks for jobs that are due
)

// runner runs a client of River while there is work and none at rest, where its timers
// would cost more than the rest of the server. It starts the jobs that wait for a time or
// for another attempt, and enqueues those that come at intervals.
type runner struct {
	q      *Queue
	heard  *listener
	cancel context.CancelFunc
	done   chan struct{}

	linger  context.Context // ends when jobs must
	hurry   context.CancelFunc
	leaving sync.WaitGroup // clients that finish what they have begun

	mu       sync.Mutex
	failures []error // of clients that were stopped

	// The rest belongs to one goroutine.
	client engine              // nil at rest
	failed <-chan *river.Event // attempts that client has seen fail
	due    time.Time           // when to look for jobs that are due
	rest   time.Time           // when to rest, if nothing happens until then
	every  []time.Time         // when each periodic job comes next
}

// start begins to do jobs until stop.
func (q *Queue) start(ctx context.Context) (*runner, error) {
	r := &runner{q: q, heard: q.bell.listener(), done: make(chan struct{}), due: time.Now()}
	ctx, r.cancel = context.WithCancel(ctx)
	r.linger, r.hurry = context.WithCancel(context.WithoutCancel(ctx))
	for range q.registry.periodic {
		r.every = append(r.every, time.Now())
	}
	if err := r.stir(ctx); err != nil {
		r.cancel()
		r.hurry()
		return nil, err
	}
	q.bell.attach(r.heard)
	go r.loop(ctx) // ends with stop
	return r, nil
}

// stop takes no more jobs and waits for those that run; they are cancelled when ctx ends.
func (r *runner) stop(ctx context.Context) error {
	r.cancel()
	<-r.done
	defer r.hurry()
	defer context.AfterFunc(ctx, r.hurry)()
	r.leaving.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	return errors.Join(r.failures...)
}

func (r *runner) loop(ctx context.Context) {
	defer close(r.done)
	defer r.park()
	defer r.q.bell.detach(r.heard)
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		timer.Reset(time.Until(r.next()))
		select {
		case <-ctx.Done():
			return
		case <-r.heard.woke:
			r.heard.clear()
			if err := r.stir(ctx); err != nil {
				r.failure(ctx, err)
			}
		case <-r.q.alarm.changed:
			if at := r.q.alarm.take(); at.Before(r.due) {
				r.due = at
			}
		case e, ok := <-r.failed:
			switch {
			case !ok:
				r.failed = nil
			case e.Job.FinalizedAt == nil && e.Job.ScheduledAt.Before(r.due):
				r.due = e.Job.ScheduledAt
			}
		case <-timer.C:
			if err := r.tick(ctx, time.Now()); err != nil {
				r.failure(ctx, err)
			}
		}
	}
}

// next is when tick has something to do.
func (r *runner) next() time.Time {
	next := r.due
	if r.client != nil && r.rest.Before(next) {
		next = r.rest
	}
	for _, at := range r.every {
		if at.Before(next) {
			next = at
		}
	}
	return next
}

func (r *runner) failure(ctx context.Context, err error) {
	if ctx.Err() != nil {
		return
	}
	r.q.config.Logger.Error("job queue", slog.Any("error", err))
	r.due = time.Now().Add(lookAgain)
}

// tick does what is due.
func (r *runner) tick(ctx context.Context, now time.Time) error {
	for i, p := range r.q.registry.periodic {
		if r.every[i].After(now) {
			continue
		}
		r.every[i] = now.Add(lookAgain)
		if err := r.q.Enqueue(ctx, p.args); err != nil {
			return err
		}
		r.every[i] = now.Add(p.interval)
	}
	if !r.due.After(now) {
		if err := r.look(ctx, now); err != nil {
			return err
		}
	}
	if r.client != nil && !r.rest.After(now) {
		return r.settle(ctx, now)
	}
	return nil
}

// look starts the jobs whose time has come.
func (r *runner) look(ctx context.Context, now time.Time) error {
	if err := r.q.release(ctx, now); err != nil {
		return err
	}
	ready, err := r.q.ready(ctx, now)
	if err != nil {
		return err
	}
	if ready {
		if err := r.stir(ctx); err != nil {
			return err
		}
		for name := range r.q.counts() {
			r.q.bell.ring(string(name))
		}
	}
	next, err := db.Get[db.NullTime](ctx, r.q.d,
		"SELECT MIN(scheduled_at) FROM river_job WHERE state IN ('available', 'scheduled', 'retryable') AND scheduled_at > ?", now)
	if err != nil {
		return fmt.Errorf("next job: %w", err)
	}
	r.due = now.Add(lookEvery)
	if next.Valid && next.V.Before(r.due) {
		r.due = next.V.Time
	}
	if soon := now.Add(lookGap); r.due.Before(soon) {
		r.due = soon
	}
	return nil
}

// stir ends the rest, or puts it off.
func (r *runner) stir(ctx context.Context) error {
	r.rest = time.Now().Add(r.q.config.Rest)
	if r.client != nil {
		return nil
	}
	c, err := r.q.newEngine()
	if err != nil {
		return err
	}
	failed, unsubscribe := c.Subscribe(river.EventKindJobFailed, river.EventKindJobSnoozed)
	if err := c.Start(context.WithoutCancel(ctx)); err != nil {
		unsubscribe()
		return fmt.Errorf("start jobs: %w", err)
	}
	r.client, r.failed = c, failed
	r.q.awake.Store(true)
	return nil
}

// settle rests unless something runs or waits.
func (r *runner) settle(ctx context.Context, now time.Time) error {
	r.rest = now.Add(r.q.config.Rest)
	if r.q.active.Load() > 0 {
		return nil
	}
	ready, err := r.q.ready(ctx, now)
	if err == nil && !ready {
		r.park()
	}
	return err
}

// park lets the client end. A job that it took at the last moment goes on; others do not
// wait for it, because they get a new client.
func (r *runner) park() {
	c := r.client
	if c == nil {
		return
	}
	r.client, r.failed = nil, nil
	r.q.awake.Store(false)
	r.leaving.Go(func() {
		if err := r.q.end(r.linger, c); err != nil {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.failures = append(r.failures, err)
		}
		r.q.alarm.set(time.Now()) // what failed meanwhile is due at a time that is not known
	})
}

// alarm says when the next job is due.
type alarm struct {
	changed chan struct{} // holds one signal

	mu sync.Mutex
	at time.Time
}

// set lets the alarm go off at t, or earlier. Call it after the commit.
func (a *alarm) set(t time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.at.IsZero() && !t.Before(a.at) {
		return
	}
	a.at = t
	select {
	case a.changed <- struct{}{}:
	default:
	}
}

func (a *alarm) take() time.Time {
	a.mu.Lock()
	defer a.mu.Unlock()
	at := a.at
	a.at = time.Time{}
	return at
}

// release makes the jobs available whose time has come.
func (q *Queue) release(ctx context.Context, now time.Time) error {
	_, err := q.d.Exec(ctx, "UPDATE river_job SET state = 'available' WHERE state IN ('scheduled', 'retryable') AND scheduled_at <= ?", now)
	if err != nil {
		return fmt.Errorf("jobs that are due: %w", err)
	}
	return nil
}

// ready says whether a job waits that may begin.
func (q *Queue) ready(ctx context.Context, now time.Time) (bool, error) {
	ready, err := db.Get[bool](ctx, q.d, "SELECT EXISTS (SELECT 1 FROM river_job WHERE state = 'available' AND scheduled_at <= ?)", now)
	if err != nil {
		return false, fmt.Errorf("jobs that wait: %w", err)
	}
	return ready, nil
}

// Package job runs background work that is recorded in the caller's transaction:
// rolled back means never done, crashed means done after the restart. Work may be
// done twice, so it must be safe to do twice.
package job

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"regexp"
	"sync/atomic"
	"time"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"

	"tenon/internal/base/db"
)

// Args is what a job needs to know: a struct of JSON fields, small, naming rows by
// their ids. Kind names the type of work for good, in two or more letters, digits,
// - and _; it must work on the zero value.
type Args interface {
	Kind() string
}

// QueueName is a queue, a kind of work with workers of its own: jobs wait only for others
// of the same queue.
type QueueName string

// The queues.
const (
	Short       QueueName = river.QueueDefault // what a caller waits for; every kind that is not said to be another
	Maintenance QueueName = "maintenance"      // of repositories and files, in the background
	Outbound    QueueName = "outbound"         // whatever talks to another server, which may be slow
	Mail        QueueName = "mail"             // mail, so that one server that is slow holds up nothing else
	Events      QueueName = "events"           // what is told to hooks, one job at a time, so that it keeps its order
	Hooks       QueueName = "hooks"            // calls of hooks
	HooksSlow   QueueName = "hooks_slow"       // calls of hooks that are slow to answer or do not
	Moving      QueueName = "moving"           // archives of projects, which take long
)

// Workers say how many jobs of each queue run at a time.
type Workers struct {
	Short       int // 8 where zero
	Maintenance int // 2 where zero
	Outbound    int // 16 where zero
	Mail        int // 4 where zero
	Hooks       int // 32 where zero
	HooksSlow   int // 32 where zero
	Moving      int // 2 where zero
}

// Option changes how jobs of a kind, or one job, are treated.
type Option func(*settings)

type settings struct {
	insert  river.InsertOpts
	timeout time.Duration
}

func (s settings) queue() QueueName { return QueueName(cmp.Or(s.insert.Queue, string(Short))) }

// On says which queue jobs of a kind belong to. It works in Register only.
func On(name QueueName) Option { return func(s *settings) { s.insert.Queue = string(name) } }

// Low lets all other jobs of the queue go first.
func Low() Option { return func(s *settings) { s.insert.Priority = 4 } }

// Attempts is how often a job is tried before it is given up, 10 times unless said
// otherwise: about seven hours.
func Attempts(n int) Option { return func(s *settings) { s.insert.MaxAttempts = n } }

// At lets a job wait until t.
func At(t time.Time) Option { return func(s *settings) { s.insert.ScheduledAt = t } }

// Unique adds no second job with equal arguments while one waits for its turn. One
// that is running does not count, because it may have looked already. Where some fields
// are tagged `river:"unique"`, only these are compared.
func Unique() Option {
	return func(s *settings) {
		s.insert.UniqueOpts = river.UniqueOpts{ByArgs: true, ByState: []rivertype.JobState{
			rivertype.JobStateAvailable, rivertype.JobStatePending, rivertype.JobStateRetryable,
			rivertype.JobStateRunning, rivertype.JobStateScheduled,
		}}
	}
}

// Timeout ends the context of a job that runs longer, 10 minutes unless said
// otherwise. It works in Register only.
func Timeout(d time.Duration) Option { return func(s *settings) { s.timeout = d } }

func (s settings) with(options []Option) settings {
	for _, option := range options {
		option(&s)
	}
	return s
}

// Registry knows how to do each kind of work. Fill it before New; the zero value is
// ready.
type Registry struct {
	workers  *river.Workers
	kinds    map[string]settings
	readers  map[string]func(text []byte) (Args, error) // of arguments, by kind
	periodic []periodic
}

// periodic is a job that is enqueued at intervals.
type periodic struct {
	args     Args
	interval time.Duration
}

// Register says how jobs of type A are done, and the options they have unless Enqueue
// says otherwise. An error of fn means that the job is tried again, after 1, 16, 81, ...
// seconds; see Permanent. It panics for a kind that is registered already or ill named.
func Register[A Args](r *Registry, fn func(ctx context.Context, args A) error, options ...Option) {
	if r.workers == nil {
		r.workers, r.kinds = river.NewWorkers(), make(map[string]settings)
		r.readers = make(map[string]func([]byte) (Args, error))
	}
	var zero A
	kind := zero.Kind()
	if !regexp.MustCompile(`^[a-z][a-z0-9_-]+$`).MatchString(kind) {
		panic(fmt.Sprintf("job: bad kind %q of %T", kind, zero))
	}
	s := settings{insert: river.InsertOpts{MaxAttempts: 10}, timeout: 10 * time.Minute}.with(options)
	if err := river.AddWorkerSafely(r.workers, &worker[A]{fn: fn, timeout: s.timeout}); err != nil {
		panic(fmt.Sprintf("job: %v", err))
	}
	r.kinds[kind] = s
	r.readers[kind] = func(text []byte) (Args, error) {
		var args A
		err := json.Unmarshal(text, &args)
		return args, err
	}
}

// Every enqueues args when the queue starts and then at intervals. The kind must be
// registered; it should be Unique.
func Every(r *Registry, interval time.Duration, args Args) {
	if _, ok := r.kinds[args.Kind()]; !ok {
		panic(fmt.Sprintf("job: kind %q is not registered", args.Kind()))
	}
	r.periodic = append(r.periodic, periodic{args, interval})
}

// Kinds lists what is registered, in no order.
func (r *Registry) Kinds() []string {
	kinds := make([]string, 0, len(r.kinds))
	for kind := range r.kinds {
		kinds = append(kinds, kind)
	}
	return kinds
}

// Permanent marks an error that another attempt would not mend: the job is given up.
func Permanent(err error) error { return river.JobCancel(err) }

// worker does the jobs of one kind.
type worker[A Args] struct {
	river.WorkerDefaults[A]
	fn      func(ctx context.Context, args A) error
	timeout time.Duration
}

func (w *worker[A]) Work(ctx context.Context, j *river.Job[A]) error { return w.fn(ctx, j.Args) }

func (w *worker[A]) Timeout(*river.Job[A]) time.Duration { return w.timeout }

// Config says how a Queue runs.
type Config struct {
	Logger  *slog.Logger // nil discards
	Workers Workers

	// Hold, where set, is asked before each job; while it is true, jobs wait.
	Hold func() bool

	// Background, where set, is how many jobs of Maintenance run at a time, where Workers allows more; 0 is none.
	Background func() int

	// Sizes, where set, bound the arguments of jobs that are enqueued.
	Sizes func() Sizes

	// Rest is how long nothing must have happened before the queue rests, where it costs
	// no processor time; 5 seconds where zero. A job that comes then waits a little longer.
	Rest time.Duration

	// Patience is how long a stop waits for a client of River that has no running job and
	// does not end; 5 seconds where zero.
	Patience time.Duration

	// Observe, where set, is called when an attempt at a job begins, and done when it ends. The
	// attempt runs with the context that it returns.
	Observe func(ctx context.Context, kind string) (with context.Context, done func(Outcome, error))

	// Owner names what may have but one queue at a time, such as a data folder that
	// one process locks, in at most 100 bytes. On PostgreSQL, Start begins with the jobs
	// that a crash of the same owner interrupted; without a name they wait until they are
	// older than a job may become.
	Owner string
}

// Outcome is how an attempt at a job ended.
type Outcome string

// The outcomes: done, to be tried again, given up.
const (
	Done      Outcome = "done"
	Retried   Outcome = "retried"
	Discarded Outcome = "discarded"
)

// Queue enqueues jobs, and does them between Start and Stop.
type Queue struct {
	d           *db.DB
	registry    *Registry
	config      Config
	engine      engine
	failures    *failureLog
	bell        bell
	alarm       alarm
	running     *runner      // between Start and Stop, which the app calls one after the other
	active      atomic.Int64 // jobs that run
	maintaining atomic.Int64 // of these, those of Maintenance
	ended       atomic.Int64 // attempts
	failed      atomic.Int64 // of these
	made        time.Time
	awake       atomic.Bool // whether a client runs
	moved       progress    // of jobs, for Drain
}

// New makes a queue over the database, whose Migrate and whose job tables' Migrate have run.
func New(d *db.DB, r *Registry, config Config) (*Queue, error) {
	if config.Logger == nil {
		config.Logger = slog.New(slog.DiscardHandler)
	}
	config.Rest = cmp.Or(config.Rest, defaultRest)
	config.Patience = cmp.Or(config.Patience, patience)
	if r.workers == nil {
		r.workers = river.NewWorkers()
	}
	q := &Queue{d: d, registry: r, config: config, failures: &failureLog{log: config.Logger}, made: time.Now()}
	q.alarm.changed, q.moved = make(chan struct{}, 1), make(progress, 1)
	var err error
	q.engine, err = q.newEngine()
	if err != nil {
		return nil, fmt.Errorf("make job queue: %w", err)
	}
	return q, nil
}

// Enqueue records a job in the transaction of ctx, in one of its own where there is
// none. The job runs after the commit.
func (q *Queue) Enqueue(ctx context.Context, args Args, options ...Option) error {
	return q.EnqueueAll(ctx, []Args{args}, options...)
}

// EnqueueAll is Enqueue for many jobs at once, which is cheaper.
func (q *Queue) EnqueueAll(ctx context.Context, jobs []Args, options ...Option) error {
	if len(jobs) == 0 {
		return nil
	}
	params := make([]river.InsertManyParams, len(jobs))
	unique := false
	for i, args := range jobs {
		s, ok := q.registry.kinds[args.Kind()]
		if !ok {
			return fmt.Errorf("enqueue: no job of kind %q is registered", args.Kind())
		}
		s = s.with(options)
		unique = unique || s.insert.UniqueOpts.ByArgs
		params[i] = river.InsertManyParams{Args: args, InsertOpts: &s.insert}
	}
	err := q.d.InTx(ctx, func(ctx context.Context) error {
		q.d.AfterCommit(ctx, func() { q.notify(params) })
		return q.engine.insert(ctx, q.d, params, unique)
	})
	if err != nil {
		return fmt.Errorf("enqueue %s: %w", jobs[0].Kind(), err)
	}
	return nil
}

// notify wakes what works on new jobs, now or when they are due.
func (q *Queue) notify(jobs []river.InsertManyParams) {
	for _, j := range jobs {
		if at := j.InsertOpts.ScheduledAt; !at.IsZero() {
			q.alarm.set(at)
			continue
		}
		q.bell.ring(cmp.Or(j.InsertOpts.Queue, river.QueueDefault))
	}
}

// counts returns how many jobs of each queue run at a time.
func (q *Queue) counts() map[QueueName]int {
	w := q.config.Workers
	return map[QueueName]int{Short: cmp.Or(w.Short, 8), Maintenance: cmp.Or(w.Maintenance, 2), Outbound: cmp.Or(w.Outbound, 16), Mail: cmp.Or(w.Mail, 4), Events: 1, Hooks: cmp.Or(w.Hooks, 32), HooksSlow: cmp.Or(w.HooksSlow, 32), Moving: cmp.Or(w.Moving, 2)}
}

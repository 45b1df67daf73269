package job

import (
	"context"
	"encoding/json"
	"slices"
	"sync"
	"time"

	"github.com/riverqueue/river/riverdriver"
	"github.com/riverqueue/river/rivertype"
)

// insertTopic is what River calls notifications about new jobs.
const insertTopic = "river_insert"

// bell tells River's clients of this process which queues have new jobs. It is in for
// the notifications of PostgreSQL, which SQLite does not have: the process that enqueues a
// job is the one that works on it.
type bell struct {
	mu        sync.Mutex
	listeners map[*listener]struct{}
}

// ring wakes what works on a queue. Call it after the commit.
func (b *bell) ring(queue string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for l := range b.listeners {
		l.add(queue)
	}
}

// listener makes an end that hears nothing yet.
func (b *bell) listener() *listener { return &listener{bell: b, woke: make(chan struct{}, 1)} }

func (b *bell) attach(l *listener) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.listeners == nil {
		b.listeners = map[*listener]struct{}{}
	}
	b.listeners[l] = struct{}{}
}

func (b *bell) detach(l *listener) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.listeners, l)
}

// listener is one client's end of the bell. Queues that ring more than once before the
// client looks count once.
type listener struct {
	bell *bell
	woke chan struct{} // holds one signal while pending is not empty

	mu      sync.Mutex
	pending []string
}

func (l *listener) add(queue string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !slices.Contains(l.pending, queue) {
		l.pending = append(l.pending, queue)
	}
	l.signal()
}

func (l *listener) signal() {
	select {
	case l.woke <- struct{}{}:
	default:
	}
}

// Connect begins to hear the bell.
func (l *listener) Connect(context.Context) error {
	l.bell.attach(l)
	return nil
}

// Close ends that.
func (l *listener) Close(context.Context) error {
	l.bell.detach(l)
	return nil
}

// WaitForNotification waits for the next queue that has new jobs.
func (l *listener) WaitForNotification(ctx context.Context) (*riverdriver.Notification, error) {
	for {
		if queue, ok := l.take(); ok {
			payload, err := json.Marshal(struct {
				Queue string `json:"queue"`
			}{queue})
			return &riverdriver.Notification{Topic: insertTopic, Payload: string(payload)}, err
		}
		select {
		case <-l.woke:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

func (l *listener) clear() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.pending = nil
}

func (l *listener) take() (queue string, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.pending) == 0 {
		return "", false
	}
	queue, l.pending = l.pending[0], l.pending[1:]
	if len(l.pending) > 0 {
		l.signal()
	}
	return queue, true
}

// Listen and the others have nothing to do: there is one topic and no connection.
func (l *listener) Listen(context.Context, string) error { return nil }

// Unlisten does nothing.
func (l *listener) Unlisten(context.Context, string) error { return nil }

// Ping does nothing.
func (l *listener) Ping(context.Context) error { return nil }

// Schema is that of the connection.
func (l *listener) Schema() string { return "" }

// SetAfterConnectExec does nothing; River's own tests need it.
func (l *listener) SetAfterConnectExec(string) {}

// behaviour is what a client does otherwise than River.
type behaviour struct {
	notify  func(queue string)
	fetched func() // is called whenever jobs were fetched; nil but for Drain, whose clients never maintain the tables
	alone   bool   // no other process has the database, so that the client leads
}

// elect decides who leads, where that is known without the database.
func (b behaviour) elect() (elected, known bool) {
	return b.fetched == nil, b.fetched != nil || b.alone
}

// driver is a driver of River whose notifications go through the bell.
type driver[T any] struct {
	riverdriver.Driver[T]
	bell *bell
	how  behaviour
}

// SupportsListener says that there is a caller to hear.
func (d *driver[T]) SupportsListener() bool { return true }

// SupportsListenNotify says that there is something to hear.
func (d *driver[T]) SupportsListenNotify() bool { return true }

// GetListener makes a client's end of the bell.
func (d *driver[T]) GetListener(*riverdriver.GetListenenerParams) riverdriver.Listener {
	return d.bell.listener()
}

// GetExecutor returns what runs River's own statements.
func (d *driver[T]) GetExecutor() riverdriver.Executor {
	return &executor{d.Driver.GetExecutor(), d.how}
}

// UnwrapExecutor runs River's statements in a transaction of the caller, who rings after
// its commit.
func (d *driver[T]) UnwrapExecutor(tx T) riverdriver.ExecutorTx {
	return &executorTx{ExecutorTx: d.Driver.UnwrapExecutor(tx), how: d.how, committed: func(string) {}}
}

// UnwrapTx returns the transaction of an executor back.
func (d *driver[T]) UnwrapTx(tx riverdriver.ExecutorTx) T {
	if own, ok := tx.(*executorTx); ok {
		tx = own.ExecutorTx
	}
	return d.Driver.UnwrapTx(tx)
}

// executor runs River's own statements and keeps its notifications within the process.
type executor struct {
	riverdriver.Executor
	how behaviour
}

// QueueCreateOrSetUpdatedAt writes nothing: queues are what the program says, and none is
// ever paused.
func (e *executor) QueueCreateOrSetUpdatedAt(_ context.Context, params *riverdriver.QueueCreateOrSetUpdatedAtParams) (*rivertype.Queue, error) {
	now := time.Now()
	return &rivertype.Queue{CreatedAt: now, UpdatedAt: now, Metadata: []byte("{}"), Name: params.Name}, nil
}

// JobGetAvailable fetches jobs, and says so.
func (e *executor) JobGetAvailable(ctx context.Context, params *riverdriver.JobGetAvailableParams) ([]*rivertype.JobRow, error) {
	jobs, err := e.Executor.JobGetAvailable(ctx, params)
	if e.how.fetched != nil {
		e.how.fetched()
	}
	return jobs, err
}

// LeaderResign ends what an election began.
func (e *executor) LeaderResign(ctx context.Context, params *riverdriver.LeaderResignParams) (bool, error) {
	if elected, known := e.how.elect(); known {
		return elected, nil
	}
	return e.Executor.LeaderResign(ctx, params)
}

// Begin begins a transaction whose notifications go out after its commit.
func (e *executor) Begin(ctx context.Context) (riverdriver.ExecutorTx, error) {
	tx, err := e.Executor.Begin(ctx)
	if err != nil {
		return nil, err
	}
	return &executorTx{ExecutorTx: tx, how: e.how, committed: e.how.notify}, nil
}

// NotifyMany rings at once.
func (e *executor) NotifyMany(_ context.Context, params *riverdriver.NotifyManyParams) error {
	for _, queue := range queuesOf(params) {
		e.how.notify(queue)
	}
	return nil
}

// executorTx is executor in a transaction.
type executorTx struct {
	riverdriver.ExecutorTx
	how       behaviour
	queues    []string           // that have new jobs once this is committed
	committed func(queue string) // is called with each of them
}

// LeaderDeleteExpired begins an election.
func (t *executorTx) LeaderDeleteExpired(ctx context.Context, params *riverdriver.LeaderDeleteExpiredParams) (int, error) {
	if _, known := t.how.elect(); known {
		return 0, nil
	}
	return t.ExecutorTx.LeaderDeleteExpired(ctx, params)
}

// LeaderAttemptElect elects at once where there is no other caller.
func (t *executorTx) LeaderAttemptElect(ctx context.Context, params *riverdriver.LeaderElectParams) (bool, error) {
	if elected, known := t.how.elect(); known {
		return elected, nil
	}
	return t.ExecutorTx.LeaderAttemptElect(ctx, params)
}

// LeaderAttemptReelect does the same.
func (t *executorTx) LeaderAttemptReelect(ctx context.Context, params *riverdriver.LeaderElectParams) (bool, error) {
	if elected, known := t.how.elect(); known {
		return elected, nil
	}
	return t.ExecutorTx.LeaderAttemptReelect(ctx, params)
}

// Begin begins a part of the transaction.
func (t *executorTx) Begin(ctx context.Context) (riverdriver.ExecutorTx, error) {
	tx, err := t.ExecutorTx.Begin(ctx)
	if err != nil {
		return nil, err
	}
	return &executorTx{ExecutorTx: tx, how: t.how, committed: func(queue string) { t.queues = append(t.queues, queue) }}, nil
}

// NotifyMany remembers what to tell.
func (t *executorTx) NotifyMany(_ context.Context, params *riverdriver.NotifyManyParams) error {
	t.queues = append(t.queues, queuesOf(params)...)
	return nil
}

// Commit commits and then tells.
func (t *executorTx) Commit(ctx context.Context) error {
	if err := t.ExecutorTx.Commit(ctx); err != nil {
		return err
	}
	for _, queue := range t.queues {
		t.committed(queue)
	}
	return nil
}

// queuesOf reads the queues that a notification names, none where it is about something else.
func queuesOf(params *riverdriver.NotifyManyParams) []string {
	if params.Topic != insertTopic {
		return nil
	}
	var queues []string
	for _, payload := range params.Payload {
		var inserted struct {
			Queue string `json:"queue"`
		}
		if json.Unmarshal([]byte(payload), &inserted) == nil && inserted.Queue != "" {
			queues = append(queues, inserted.Queue)
		}
	}
	return queues
}

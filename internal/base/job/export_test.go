package job

import "context"

// Awake says whether the queue does not rest.
func (q *Queue) Awake() bool { return q.awake.Load() }

// Overlook lets the queue rest although one job runs.
func (q *Queue) Overlook() { q.active.Add(-1) }

// EndStuck ends a client that waits for itself for ever once it is stopped.
func (q *Queue) EndStuck(ctx context.Context) error {
	c := stuck{release: make(chan struct{})}
	defer close(c.release)
	return q.end(ctx, c)
}

type stuck struct {
	engine
	release chan struct{}
}

func (s stuck) Stop(context.Context) error          { <-s.release; return nil }
func (s stuck) StopAndCancel(context.Context) error { <-s.release; return nil }

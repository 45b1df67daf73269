package job

import "context"

// Enqueuer inserts a job in the transaction of ctx, or in one of its own. *Queue is one.
type Enqueuer interface {
	Enqueue(ctx context.Context, args Args, options ...Option) error
}

// EnqueuerFunc is a function as an Enqueuer.
type EnqueuerFunc func(ctx context.Context, args Args, options ...Option) error

// Enqueue calls f.
func (f EnqueuerFunc) Enqueue(ctx context.Context, args Args, options ...Option) error {
	return f(ctx, args, options...)
}

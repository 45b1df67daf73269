package job

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"
)

// failureLog logs each failed attempt once, and remembers it for those who drain the
// queue. It hears of a failure before the job's row does.
type failureLog struct {
	log *slog.Logger

	mu      sync.Mutex
	watched int // how many drain the queue
	seen    []error
}

// watch begins to remember failures; the result ends it and joins those seen.
func (l *failureLog) watch() (end func() error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.watched++
	first := len(l.seen)
	return func() error {
		l.mu.Lock()
		defer l.mu.Unlock()
		err := errors.Join(l.seen[first:]...)
		if l.watched--; l.watched == 0 {
			l.seen = nil
		}
		return err
	}
}

// HandleError logs an attempt that gave an error.
func (l *failureLog) HandleError(ctx context.Context, j *rivertype.JobRow, err error) *river.ErrorHandlerResult {
	l.write(ctx, j, err, slog.Any("error", err))
	return nil
}

// HandlePanic logs an attempt that panicked; the job is tried again like any other.
func (l *failureLog) HandlePanic(ctx context.Context, j *rivertype.JobRow, value any, trace string) *river.ErrorHandlerResult {
	l.write(ctx, j, fmt.Errorf("panic: %v", value), slog.Any("panic", value), slog.String("stack", trace))
	return nil
}

func (l *failureLog) write(ctx context.Context, j *rivertype.JobRow, err error, more ...slog.Attr) {
	l.mu.Lock()
	if l.watched > 0 {
		l.seen = append(l.seen, fmt.Errorf("job %s: %w", j.Kind, err))
	}
	l.mu.Unlock()
	level := slog.LevelWarn
	if j.Attempt >= j.MaxAttempts {
		level = slog.LevelError
	}
	attrs := []slog.Attr{
		slog.String("kind", j.Kind), slog.Int64("job_id", j.ID),
		slog.Int("attempt", j.Attempt), slog.Int("attempts", j.MaxAttempts),
	}
	l.log.LogAttrs(ctx, level, "job failed", append(attrs, more...)...)
}

// quiet passes on River's own errors only, without those about failed attempts, which
// failureLog has said already.
type quiet struct{ slog.Handler }

// Enabled leaves out everything below an error.
func (h quiet) Enabled(ctx context.Context, level slog.Level) bool {
	return level >= slog.LevelError && h.Handler.Enabled(ctx, level)
}

// Handle passes on what remains.
func (h quiet) Handle(ctx context.Context, r slog.Record) error {
	for _, said := range []string{"Job errored", "Job panicked", "panic recovery"} {
		if strings.Contains(r.Message, said) {
			return nil
		}
	}
	if ctx.Err() != nil && strings.Contains(r.Message, "PeriodicJobEnqueuer") {
		return nil // the queue is stopping; what was due is enqueued at the next start
	}
	return h.Handler.Handle(ctx, r)
}

// WithAttrs stays quiet.
func (h quiet) WithAttrs(attrs []slog.Attr) slog.Handler { return quiet{h.Handler.WithAttrs(attrs)} }

// WithGroup stays quiet.
func (h quiet) WithGroup(name string) slog.Handler { return quiet{h.Handler.WithGroup(name)} }

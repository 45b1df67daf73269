package job

import (
	"context"
	"log/slog"
	"strings"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"
)

// failureLog logs each failed attempt once.
type failureLog struct{ log *slog.Logger }

// HandleError logs an attempt that gave an error.
func (l failureLog) HandleError(ctx context.Context, j *rivertype.JobRow, err error) *river.ErrorHandlerResult {
	l.write(ctx, j, slog.Any("error", err))
	return nil
}

// HandlePanic logs an attempt that panicked; the job is tried again like any other.
func (l failureLog) HandlePanic(ctx context.Context, j *rivertype.JobRow, value any, trace string) *river.ErrorHandlerResult {
	l.write(ctx, j, slog.Any("panic", value), slog.String("stack", trace))
	return nil
}

func (l failureLog) write(ctx context.Context, j *rivertype.JobRow, more ...slog.Attr) {
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
	return h.Handler.Handle(ctx, r)
}

// WithAttrs stays quiet.
func (h quiet) WithAttrs(attrs []slog.Attr) slog.Handler { return quiet{h.Handler.WithAttrs(attrs)} }

// WithGroup stays quiet.
func (h quiet) WithGroup(name string) slog.Handler { return quiet{h.Handler.WithGroup(name)} }

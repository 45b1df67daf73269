package job

import (
	"bytes"
	"context"
	"log/slog"
	"testing"
)

// A queue that stops interrupts what enqueues periodic jobs; that is no error of the
// server, while the same words from a running queue are.
func TestQuiet(t *testing.T) {
	t.Parallel()
	stopped, stop := context.WithCancel(t.Context())
	stop()
	for _, tt := range []struct {
		name    string
		ctx     context.Context
		message string
		logged  bool
	}{
		{"running", t.Context(), "PeriodicJobEnqueuer: Error starting transaction", true},
		{"stopping", stopped, "PeriodicJobEnqueuer: Error starting transaction", false},
		{"something else while stopping", stopped, "Completer: Completer error", true},
		{"an attempt that failed", t.Context(), "jobexecutor.JobExecutor: Job errored", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var out bytes.Buffer
			slog.New(quiet{slog.NewTextHandler(&out, nil)}).ErrorContext(tt.ctx, tt.message)
			if got := out.Len() > 0; got != tt.logged {
				t.Errorf("logged: %v, want %v", got, tt.logged)
			}
		})
	}
}

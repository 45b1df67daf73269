package runnerhttp

import (
	"bytes"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"syscall"
	"testing"

	"tenon/internal/base/errs"
)

func TestHandler_refuse_logged(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		err         error
		after, logs string
	}{
		"database is away": {fmt.Errorf("find job: %w", errs.ErrAway), "10", "database is away"},
		"disk is full":     {fmt.Errorf("write log: %w", syscall.ENOSPC), "", "disk full"},
	} {
		var log bytes.Buffer
		h := New(Deps{Log: slog.New(slog.NewTextHandler(&log, nil))})
		w := httptest.NewRecorder()
		h.refuse(w, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/api/v4/jobs/request", nil), row.err)
		if w.Code != http.StatusServiceUnavailable || w.Header().Get("Retry-After") != row.after {
			t.Errorf("%s: got %d, Retry-After %q, want 503 and %q", name, w.Code, w.Header().Get("Retry-After"), row.after)
		}
		if !strings.Contains(log.String(), row.logs) || !strings.Contains(log.String(), row.err.Error()) {
			t.Errorf("%s: the log says %q, want %q and the error", name, log.String(), row.logs)
		}
	}
}

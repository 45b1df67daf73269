package repo

import (
	"context"
	"errors"
	"testing"
	"time"
)

// While a repository is measured, those who wait for its size give up with their context, and
// what they wanted to note is not noted.
func TestSizes_wait(t *testing.T) {
	t.Parallel()
	var s sizes
	z := s.of(1)
	if err := z.lock(t.Context()); err != nil {
		t.Fatal(err)
	}
	gone, cancel := context.WithCancelCause(t.Context())
	reason := errors.New("the client went away")
	cancel(reason)
	if err := z.lock(gone); !errors.Is(err, reason) {
		t.Errorf("wait for a measurement: got %v, want %v", err, reason)
	}
	if _, _, err := s.begin(gone, 1); !errors.Is(err, reason) {
		t.Errorf("begin beside a measurement: got %v, want %v", err, reason)
	}
	if err := s.end(gone, 1, 10, 0, time.Time{}); !errors.Is(err, reason) || z.known {
		t.Errorf("end beside a measurement: got %v, known %v, want %v", err, z.known, reason)
	}
	if added, limited, err := s.begin(gone, 2); added != 0 || limited || err != nil {
		t.Errorf("begin without a limit: got %d, %v, %v", added, limited, err)
	}
	z.unlock()
	if err := s.end(t.Context(), 1, 10, 0, time.Time{}); err != nil || z.bytes != 10 || !z.known {
		t.Errorf("end afterwards: got %d, %v, %v, want 10", z.bytes, z.known, err)
	}
}

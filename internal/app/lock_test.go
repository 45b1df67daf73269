package app

import (
	"strings"
	"testing"
)

// Two servers on one data folder would settle each other's merges.
func TestApp_lock(t *testing.T) {
	t.Parallel()
	s := newServer(t, "")
	second := &App{config: s.config}
	if _, err := second.lock(t.Context(), 0); err == nil || !strings.Contains(err.Error(), "another server runs") {
		t.Errorf("a second server: got %v, want a refusal", err)
	}
	if err := s.App.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	again, err := second.lock(t.Context(), 0)
	if err != nil {
		t.Fatalf("after the first has ended: %v", err)
	}
	if err := again(); err != nil {
		t.Error(err)
	}
}

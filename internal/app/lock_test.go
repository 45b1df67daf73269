package app

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Two servers on one data folder would settle each other's merges.
func TestApp_lock(t *testing.T) {
	t.Parallel()
	s := newServer(t, "")
	second := &App{config: s.config, log: s.log}
	if _, err := second.lock(t.Context(), filepath.Join(s.config.Data, "lock"), 0); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("another server runs on it (process %d on ", os.Getpid())) {
		t.Errorf("a second server: got %v, want a refusal", err)
	}
	if err := s.App.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	again, err := second.lock(t.Context(), filepath.Join(s.config.Data, "lock"), 0)
	if err != nil {
		t.Fatalf("after the first has ended: %v", err)
	}
	if err := again(); err != nil {
		t.Error(err)
	}
}

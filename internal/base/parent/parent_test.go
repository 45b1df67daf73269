package parent_test

import (
	"context"
	"errors"
	"os/exec"
	"strings"
	"testing"

	"tenon/internal/base/parent"
)

// TestWatch_ends tells of a process that is killed, and of one that was gone before.
func TestWatch_ends(t *testing.T) {
	t.Parallel()
	cmd := exec.CommandContext(t.Context(), "sleep", "600")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ctx, stop, err := parent.Watch(t.Context(), cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	if err := ctx.Err(); err != nil {
		t.Fatalf("while the process runs: %v, want nothing", err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-ctx.Done()
	if cause := context.Cause(ctx); !strings.HasSuffix(cause.Error(), "has ended") {
		t.Errorf("cause: %v, want that the process has ended", cause)
	}
	_ = cmd.Wait() // it was killed
	late, stopLate, err := parent.Watch(t.Context(), cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	defer stopLate()
	<-late.Done()
}

// TestWatch_stop ends the context although the process goes on.
func TestWatch_stop(t *testing.T) {
	t.Parallel()
	cmd := exec.CommandContext(t.Context(), "sleep", "600")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	ctx, stop, err := parent.Watch(t.Context(), cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	stop()
	<-ctx.Done()
	if cause := context.Cause(ctx); !errors.Is(cause, context.Canceled) {
		t.Errorf("cause: %v, want %v", cause, context.Canceled)
	}
}

package gitcmd

import (
	"errors"
	"fmt"
	"strings"
	"syscall"
)

// ErrClosed means that the Git was closed.
var ErrClosed = errors.New("git is closed")

// Error reports a git process that failed.
type Error struct {
	Command string // the subcommand, such as "rev-list"
	Code    int    // the exit code; -1 when a signal ended it
	Stderr  string // the last few kilobytes of what it said
	Err     error  // the cause, such as a cancelled context
}

// Error names the subcommand, its exit code and what git said.
func (e *Error) Error() string {
	said := strings.TrimSpace(e.Stderr)
	if said == "" && e.Err != nil {
		said = e.Err.Error()
	}
	return fmt.Sprintf("git %s: exit code %d: %s", e.Command, e.Code, clip(said))
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Is reports whether git met a full disk, where that is asked.
func (e *Error) Is(target error) bool {
	return target == syscall.ENOSPC && strings.Contains(e.Stderr, "No space left on device")
}

// clip shortens a text for an error message.
func clip(s string) string {
	if len(s) > 200 {
		return s[:200] + "..."
	}
	return s
}

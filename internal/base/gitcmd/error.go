package gitcmd

import (
	"errors"
	"fmt"
	"strings"
	"syscall"
)

// What can be wrong; compare with errors.Is.
var (
	// ErrBadName means that an object id, a reference or a path is malformed.
	ErrBadName = errors.New("malformed name")
	// ErrNotFound means that no such repository, reference, object or path exists.
	ErrNotFound = errors.New("not found in repository")
	// ErrWrongKind means that the object exists and is of another kind.
	ErrWrongKind = errors.New("object of another kind")
	// ErrTooLarge means that the object or the answer is larger than the caller allowed.
	ErrTooLarge = errors.New("larger than allowed")
	// ErrAmbiguous means that an abbreviated id names several objects.
	ErrAmbiguous = errors.New("ambiguous abbreviation")
	// ErrRefMoved means that a reference did not hold the expected old value.
	ErrRefMoved = errors.New("reference has moved")
	// ErrRefConflict means that a reference cannot stand beside an existing one, such as a and a/b.
	ErrRefConflict = errors.New("reference conflicts with another")
	// ErrPathConflict means that a path runs through a file, or names a folder.
	ErrPathConflict = errors.New("path conflicts with another")
	// ErrExists means that there is already something of this name.
	ErrExists = errors.New("exists already")
	// ErrClosed means that the Git was closed.
	ErrClosed = errors.New("git is closed")
)

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

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.Err }

// Is reports whether git met a full disk, where that is asked.
func (e *Error) Is(target error) bool {
	return target == syscall.ENOSPC && strings.Contains(e.Stderr, "No space left on device")
}

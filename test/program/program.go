// Package program writes programs for tests to run.
package program

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// Write writes a program named name into a folder of the test, and returns its path.
//
// While the file is open for writing no process is started: a process that is started by
// another test at that moment inherits the open file until it runs its own program, and for
// that long the system refuses to run this one ("text file busy").
func Write(tb testing.TB, name string, content []byte) string {
	tb.Helper()
	path := filepath.Join(tb.TempDir(), name)
	syscall.ForkLock.RLock()
	err := os.WriteFile(path, content, 0o700)
	syscall.ForkLock.RUnlock()
	if err != nil {
		tb.Fatal(err)
	}
	return path
}

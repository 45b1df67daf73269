package app

import (
	"errors"
	"syscall"
	"testing"
)

// folders tells whether something has changed in folders: the kernel writes each change down at once.
type folders struct{ fd int }

func newFolders(tb testing.TB) *folders {
	tb.Helper()
	fd, err := syscall.InotifyInit1(syscall.IN_NONBLOCK | syscall.IN_CLOEXEC)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = syscall.Close(fd) })
	return &folders{fd}
}

// watch adds a folder, if it is not watched already.
func (f *folders) watch(path string) error {
	_, err := syscall.InotifyAddWatch(f.fd, path, syscall.IN_CREATE|syscall.IN_DELETE|syscall.IN_MOVE|syscall.IN_MODIFY)
	return err
}

// untouched reports whether nothing has changed since it was asked before.
func (f *folders) untouched() bool {
	buffer := make([]byte, 1<<16)
	changed := false
	for {
		_, err := syscall.Read(f.fd, buffer)
		switch {
		case errors.Is(err, syscall.EINTR):
		case errors.Is(err, syscall.EAGAIN):
			return !changed
		case err != nil:
			return false
		default:
			changed = true
		}
	}
}

// Package parent notices when another process ends, such as the one that started this one.
package parent

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// Watch returns a context that ends when the process of this id ends, or with ctx. The
// kernel tells of it through a descriptor of that process, so that a number that is used
// again by another process does not matter; where the kernel has none (before Linux 5.10)
// the process is looked for every half second. A process that is not there ends the
// context at once. Call stop in the end.
//
// PR_SET_PDEATHSIG would not do: it tells of the end of a thread of the parent, and holds
// for one thread of this program.
func Watch(ctx context.Context, pid int) (watched context.Context, stop func(), err error) {
	watched, cancel := context.WithCancelCause(ctx)
	gone := fmt.Errorf("process %d has ended", pid)
	fd, err := unix.PidfdOpen(pid, unix.PIDFD_NONBLOCK)
	switch {
	case errors.Is(err, unix.ESRCH):
		cancel(gone)
		return watched, func() {}, nil
	case errors.Is(err, unix.ENOSYS), errors.Is(err, unix.EINVAL), errors.Is(err, unix.EPERM):
		go look(watched, pid, func() { cancel(gone) })
		return watched, func() { cancel(nil) }, nil
	case err != nil:
		cancel(nil)
		return nil, nil, fmt.Errorf("watch process %d: %w", pid, err)
	}
	f := os.NewFile(uintptr(fd), "pidfd") // not blocking, so that Go waits for it as for a connection
	raw, err := f.SyscallConn()
	if err != nil {
		cancel(nil)
		return nil, nil, errors.Join(fmt.Errorf("watch process %d: %w", pid, err), f.Close())
	}
	// Ends with the process, or when stop closes the file.
	go func() {
		if err := raw.Read(func(fd uintptr) bool { return ended(int(fd)) }); err == nil {
			cancel(gone)
		}
	}()
	return watched, func() {
		cancel(nil)
		_ = f.Close()
	}, nil
}

// ended asks without waiting.
func ended(fd int) bool {
	n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 0)
	return n > 0 && err == nil
}

// look asks again and again.
func look(ctx context.Context, pid int, gone func()) {
	ticks := time.NewTicker(500 * time.Millisecond)
	defer ticks.Stop()
	for {
		if errors.Is(unix.Kill(pid, 0), unix.ESRCH) {
			gone()
			return
		}
		select {
		case <-ticks.C:
		case <-ctx.Done():
			return
		}
	}
}

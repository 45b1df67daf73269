package gitcmd

import (
	"bytes"
	"sync"

	"tenon/internal/base/gitstore"
)

// tail keeps the last few kilobytes written to it: what a process says on stderr.
type tail struct {
	mu  sync.Mutex
	buf []byte
}

const maxTail = 8 << 10

// Write never fails and never blocks the process.
func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.buf = append(t.buf, p...)
	if over := len(t.buf) - maxTail; over > 0 {
		t.buf = append(t.buf[:0], t.buf[over:]...)
	}
	return len(p), nil
}

// String returns what is kept, as valid UTF-8.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(bytes.ToValidUTF8(t.buf, []byte("\uFFFD")))
}

// capped collects output up to a limit; past it, it calls full, which ends the process.
type capped struct {
	buf  bytes.Buffer
	left int
	over bool
	full func()
}

// Write fails with ErrTooLarge once the limit is passed.
func (c *capped) Write(p []byte) (int, error) {
	if len(p) > c.left {
		c.over = true
		c.full()
		return 0, gitstore.ErrTooLarge
	}
	c.left -= len(p)
	return c.buf.Write(p)
}

package spool

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"
)

// Reader reads a file from its beginning.
type Reader struct {
	done *os.File // of a finished file
	size int64

	ctx     context.Context
	cache   *Cache
	key     string
	growing *file
	first   bool // its Open began the file

	at     int64 // guarded by the mutex of growing
	behind bool  // likewise
}

// Finished reports whether the file is complete: only then may it be used with Seek and
// Size.
func (r *Reader) Finished() bool { return r.done != nil }

// First reports whether it was this Open that began to make the file.
func (r *Reader) First() bool { return r.first }

// Size is the length of a finished file.
func (r *Reader) Size() int64 { return r.size }

// settle waits for the first content.
func (r *Reader) settle() error {
	if r.growing == nil {
		return nil
	}
	if err := r.growing.wait(r.ctx, 0); err != nil {
		return err
	}
	r.growing.mu.Lock()
	defer r.growing.mu.Unlock()
	if r.growing.size > 0 {
		return nil
	}
	return r.growing.err
}

// Await waits for the file to be finished, but not longer than d. A finished file is
// cheaper to send on. It is for readers that have read nothing yet.
func (r *Reader) Await(d time.Duration) error {
	if r.growing == nil {
		return nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	f := r.growing
	select { // not at every change: many may wait
	case <-f.over:
	case <-timer.C:
		return nil
	case <-r.ctx.Done():
		return context.Cause(r.ctx)
	}
	f.mu.Lock()
	live := f.live
	f.mu.Unlock()
	if live {
		return nil
	}
	return r.reopen()
}

// reopen turns a reader of a file that has ended into one of the finished file, if there
// is one.
func (r *Reader) reopen() error {
	done, err := r.cache.finished(r.cache.path(r.key))
	if err != nil || done == nil {
		return err
	}
	r.cache.leave(r.growing, r)
	r.done, r.size, r.growing = done.done, done.size, nil
	return nil
}

// Read returns content as soon as there is some; a failure of the maker takes the place of
// io.EOF.
func (r *Reader) Read(p []byte) (int, error) {
	if r.growing == nil {
		return r.done.Read(p)
	}
	if len(p) == 0 {
		return 0, nil
	}
	f := r.growing
	f.mu.Lock()
	at := r.at // no other caller moves it
	f.mu.Unlock()
	if err := f.wait(r.ctx, at); err != nil {
		return 0, err
	}
	f.mu.Lock()
	stored := f.size - int64(len(f.window))
	switch {
	case r.behind:
		f.mu.Unlock()
		return 0, errBehind
	case at < stored:
		f.mu.Unlock()
		n, err := f.disk.ReadAt(p[:min(int64(len(p)), stored-at)], at)
		if n == 0 && err != nil {
			return 0, fmt.Errorf("read cached file: %w", err)
		}
		f.mu.Lock()
		r.move(int64(n))
		f.mu.Unlock()
		return n, nil
	case at < f.size:
		n := copy(p, f.window[at-stored:])
		r.move(int64(n))
		f.mu.Unlock()
		return n, nil
	default:
		err := f.err
		f.mu.Unlock()
		if err == nil {
			err = io.EOF
		}
		return 0, err
	}
}

// move notes what was read; the mutex of the file is held.
func (r *Reader) move(n int64) {
	r.at += n
	if r.growing.live {
		r.growing.progress()
	}
}

// piece is how much of a finished file goes out in one system call.
const piece = 1 << 20

// WriteTo lets the kernel send a finished file, where w knows how to.
func (r *Reader) WriteTo(w io.Writer) (int64, error) {
	if r.done == nil {
		return io.CopyBuffer(struct{ io.Writer }{w}, struct{ io.Reader }{r}, make([]byte, 128<<10))
	}
	var sum int64
	for {
		n, err := io.Copy(w, io.LimitReader(r.done, piece))
		sum += n
		if err != nil || n == 0 {
			return sum, err
		}
	}
}

// Seek moves in a finished file.
func (r *Reader) Seek(offset int64, whence int) (int64, error) {
	if r.done == nil {
		return 0, errors.New("spool: seek in a file that grows")
	}
	return r.done.Seek(offset, whence)
}

// Close stops reading. The maker stops when no caller reads any more.
func (r *Reader) Close() error {
	if r.growing == nil {
		return r.done.Close()
	}
	r.cache.leave(r.growing, r)
	return nil
}

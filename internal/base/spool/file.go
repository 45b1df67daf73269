package spool

import (
	"context"
	"errors"
	"io"
	"os"
	"sync"
)

// file is a file that grows while others read it.
type file struct {
	disk    *os.File
	cancel  context.CancelFunc
	readers int // guarded by the cache's mutex

	mu    sync.Mutex
	size  int64
	ended bool
	err   error
	more  chan struct{} // closed at the next change
}

func newFile(disk *os.File) *file { return &file{disk: disk, more: make(chan struct{})} }

// Write adds to the file and wakes its readers.
func (f *file) Write(p []byte) (int, error) {
	n, err := f.disk.Write(p)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.size += int64(n)
	close(f.more)
	f.more = make(chan struct{})
	return n, err
}

func (f *file) finish(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.ended, f.err = true, err
	close(f.more)
	f.more = make(chan struct{})
}

// beyond waits until the file is longer than at, or will not grow any more.
func (f *file) beyond(ctx context.Context, at int64) (size int64, ended bool, err error) {
	for {
		f.mu.Lock()
		size, ended, err := f.size, f.ended, f.err
		more := f.more
		f.mu.Unlock()
		if size > at || ended {
			return size, ended, err
		}
		select {
		case <-more:
		case <-ctx.Done():
			return size, false, context.Cause(ctx)
		}
	}
}

// Reader reads a file from its beginning.
type Reader struct {
	done *os.File // of a finished file
	size int64

	ctx     context.Context //nolint:containedctx // of the request that reads along: it ends the waiting
	cache   *Cache
	key     string
	growing *file
	at      int64
}

// Finished reports whether the file was complete when it was opened: only then may it be
// used with Seek and Size.
func (r *Reader) Finished() bool { return r.done != nil }

// Size is the length of a finished file.
func (r *Reader) Size() int64 { return r.size }

// settle waits for the first content.
func (r *Reader) settle() error {
	if r.growing == nil {
		return nil
	}
	_, _, err := r.growing.beyond(r.ctx, 0)
	return err
}

// Read gives content as soon as there is some; a failure of the maker takes the place of
// io.EOF.
func (r *Reader) Read(p []byte) (int, error) {
	if r.growing == nil {
		return r.done.Read(p)
	}
	size, _, err := r.growing.beyond(r.ctx, r.at)
	if size <= r.at {
		if err == nil {
			err = io.EOF
		}
		return 0, err
	}
	n, err := r.growing.disk.ReadAt(p[:min(int64(len(p)), size-r.at)], r.at)
	r.at += int64(n)
	if errors.Is(err, io.EOF) && n > 0 {
		err = nil
	}
	return n, err
}

// Seek moves in a finished file.
func (r *Reader) Seek(offset int64, whence int) (int64, error) {
	if r.done == nil {
		return 0, errors.New("spool: seek in a file that grows")
	}
	return r.done.Seek(offset, whence)
}

// Close stops reading. The maker stops when nobody reads any more.
func (r *Reader) Close() error {
	if r.growing == nil {
		return r.done.Close()
	}
	r.cache.leave(r.growing)
	return nil
}

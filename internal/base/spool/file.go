package spool

import (
	"context"
	"errors"
	"os"
	"sync"
	"time"
)

// file is what a maker makes while others read it. It grows on disk as far as there is
// room; what is beyond that is handed to the readers piece by piece, as fast as the
// slowest of them takes it, and not kept.
type file struct {
	disk    *os.File        // nil where none could be made
	most    int64           // bytes on disk
	making  context.Context // of the maker, which waits for readers while it writes
	cancel  context.CancelFunc
	readers int // guarded by the cache's mutex

	room func(n int64) bool // asks the cache for so many more bytes of the disk
	held int64              // bytes it gave; the maker's until it ends

	mu      sync.Mutex
	size    int64
	window  []byte // the end of what was made, where the disk does not have it
	live    bool   // the disk gets no more; guards against new readers, who could not begin
	reading map[*Reader]struct{}
	ended   bool
	err     error
	more    chan struct{} // closed at the next change
	over    chan struct{} // closed when it has ended or is live
	taken   chan struct{} // closed when a reader has moved on in the window
}

func newFile(disk *os.File, most int64, room func(n int64) bool) *file {
	f := &file{
		disk: disk, most: most, room: room, live: disk == nil, reading: map[*Reader]struct{}{},
		more: make(chan struct{}), over: make(chan struct{}), taken: make(chan struct{}),
	}
	if f.live {
		close(f.over)
	}
	return f
}

// holdUp is how long one reader may keep the others waiting.
const holdUp = 30 * time.Second

var errBehind = errors.New("spool: reader fell behind")

// Write adds to the file and wakes its readers.
func (f *file) Write(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	if !f.live && f.size+int64(len(p)) <= f.most && f.room(int64(len(p))) { // no other caller changes size and live
		f.held += int64(len(p))
		if _, err := f.disk.WriteAt(p, f.size); err == nil {
			f.change(func() { f.size += int64(len(p)) })
			return len(p), nil
		}
	}
	f.change(func() {
		if !f.live && !f.ended {
			close(f.over)
		}
		f.live = true
		f.window = p
		f.size += int64(len(p))
	})
	return len(p), f.handOut()
}

// change changes what readers see and wakes them.
func (f *file) change(fn func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	fn()
	close(f.more)
	f.more = make(chan struct{})
}

// handOut waits until every reader has the window. One that makes others wait too long
// is left behind.
func (f *file) handOut() error {
	timer := time.NewTimer(holdUp)
	defer timer.Stop()
	late := false
	for {
		f.mu.Lock()
		waiting := 0
		for r := range f.reading {
			switch {
			case r.at == f.size:
			case late && len(f.reading) > 1:
				r.behind = true
				delete(f.reading, r)
			default:
				waiting++
			}
		}
		if waiting == 0 {
			f.window = nil
			f.mu.Unlock()
			return context.Cause(f.making) // no caller may be left
		}
		taken := f.taken
		f.mu.Unlock()
		select {
		case <-taken:
		case <-timer.C:
			late = true
			timer.Reset(holdUp)
		case <-f.making.Done():
			return context.Cause(f.making)
		}
	}
}

// join adds a reader, unless what it would have to begin with is gone.
func (f *file) join(r *Reader) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.live && (f.size > 0 || len(f.reading) > 0) {
		return false
	}
	f.reading[r] = struct{}{}
	return true
}

// part takes a reader off.
func (f *file) part(r *Reader) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.reading, r)
	f.progress()
}

// progress tells the maker that a reader has moved; f.mu is held.
func (f *file) progress() {
	close(f.taken)
	f.taken = make(chan struct{})
}

func (f *file) finish(err error) {
	f.change(func() {
		if !f.live {
			close(f.over)
		}
		f.ended, f.err = true, err
	})
}

// kept reports whether the disk has all of it.
func (f *file) kept() bool { return !f.live }

// wait returns when the file is longer than at, or will not grow any more.
func (f *file) wait(ctx context.Context, at int64) error {
	for {
		f.mu.Lock()
		size, ended, more := f.size, f.ended, f.more
		f.mu.Unlock()
		if size > at || ended {
			return nil
		}
		select {
		case <-more:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

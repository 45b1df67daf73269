// Package spool keeps files that are expensive to make: the first who asks for one makes it,
// everybody who asks meanwhile reads along while it grows, and later ones read it from
// disk until it is displaced.
package spool

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Config bounds a cache.
type Config struct {
	Dir     string // made when needed; everything in it belongs to the cache
	Bytes   int64  // size of all finished files together, the least recently used ones go first, and of the others
	Files   int    // number of finished files, likewise
	Makers  int    // files made at a time; more wait
	Fresh   bool   // begin empty, which saves waiting for the disk
	OnError func(error)
}

// Cache is a folder of finished files and the files that are being made. It is safe for
// concurrent use, and one folder has one Cache.
type Cache struct {
	config Config
	makers chan struct{}

	hits, misses atomic.Uint64 // calls of Open, without and with a maker

	mu      sync.Mutex
	growing map[string]*file
	bytes   int64 // of finished files
	open    int64 // of files that are made or read along, which slow readers may hold for long
	files   int
	work    sync.WaitGroup
	closed  bool

	tidying sync.Mutex
}

// ErrClosed is the error of calls after Close.
var ErrClosed = errors.New("spool is closed")

// ErrUnkept is what a maker returns for a file that is whole and good for those who read
// it, but not for later ones.
var ErrUnkept = errors.New("spool: not to be kept")

// New returns the cache in a folder. What an earlier process left unfinished is removed.
func New(c Config) (*Cache, error) {
	if c.Bytes <= 0 {
		c.Bytes = 1 << 30
	}
	if c.Files <= 0 {
		c.Files = 10_000
	}
	if c.Makers <= 0 {
		c.Makers = 4
	}
	if c.OnError == nil {
		c.OnError = func(error) {}
	}
	if err := os.MkdirAll(c.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("make cache folder: %w", err)
	}
	left, err := os.ReadDir(c.Dir)
	if err != nil {
		return nil, fmt.Errorf("look for unfinished files: %w", err)
	}
	cache := &Cache{config: c, makers: make(chan struct{}, c.Makers), growing: map[string]*file{}}
	for _, e := range left {
		if c.Fresh || e.Name()[0] == '.' {
			_ = os.Remove(cache.path(e.Name())) // the next start tries again
		} else if info, err := e.Info(); err == nil {
			cache.bytes, cache.files = cache.bytes+info.Size(), cache.files+1
		}
	}
	return cache, nil
}

func (c *Cache) path(key string) string { return filepath.Join(c.config.Dir, key) }

// Stats returns how many calls of Open found their file, how many had it made, and the bytes
// of all finished files.
func (c *Cache) Stats() (hits, misses uint64, bytes int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.hits.Load(), c.misses.Load(), c.bytes
}

// Make writes the content of a file; it stops early when ctx ends.
type Make func(ctx context.Context, out io.Writer) error

// Open returns the file of a key, which may hold letters, digits, dots and dashes. A
// finished file is Seekable. The maker runs until the last reader is closed, whatever
// becomes of the ctx of the one who came first. Open returns when the file has some
// content or its maker has failed, with the maker's error. A disk without room only keeps
// the file from being kept and shared.
func (c *Cache) Open(ctx context.Context, key string, fill Make) (*Reader, error) {
	if done, err := c.finished(c.path(key)); done != nil || err != nil {
		c.hits.Add(1)
		return done, err
	}
	r, err := c.join(ctx, key, fill)
	if err != nil {
		return nil, err
	}
	if r.first {
		c.misses.Add(1)
	} else {
		c.hits.Add(1)
	}
	if err := r.settle(); err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
}

// finished opens a file that is there, and marks it as used now.
func (c *Cache) finished(path string) (*Reader, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("open cached file: %w", err)
	}
	info, err := f.Stat()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open cached file: %w", err), f.Close())
	}
	now := time.Now()
	_ = os.Chtimes(path, now, now) // it may have been displaced; we hold it open
	return &Reader{done: f, size: info.Size()}, nil
}

// join makes a reader of a file that grows, and starts its maker where there is none.
func (c *Cache) join(ctx context.Context, key string, fill Make) (*Reader, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil, ErrClosed
	}
	r := &Reader{ctx: ctx, cache: c, key: key}
	f := c.growing[key]
	if f == nil || !f.join(r) {
		if done, err := c.finished(c.path(key)); done != nil || err != nil { // finished while we waited for the lock
			return done, err
		}
		tmp, err := os.CreateTemp(c.config.Dir, ".making-*")
		if err != nil {
			tmp = nil
			c.config.OnError(fmt.Errorf("make cached file: %w", err))
		}
		f = newFile(tmp, c.config.Bytes/2, c.room)
		f.making, f.cancel = context.WithCancel(context.WithoutCancel(ctx))
		f.join(r)
		r.first = true
		c.growing[key] = f
		c.work.Go(func() { c.make(key, f, fill) })
	}
	f.readers++
	r.growing = f
	return r, nil
}

// make runs a maker and gives the file its name.
func (c *Cache) make(key string, f *file, fill Make) {
	defer f.cancel()
	err := f.making.Err()
	select {
	case c.makers <- struct{}{}:
		if err == nil {
			err = fill(f.making, f)
		}
		<-c.makers
	case <-f.making.Done():
		err = f.making.Err()
	}
	passing := errors.Is(err, ErrUnkept)
	if passing {
		err = nil
	}
	if f.disk != nil {
		if err != nil || passing || !f.kept() || !c.keep(key, f) {
			_ = os.Remove(f.disk.Name()) // readers that have it open keep it until they close
		}
	}
	c.mu.Lock()
	if c.growing[key] == f {
		delete(c.growing, key)
	}
	c.mu.Unlock()
	f.finish(err)
	c.leave(f, nil)
}

// keep gives a file its name and makes room for it. Readers have what they want even
// where that fails.
func (c *Cache) keep(key string, f *file) bool {
	var err error
	if !c.config.Fresh {
		err = f.disk.Sync()
	}
	if err == nil {
		err = os.Rename(f.disk.Name(), c.path(key))
	}
	if err != nil {
		c.config.OnError(fmt.Errorf("keep file in cache: %w", err))
		return false
	}
	c.mu.Lock()
	c.bytes, c.files = c.bytes+f.size, c.files+1
	full := c.bytes > c.config.Bytes || c.files > c.config.Files
	c.mu.Unlock()
	if full {
		c.tidy()
	}
	return true
}

// room returns a growing file so many more bytes of the disk, as long as all of them have no
// more than the finished ones may have.
func (c *Cache) room(n int64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.open+n > c.config.Bytes {
		return false
	}
	c.open += n
	return true
}

// leave counts a user of a growing file off; the last one closes it. The maker, whose
// reader is nil, is a user.
func (c *Cache) leave(f *file, r *Reader) {
	c.mu.Lock()
	f.readers--
	last, idle := f.readers < 0, f.readers == 0
	if idle {
		for key, g := range c.growing {
			if g == f {
				delete(c.growing, key) // a caller who comes now starts again
			}
		}
	}
	if last {
		c.open -= f.held
	}
	c.mu.Unlock()
	if r != nil {
		f.part(r)
	}
	if idle {
		f.cancel()
	}
	if last && f.disk != nil {
		_ = f.disk.Close() // everything is written, or of no use
	}
}

// tidy removes the files that were not used for the longest time until the rest fits,
// and a tenth more in number, so that it need not look at all of them each time.
func (c *Cache) tidy() {
	c.tidying.Lock()
	defer c.tidying.Unlock()
	entries, err := os.ReadDir(c.config.Dir)
	if err != nil {
		c.config.OnError(fmt.Errorf("tidy cache: %w", err))
		return
	}
	var files []fs.FileInfo
	var sum int64
	for _, e := range entries {
		info, err := e.Info()
		if err != nil || !info.Mode().IsRegular() || e.Name()[0] == '.' {
			continue
		}
		files, sum = append(files, info), sum+info.Size()
	}
	slices.SortFunc(files, func(a, b fs.FileInfo) int { return a.ModTime().Compare(b.ModTime()) })
	left, most := len(files), c.config.Files
	if left > most {
		most -= most / 10
	}
	for _, info := range files {
		if sum <= c.config.Bytes && left <= most {
			break
		}
		if err := os.Remove(c.path(info.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
			c.config.OnError(fmt.Errorf("tidy cache: %w", err))
			break
		}
		sum, left = sum-info.Size(), left-1
	}
	c.mu.Lock()
	c.bytes, c.files = sum, left
	c.mu.Unlock()
}

// Close stops every maker and waits for them.
func (c *Cache) Close() error {
	c.mu.Lock()
	c.closed = true
	for _, f := range c.growing {
		f.cancel()
	}
	c.mu.Unlock()
	c.work.Wait()
	return nil
}

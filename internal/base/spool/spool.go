// Package spool keeps files that are dear to make: the first who asks for one makes it,
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
	"time"
)

// Config bounds a cache.
type Config struct {
	Dir     string // made when needed; everything in it belongs to the cache
	Bytes   int64  // size of all finished files together; the ones least lately used go first
	Makers  int    // files made at a time; more wait
	OnError func(error)
}

// Cache is a folder of finished files and the files that are being made. It is safe for
// concurrent use, and one folder has one Cache.
type Cache struct {
	config Config
	makers chan struct{}

	mu      sync.Mutex
	growing map[string]*file
	tidying sync.Mutex
	work    sync.WaitGroup
	closed  bool
}

// ErrClosed is the error of calls after Close.
var ErrClosed = errors.New("spool is closed")

// New gives the cache in a folder. What an earlier process left unfinished is removed.
func New(c Config) (*Cache, error) {
	if c.Bytes <= 0 {
		c.Bytes = 1 << 30
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
	left, err := filepath.Glob(filepath.Join(c.Dir, ".making-*"))
	if err != nil {
		return nil, fmt.Errorf("look for unfinished files: %w", err)
	}
	for _, name := range left {
		_ = os.Remove(name) // the next start tries again
	}
	return &Cache{config: c, makers: make(chan struct{}, c.Makers), growing: map[string]*file{}}, nil
}

// Make writes the content of a file; it stops early when ctx ends.
type Make func(ctx context.Context, out io.Writer) error

// Open gives the file of a key, which may hold letters, digits, dots and dashes. A
// finished file is Seekable. The maker runs until the last reader is closed, whatever
// becomes of the ctx of the one who came first. Open returns when the file has some
// content or its maker has failed, with the maker's error.
func (c *Cache) Open(ctx context.Context, key string, fill Make) (*Reader, error) {
	path := filepath.Join(c.config.Dir, key)
	if done, err := c.finished(path); done != nil || err != nil {
		return done, err
	}
	r, err := c.join(ctx, key, path, fill)
	if err != nil {
		return nil, err
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
func (c *Cache) join(ctx context.Context, key, path string, fill Make) (*Reader, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil, ErrClosed
	}
	f := c.growing[key]
	if f == nil {
		if done, err := c.finished(path); done != nil || err != nil { // finished while we waited for the lock
			return done, err
		}
		tmp, err := os.CreateTemp(c.config.Dir, ".making-*")
		if err != nil {
			return nil, fmt.Errorf("make cached file: %w", err)
		}
		f = newFile(tmp)
		making, cancel := context.WithCancel(context.WithoutCancel(ctx))
		f.cancel = cancel
		c.growing[key] = f
		c.work.Go(func() { c.make(making, key, path, f, fill) })
	}
	f.readers++
	return &Reader{ctx: ctx, cache: c, key: key, growing: f}, nil
}

// make runs a maker and gives the file its name.
func (c *Cache) make(ctx context.Context, key, path string, f *file, fill Make) {
	defer f.cancel()
	err := ctx.Err()
	select {
	case c.makers <- struct{}{}:
		if err == nil {
			err = fill(ctx, f)
		}
		<-c.makers
	case <-ctx.Done():
		err = ctx.Err()
	}
	if err == nil {
		err = os.Rename(f.disk.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.disk.Name()) // readers that have it open keep it until they close
	}
	c.mu.Lock()
	if c.growing[key] == f {
		delete(c.growing, key)
	}
	c.mu.Unlock()
	f.finish(err)
	if err == nil {
		c.tidy()
	}
	c.leave(f)
}

// leave counts a user of a growing file off; the last one closes it. The maker is a user.
func (c *Cache) leave(f *file) {
	c.mu.Lock()
	f.readers--
	last, idle := f.readers < 0, f.readers == 0
	if idle {
		for key, g := range c.growing {
			if g == f {
				delete(c.growing, key) // whoever comes now begins anew
			}
		}
	}
	c.mu.Unlock()
	if idle {
		f.cancel()
	}
	if last {
		_ = f.disk.Close() // everything is written, or of no use
	}
}

// tidy removes the files that were not used for the longest time until the rest fits.
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
	for _, info := range files {
		if sum <= c.config.Bytes {
			return
		}
		if err := os.Remove(filepath.Join(c.config.Dir, info.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
			c.config.OnError(fmt.Errorf("tidy cache: %w", err))
			return
		}
		sum -= info.Size()
	}
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

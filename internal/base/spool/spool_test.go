package spool_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"tenon/internal/base/spool"
)

func open(t *testing.T, bytes int64) (*spool.Cache, string) {
	t.Helper()
	dir := t.TempDir()
	c, err := spool.New(spool.Config{Dir: dir, Bytes: bytes})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c, dir
}

func write(text string, count *atomic.Int64) spool.Make {
	return func(_ context.Context, out io.Writer) error {
		count.Add(1)
		_, err := io.WriteString(out, text)
		return err
	}
}

func read(t *testing.T, r *spool.Reader, err error) string {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(r)
	if err != nil {
		t.Error(err)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	return string(b)
}

// However many ask at once, a file is made once, and all see all of it.
func TestCache_Open_together(t *testing.T) {
	t.Parallel()
	c, _ := open(t, 0)
	var made atomic.Int64
	begun, release := make(chan struct{}), make(chan struct{})
	slow := func(_ context.Context, out io.Writer) error {
		made.Add(1)
		if _, err := out.Write(bytes.Repeat([]byte("a"), 100_000)); err != nil {
			return err
		}
		close(begun)
		<-release
		_, err := out.Write(bytes.Repeat([]byte("b"), 100_000))
		return err
	}
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			r, err := c.Open(t.Context(), "x", slow)
			if got := read(t, r, err); len(got) != 200_000 || strings.Count(got, "a") != 100_000 {
				t.Errorf("got %d bytes", len(got))
			}
		})
	}
	<-begun
	close(release)
	all.Wait()
	r, err := c.Open(t.Context(), "x", slow)
	if got := read(t, r, err); len(got) != 200_000 || made.Load() != 1 {
		t.Errorf("got %d bytes, made %d times", len(got), made.Load())
	}
}

// A finished file may be read from the middle.
func TestReader_Seek(t *testing.T) {
	t.Parallel()
	c, _ := open(t, 0)
	var made atomic.Int64
	r, err := c.Open(t.Context(), "x", write("hello", &made))
	read(t, r, err)
	// The name appears before the last reader has seen the end.
	r, err = c.Open(t.Context(), "x", write("other", &made))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if !r.Finished() || r.Size() != 5 {
		t.Fatalf("finished %v, size %d", r.Finished(), r.Size())
	}
	if _, err := r.Seek(3, io.SeekStart); err != nil {
		t.Fatal(err)
	}
	if b, err := io.ReadAll(r); err != nil || string(b) != "lo" {
		t.Errorf("got %q, %v", b, err)
	}
}

// The error of a maker reaches a caller who waits, leaves nothing behind, and is not kept.
func TestCache_Open_failure(t *testing.T) {
	t.Parallel()
	c, dir := open(t, 0)
	broken := errors.New("broken")
	_, err := c.Open(t.Context(), "x", func(context.Context, io.Writer) error { return broken })
	if !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
	r, err := c.Open(t.Context(), "y", func(_ context.Context, out io.Writer) error {
		_, err := io.WriteString(out, "half")
		return errors.Join(err, broken)
	})
	if err == nil {
		_, err = io.ReadAll(r)
		_ = r.Close()
	}
	if !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
	var made atomic.Int64
	r, err = c.Open(t.Context(), "x", write("now", &made))
	if got := read(t, r, err); got != "now" {
		t.Errorf("got %q", got)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 || entries[0].Name() != "x" {
		t.Errorf("left %v, %v", entries, err)
	}
}

// A maker whose readers have all gone is stopped; one of several readers going away
// stops nothing.
func TestReader_Close_stopsMaker(t *testing.T) {
	t.Parallel()
	c, dir := open(t, 0)
	stopped := make(chan struct{})
	endless := func(ctx context.Context, out io.Writer) error {
		if _, err := io.WriteString(out, "x"); err != nil {
			return err
		}
		<-ctx.Done()
		close(stopped)
		return ctx.Err()
	}
	gone, cancel := context.WithCancel(t.Context())
	first, err := c.Open(gone, "x", endless)
	if err != nil {
		t.Fatal(err)
	}
	second, err := c.Open(t.Context(), "x", endless)
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	if _, err := io.ReadAll(first); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	_ = first.Close()
	select {
	case <-stopped:
		t.Error("stopped while somebody reads")
	default:
	}
	_ = second.Close()
	<-stopped
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 0 {
		t.Errorf("left %v, %v", entries, err)
	}
	if _, err := c.Open(t.Context(), "x", endless); !errors.Is(err, spool.ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
}

// The cache keeps to its size.
func TestCache_tidy(t *testing.T) {
	t.Parallel()
	c, dir := open(t, 25)
	var made atomic.Int64
	for _, key := range []string{"a", "b", "c", "d"} {
		r, err := c.Open(t.Context(), key, write("0123456789", &made))
		read(t, r, err)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 2 {
		t.Errorf("left %v, %v", entries, err)
	}
}

// What a killed process left unfinished is removed.
func TestNew_removesUnfinished(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(dir+"/.making-1", []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := spool.New(spool.Config{Dir: dir}); err != nil {
		t.Fatal(err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 0 {
		t.Errorf("left %v, %v", entries, err)
	}
}

// What does not fit on the disk is read to its end all the same, by everybody who began
// in time, and is not kept.
func TestCache_Open_withoutRoom(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(t *testing.T, dir string){
		"too large": func(*testing.T, string) {},
		"no disk": func(t *testing.T, dir string) {
			if err := os.RemoveAll(dir); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, dir := open(t, 2000)
			spoil(t, dir)
			begun, release := make(chan struct{}, 3), make(chan struct{})
			large := func(_ context.Context, out io.Writer) error {
				for i := range 50 {
					if _, err := out.Write(bytes.Repeat([]byte{byte('a' + i%26)}, 100)); err != nil {
						return err
					}
					if i == 0 && name == "too large" { // without a disk it is read before it goes on
						begun <- struct{}{}
						<-release
					}
				}
				return nil
			}
			first, err := c.Open(t.Context(), "x", large)
			if err != nil {
				t.Fatal(err)
			}
			rest := []*spool.Reader{first}
			if name == "too large" {
				<-begun
				for range 2 {
					r, err := c.Open(t.Context(), "x", large)
					if err != nil || r.First() {
						t.Fatalf("%v, first %v", err, r.First())
					}
					rest = append(rest, r)
				}
			}
			close(release)
			var all sync.WaitGroup
			for _, r := range rest {
				all.Go(func() {
					if got := read(t, r, nil); len(got) != 5000 || strings.Count(got, "a") != 200 || strings.Count(got, "z") != 100 {
						t.Errorf("got %d bytes", len(got))
					}
				})
			}
			all.Wait()
			if err := c.Close(); err != nil {
				t.Error(err)
			}
			if entries, err := os.ReadDir(dir); name == "too large" && (err != nil || len(entries) != 0) {
				t.Errorf("left %v, %v", entries, err)
			}
		})
	}
}

// A reader that does not take what the disk cannot hold ends its maker by leaving.
func TestReader_Close_inWindow(t *testing.T) {
	t.Parallel()
	c, _ := open(t, 20)
	stopped := make(chan error, 1)
	r, err := c.Open(t.Context(), "x", func(_ context.Context, out io.Writer) error {
		for {
			if _, err := out.Write(make([]byte, 100)); err != nil {
				stopped <- err
				return err
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(r, make([]byte, 150)); err != nil {
		t.Fatal(err)
	}
	_ = r.Close()
	if err := <-stopped; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// Waiting for the end makes a growing file a finished one.
func TestReader_Await(t *testing.T) {
	t.Parallel()
	c, _ := open(t, 0)
	release := make(chan struct{})
	slow := func(_ context.Context, out io.Writer) error {
		_, err := io.WriteString(out, "hello ")
		<-release
		_, err2 := io.WriteString(out, "world")
		return errors.Join(err, err2)
	}
	r, err := c.Open(t.Context(), "x", slow)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Await(0); err != nil || r.Finished() {
		t.Fatalf("finished %v, %v", r.Finished(), err)
	}
	close(release)
	if err := r.Await(time.Minute); err != nil || !r.Finished() || r.Size() != 11 {
		t.Errorf("finished %v, %v", r.Finished(), err)
	}
	var out bytes.Buffer
	if _, err := io.Copy(&out, r); err != nil || out.String() != "hello world" {
		t.Errorf("got %q, %v", out.String(), err)
	}
	_ = r.Close()
}

// The cache keeps to its number of files, and a fresh one begins with none.
func TestCache_files(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	c, err := spool.New(spool.Config{Dir: dir, Files: 10})
	if err != nil {
		t.Fatal(err)
	}
	var made atomic.Int64
	for i := range 30 {
		r, err := c.Open(t.Context(), fmt.Sprint("k", i), write("x", &made))
		read(t, r, err)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) > 10 || len(entries) < 9 {
		t.Errorf("left %d, %v", len(entries), err)
	}
	if _, err := spool.New(spool.Config{Dir: dir, Fresh: true}); err != nil {
		t.Fatal(err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 0 {
		t.Errorf("left %v, %v", entries, err)
	}
}

// Readers that take nothing hold the disk for as long as they like, but never more of it
// than the cache may have: what comes after them is handed on without being kept.
func TestCache_Open_heldByReaders(t *testing.T) {
	t.Parallel()
	c, dir := open(t, 2000)
	text := strings.Repeat("0123456789", 90)
	var made atomic.Int64
	idle := make([]*spool.Reader, 2)
	for i, key := range []string{"a", "b"} {
		r, err := c.Open(t.Context(), key, write(text, &made))
		if err != nil {
			t.Fatal(err)
		}
		idle[i] = r
	}
	for range 2 {
		r, err := c.Open(t.Context(), "c", write(text, &made))
		if got := read(t, r, err); got != text {
			t.Errorf("got %d bytes, want %d", len(got), len(text))
		}
	}
	if n := made.Load(); n != 4 {
		t.Errorf("made %d files, want each reader of the last to have its own", n)
	}
	for _, r := range idle {
		if got := read(t, r, nil); got != text {
			t.Errorf("the idle reader got %d bytes, want %d", len(got), len(text))
		}
	}
	r, err := c.Open(t.Context(), "d", write(text, &made))
	read(t, r, err)
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "d")); err != nil {
		t.Errorf("when there is room again: %v", err)
	}
}

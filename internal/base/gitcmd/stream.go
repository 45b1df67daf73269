package gitcmd

import (
	"context"
	"fmt"
	"io"
	"os/exec"
	"sync"
	"sync/atomic"
)

// stream is the output of a process that runs while it is read.
type stream struct {
	git    *Git
	ctx    context.Context
	cancel context.CancelFunc
	done   func()
	cmd    *exec.Cmd
	out    io.ReadCloser
	name   string
	said   tail
	eof    atomic.Bool // the goroutine that closes need not be the one that reads
	once   sync.Once
	err    error
}

// stream starts a process and returns its output; Close ends it.
func (g *Git) stream(ctx context.Context, c call) (*stream, error) {
	done, err := g.permit(ctx, c.load)
	if err != nil {
		return nil, err
	}
	s := &stream{git: g, done: done, name: c.args[0]}
	s.ctx, s.cancel = context.WithCancel(ctx)
	c.stderr = &s.said
	s.cmd = g.command(s.ctx, c)
	if s.out, err = s.cmd.StdoutPipe(); err == nil {
		err = g.start(s.cmd)
	}
	if err != nil {
		s.cancel()
		done()
		return nil, fmt.Errorf("start git: %w", err)
	}
	return s, nil
}

// Read returns output; a failure of the process takes the place of io.EOF.
func (s *stream) Read(p []byte) (int, error) {
	n, err := s.out.Read(p)
	if err == nil {
		return n, nil
	}
	s.eof.Store(err == io.EOF)
	if failed := s.finish(); failed != nil {
		return n, failed
	}
	return n, err
}

// Close ends the process. Stopping before the end is no error.
func (s *stream) Close() error {
	if !s.eof.Load() {
		s.cancel()
		_ = s.finish()
		return nil
	}
	return s.finish()
}

func (s *stream) finish() error {
	s.once.Do(func() {
		s.err = s.git.wait(s.ctx, s.cmd, s.name, &s.said)
		s.cancel()
		s.done()
	})
	return s.err
}

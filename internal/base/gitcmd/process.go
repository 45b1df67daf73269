package gitcmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

// waitDelay is how long a process that was ended, or whose input does not, may hold up its caller.
const waitDelay = 2 * time.Second

// command prepares a process in a group of its own, so that its children end with it.
func (g *Git) command(ctx context.Context, c call) *exec.Cmd {
	args := make([]string, 0, 2*len(c.config)+len(c.args))
	for _, kv := range c.config {
		args = append(args, "-c", kv)
	}
	args = append(args, c.args...)
	cmd := exec.CommandContext(ctx, g.config.Binary, args...)
	cmd.Env = append(g.env[:len(g.env):len(g.env)], c.env...)
	cmd.Dir = g.config.Root
	if c.repo != nil {
		cmd.Dir = c.repo.path
		cmd.Env = append(cmd.Env, "GIT_DIR="+c.repo.path)
		if c.repo.objects != "" {
			cmd.Env = append(cmd.Env, "GIT_OBJECT_DIRECTORY="+c.repo.objects,
				"GIT_ALTERNATE_OBJECT_DIRECTORIES="+filepath.Join(c.repo.path, "objects"))
		}
	}
	if c.repo != nil && cmd.Err == nil {
		cmd.Err = c.repo.spill(ctx)
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = c.stdin, c.stdout, c.stderr
	cmd.SysProcAttr = withServer(&syscall.SysProcAttr{Setpgid: true})
	cmd.Cancel = func() error { return killGroup(cmd) }
	cmd.WaitDelay = waitDelay
	return cmd
}

func killGroup(cmd *exec.Cmd) error {
	if cmd.Process == nil || cmd.Process.Pid <= 1 {
		return nil
	}
	return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
}

// start counts and starts a prepared process.
func (g *Git) start(cmd *exec.Cmd) error {
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start git: %w", err)
	}
	g.started.Add(1)
	g.running.Add(1)
	return nil
}

// wait reaps a process that start began and types its failure.
func (g *Git) wait(ctx context.Context, cmd *exec.Cmd, name string, said *tail) error {
	err := cmd.Wait()
	g.running.Add(-1)
	if err == nil {
		return nil
	}
	e := &Error{Command: name, Code: -1, Stderr: said.String(), Err: err}
	if cmd.ProcessState != nil {
		e.Code = cmd.ProcessState.ExitCode()
	}
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		e.Err = nil
	}
	if ctx.Err() != nil {
		e.Err = context.Cause(ctx)
	}
	return e
}

// load is a kind of work, of which only so much is done at a time. One kind does not wait
// for another where clients hold it up: whoever sends a pack slowly, or reads a large file
// slowly, keeps nobody from a clone. What a push makes necessary while it waits is long
// or brief, never a push.
type load int

const (
	brief    load = iota
	long          // archives, copies between repositories, housekeeping
	fetching      // upload-pack
	pushing       // receive-pack
	reading       // large files and diffs, as fast as a client takes them
	loads
)

// permit waits for one of the processes that may run at a time; give it back by calling the function.
func (g *Git) permit(ctx context.Context, l load) (func(), error) {
	gate := g.permits[l]
	select {
	case gate <- struct{}{}:
		return func() { <-gate }, nil
	case <-ctx.Done():
		return nil, fmt.Errorf("wait for a git process: %w", context.Cause(ctx))
	}
}

// run runs a process to its end.
func (g *Git) run(ctx context.Context, c call) error {
	done, err := g.permit(ctx, c.load)
	if err != nil {
		return err
	}
	defer done()
	var said tail
	if c.stderr == nil {
		c.stderr = &said
	} else {
		c.stderr = io.MultiWriter(&said, c.stderr)
	}
	in := c.stdin
	c.stdin = nil
	cmd := g.command(ctx, c)
	if in == nil {
		if err := g.start(cmd); err != nil {
			return err
		}
		return g.wait(ctx, cmd, c.args[0], &said)
	}
	pipe, err := cmd.StdinPipe()
	if err != nil {
		return fmt.Errorf("start git: %w", err)
	}
	if err := g.start(cmd); err != nil {
		return err
	}
	go feed(pipe, in)
	return g.wait(ctx, cmd, c.args[0], &said)
}

// output runs a process and gives what it printed, at most limit bytes; more is ErrTooLarge.
func (g *Git) output(ctx context.Context, c call, limit int) ([]byte, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	out := capped{left: limit, full: cancel}
	c.stdout = &out
	if err := g.run(ctx, c); err != nil {
		if out.over {
			return nil, fmt.Errorf("git %s: answer of more than %d bytes: %w", c.args[0], limit, ErrTooLarge)
		}
		return nil, err
	}
	return out.buf.Bytes(), nil
}

// feed copies input to a process. It is not waited for, because a client may neither
// send nor go away after the process has ended: it ends when the input does, which for
// the body of a request is the end of its handler at the latest.
func feed(pipe io.WriteCloser, in io.Reader) {
	_, _ = io.Copy(pipe, in) // a process that stops reading says why by its exit code
	_ = pipe.Close()
}

package gitcmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"tenon/internal/base/gitstore"
	"tenon/internal/base/intx"
)

// waitDelay is how long a process that was ended may hold up its caller.
const waitDelay = 2 * time.Second

// command prepares a process in a group of its own, so that its children end with it.
func (g *Git) command(ctx context.Context, c call) *exec.Cmd {
	intx.MustNot(ctx, "git is started")
	args := make([]string, 0, 2*len(c.config)+len(c.args))
	for _, kv := range c.config {
		args = append(args, "-c", kv)
	}
	args = append(args, c.args...)
	cmd := exec.CommandContext(ctx, g.config.Binary, args...)
	cmd.Env = append(g.env[:len(g.env):len(g.env)], c.env...)
	if cmd.Dir = g.config.Root; c.anywhere {
		cmd.Dir = "/"
	}
	if c.repo != nil {
		cmd.Dir = c.repo.Path()
		cmd.Env = append(cmd.Env, "GIT_DIR="+c.repo.Path())
		if objects := c.repo.NewObjects(); objects != "" {
			cmd.Env = append(cmd.Env, "GIT_OBJECT_DIRECTORY="+objects,
				"GIT_ALTERNATE_OBJECT_DIRECTORIES="+filepath.Join(c.repo.Path(), "objects"))
		}
	}
	if c.repo != nil && cmd.Err == nil {
		cmd.Err = c.repo.Spill(ctx)
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

// load is a kind of work with a limit of its own. One kind does not wait
// for another where clients hold it up: a client that sends a pack slowly, or reads a large file
// slowly, keeps no other client from a clone. What a push makes necessary while it waits is long
// or brief, never a push.
type load int

const (
	brief     load = iota
	long           // archives, copies between repositories, housekeeping
	fetching       // upload-pack
	pushing        // receive-pack
	remote         // what waits for another server
	reading        // large files and diffs, as fast as a client takes them
	searching      // texts in all files or commits of a repository
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
	outputs, err := pipes(cmd)
	if err != nil {
		return fmt.Errorf("start git: %w", err)
	}
	var pipe io.WriteCloser
	if in != nil {
		if pipe, err = cmd.StdinPipe(); err != nil {
			return fmt.Errorf("start git: %w", err)
		}
	}
	if err := g.start(cmd); err != nil {
		return err
	}
	if in != nil {
		go feed(pipe, in)
	}
	lost := drain(ctx, outputs)
	if err := g.wait(ctx, cmd, c.args[0], &said); err != nil {
		return err
	}
	return lost
}

// output is what a process writes, and where it goes.
type output struct {
	from io.ReadCloser
	to   io.Writer
}

// pipes takes over what a process writes. Left to itself, the command would give up soon
// after the end of the process, and a client that reads slowly would miss the rest.
func pipes(cmd *exec.Cmd) ([]output, error) {
	var all []output
	for _, o := range []struct {
		to   *io.Writer
		open func() (io.ReadCloser, error)
	}{{&cmd.Stdout, cmd.StdoutPipe}, {&cmd.Stderr, cmd.StderrPipe}} {
		to := *o.to
		if _, file := to.(*os.File); file || to == nil {
			continue
		}
		*o.to = nil
		from, err := o.open()
		if err != nil {
			return nil, err
		}
		all = append(all, output{from, to})
	}
	return all, nil
}

// drain copies what a process writes until it has closed its ends, which it has when it is
// over, or for a moment after the end of ctx: a client may take nothing any more.
func drain(ctx context.Context, outputs []output) error {
	copied := make(chan error, len(outputs))
	for _, o := range outputs {
		go func() {
			_, err := io.Copy(o.to, o.from)
			_ = o.from.Close() // a process ends where nothing reads its output
			copied <- err
		}()
	}
	var failed error
	var patience <-chan time.Time
	done := ctx.Done()
	for left := len(outputs); left > 0; {
		select {
		case err := <-copied:
			left--
			failed = errors.Join(failed, err)
		case <-done:
			done, patience = nil, time.After(waitDelay)
		case <-patience:
			return context.Cause(ctx)
		}
	}
	return failed
}

// output runs a process and returns what it printed, at most limit bytes; more is ErrTooLarge.
func (g *Git) output(ctx context.Context, c call, limit int) ([]byte, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	out := capped{left: limit, full: cancel}
	c.stdout = &out
	if err := g.run(ctx, c); err != nil {
		if out.over {
			return nil, fmt.Errorf("git %s: answer of more than %d bytes: %w", c.args[0], limit, gitstore.ErrTooLarge)
		}
		return nil, err
	}
	return out.buf.Bytes(), nil
}

// feed copies input to a process. It is not waited for, because a client may neither
// send nor go away after the process has ended: it ends when the input does. A caller who gives
// input that must not be read afterwards, such as the body of a request, joins that input.
func feed(pipe io.WriteCloser, in io.Reader) {
	_, _ = io.Copy(pipe, in) // a process that stops reading says why by its exit code
	_ = pipe.Close()
}

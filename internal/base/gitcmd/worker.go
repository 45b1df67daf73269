package gitcmd

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"time"
)

// worker is one kept-open git process: a line in, an answer out.
type worker struct {
	git      *Git
	name     string
	cmd      *exec.Cmd
	in       io.WriteCloser
	out      *bufio.Reader
	said     tail
	born     time.Time
	used     time.Time
	requests int
	dirty    bool // an answer was not read to its end
	key      laneKey
	lane     *lane
	epoch    int
}

// startWorker starts a kept-open process; it lives until the pool ends it, not as long as a request.
func (g *Git) startWorker(r *Repo, args []string) (*worker, error) {
	now := time.Now()
	w := &worker{git: g, name: args[0], born: now, used: now}
	w.cmd = g.command(context.Background(), call{repo: r, args: args, stderr: &w.said})
	var err error
	if w.in, err = w.cmd.StdinPipe(); err != nil {
		return nil, fmt.Errorf("start git: %w", err)
	}
	out, err := w.cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("start git: %w", err)
	}
	w.out = bufio.NewReaderSize(out, 16<<10)
	if err := g.start(w.cmd); err != nil {
		return nil, err
	}
	return w, nil
}

// ask sends one request.
func (w *worker) ask(request string) error {
	if _, err := io.WriteString(w.in, request); err != nil {
		return fmt.Errorf("write to git %s: %w", w.name, err)
	}
	return nil
}

// line reads one line without its end.
func (w *worker) line() (string, error) {
	s, err := w.out.ReadString('\n')
	if err != nil {
		return "", fmt.Errorf("read from git %s: %w", w.name, err)
	}
	return s[:len(s)-1], nil
}

// clean says that the whole answer was read and the process may serve again.
func (w *worker) clean() { w.dirty = false }

func (w *worker) expired() bool {
	return w.requests >= workerRequests || time.Since(w.born) > workerAge
}

// kill ends the process at once; close must still reap it. A failure means that it has ended.
func (w *worker) kill() { _ = killGroup(w.cmd) }

// close kills and reaps the process.
func (w *worker) close() {
	w.kill()
	_ = w.in.Close()
	_ = w.git.wait(context.Background(), w.cmd, w.name, &w.said)
}

func joinArgs(args []string) string { return strings.Join(args, "\x00") }

// Package servertest starts the built server for end-to-end tests, each on a data folder
// of its own.
package servertest

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// RootToken is the administrator's token in every server that Start starts.
const RootToken = "glpat-end-to-end-root-token"

var build = sync.OnceValues(func() (string, error) {
	if bin := os.Getenv("TENON_BIN"); bin != "" {
		return bin, nil
	}
	dir, err := os.MkdirTemp("", "tenon-bin-")
	if err != nil {
		return "", fmt.Errorf("make folder for the binary: %w", err)
	}
	bin := filepath.Join(dir, "tenon")
	cmd := exec.Command("go", "build", "-o", bin, "tenon/cmd/tenon")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build tenon: %w\n%s", err, out)
	}
	return bin, nil
})

// Binary returns the path of the built server: $TENON_BIN, or one built for this run.
func Binary(tb testing.TB) string {
	tb.Helper()
	bin, err := build()
	if err != nil {
		tb.Fatal(err)
	}
	return bin
}

// Server is a running server.
type Server struct {
	URL  string // http://127.0.0.1:<port>
	SSH  string // 127.0.0.1:<port>, "" where it is off: ask for it with the arguments --ssh 127.0.0.1:0
	Data string

	tb       testing.TB
	database string
	args     []string
	env      []string // what makes the first administrator
	cmd      *exec.Cmd
	log      lockedBuffer
	done     chan struct{}
}

// Start starts a server on an empty data folder and waits until it is ready. Database ""
// is SQLite; args are added to the command line. The server ends with the test.
func Start(tb testing.TB, database string, args ...string) *Server {
	tb.Helper()
	data, err := os.MkdirTemp("", "tenon-e2e-") //nolint:usetesting // TempDir fails the test while git children still write
	if err != nil {
		tb.Fatal(err)
	}
	return StartOn(tb, data, database, args...)
}

// StartOn is Start on a data folder that is there, and that is removed after the test.
func StartOn(tb testing.TB, data, database string, args ...string) *Server {
	tb.Helper()
	return start(&Server{Data: data, tb: tb, database: database, args: args, env: []string{"TENON_ROOT_TOKEN=" + RootToken, "TENON_ROOT_PASSWORD=correct horse battery"}})
}

// StartNew is StartOn as an operator does it who gives no password and no token: the first start makes them.
func StartNew(tb testing.TB, data string, args ...string) *Server {
	tb.Helper()
	return start(&Server{Data: data, tb: tb, args: args})
}

func start(s *Server) *Server {
	tb := s.tb
	tb.Helper()
	tb.Cleanup(func() {
		s.Stop()
		if tb.Failed() {
			tb.Logf("server log:\n%s", s.log.String())
		}
		if err := os.RemoveAll(s.Data); err != nil {
			tb.Logf("remove data: %v", err)
		}
	})
	s.launch("127.0.0.1:0")
	return s
}

func (s *Server) launch(address string) {
	s.tb.Helper()
	args := append([]string{"serve", "--data", s.Data, "--http", address, "--ssh", "off"}, s.args...)
	if s.database != "" {
		args = append(args, "--database", s.database)
	}
	s.cmd = exec.Command(Binary(s.tb), args...)
	s.cmd.Env = append(append(os.Environ(), s.env...), "TENON_RATE_LIMITS=off")
	stderr, err := s.cmd.StderrPipe()
	if err != nil {
		s.tb.Fatal(err)
	}
	if err := s.cmd.Start(); err != nil {
		s.tb.Fatal(err)
	}
	ready := make(chan string, 1)
	s.done = make(chan struct{})
	go func() {
		defer close(s.done)
		s.read(stderr, ready)
	}()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	select {
	case s.URL = <-ready:
	case <-s.done:
		s.tb.Fatalf("server ended before it was ready:\n%s", s.log.String())
	case <-ctx.Done():
		s.tb.Fatalf("server is not ready after a minute:\n%s", s.log.String())
	}
}

// read keeps the log and finds the ready line.
func (s *Server) read(stderr io.Reader, ready chan<- string) {
	lines := bufio.NewScanner(stderr)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if address, ok := strings.CutPrefix(lines.Text(), "tenon: git over SSH on "); ok {
			s.SSH = address // comes before the ready line
		}
		if url, ok := strings.CutPrefix(lines.Text(), "tenon: ready on "); ok {
			ready <- url
		}
		_, _ = s.log.Write(append(bytes.Clone(lines.Bytes()), '\n'))
	}
}

// Log returns what the server has written to stderr.
func (s *Server) Log() string { return s.log.String() }

// Kill ends the server at once, as a power cut would, with no chance to clean up.
func (s *Server) Kill() {
	s.tb.Helper()
	if err := s.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		s.tb.Fatal(err)
	}
	s.wait()
}

// Stop ends the server politely; it may be called more than once.
func (s *Server) Stop() {
	s.tb.Helper()
	if s.cmd == nil {
		return
	}
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		s.tb.Error(err)
	}
	s.wait()
}

func (s *Server) wait() {
	if s.cmd == nil {
		return
	}
	<-s.done
	_ = s.cmd.Wait() // how it ended was asked for
	s.cmd = nil
}

// Restart starts the server again on the same data. Its address is another one, because
// a parallel test may have got the old port.
func (s *Server) Restart() {
	s.tb.Helper()
	s.launch("127.0.0.1:0")
}

// lockedBuffer is a buffer that a test reads while the server writes.
type lockedBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

// Write appends.
func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

// String returns all that was written.
func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

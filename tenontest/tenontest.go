// Package tenontest starts a server for a test: in a temporary folder, on free ports of
// 127.0.0.1, gone when the test ends or its process is killed.
//
//	func TestTool(t *testing.T) {
//		s := tenontest.Start(t)
//		run(s.URL, s.Token) // what is to be tested
//	}
//
// It runs "tenon dev" of the program that TENON_BIN names, or else that PATH has. The
// package uses nothing beyond the standard library.
package tenontest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"testing"
	"time"
)

// Server is a running server. Everything in it is over with the test.
type Server struct {
	URL      string // such as http://127.0.0.1:41001, without a slash at the end
	SSH      string // such as ssh://git@127.0.0.1:41002; the path of a repository follows
	Token    string // access token of the administrator root, with every scope
	Password string // of root
	Data     string // data folder, for "tenon admin --data"
	Users    []User // those of the seed, in its order
}

// User is a user that the seed made.
type User struct {
	Username string
	Token    string // access token with every scope
	Password string
}

// User returns the user of a name, and fails the test where the seed made none.
func (s *Server) User(tb testing.TB, username string) User {
	tb.Helper()
	for _, u := range s.Users {
		if u.Username == username {
			return u
		}
	}
	tb.Fatalf("tenontest: the seed has no user %q", username)
	return User{}
}

// Option changes how Start starts a server.
type Option func(*options)

type options struct {
	binary string
	seed   string
	wait   time.Duration
}

// Binary names the program. Without it TENON_BIN does, or else "tenon" is looked up in PATH.
func Binary(path string) Option { return func(o *options) { o.binary = path } }

// Seed returns the text of a TOML file with users, groups and projects to begin with.
func Seed(toml string) Option { return func(o *options) { o.seed = toml } }

// Wait bounds how long the server may take to answer, 30 seconds without it.
func Wait(d time.Duration) Option { return func(o *options) { o.wait = d } }

// Start starts a server and waits until it answers. The server stops when the test and
// its subtests end; where the test fails, what the server logged is in the test's log.
// Start fails the test where there is no program or it does not become ready.
func Start(tb testing.TB, opts ...Option) *Server {
	tb.Helper()
	o := options{binary: os.Getenv("TENON_BIN"), wait: 30 * time.Second}
	for _, set := range opts {
		set(&o)
	}
	if o.binary == "" {
		path, err := exec.LookPath("tenon")
		if err != nil {
			tb.Fatalf("tenontest: %v (put tenon into PATH, or its path into TENON_BIN)", err)
		}
		o.binary = path
	}
	s, err := start(tb, o)
	if err != nil {
		tb.Fatalf("tenontest: %v", err)
	}
	return s
}

func start(tb testing.TB, o options) (*Server, error) {
	args := []string{"dev", "--json"}
	if o.seed != "" {
		name := tb.TempDir() + "/seed.toml"
		if err := os.WriteFile(name, []byte(o.seed), 0o600); err != nil {
			return nil, err
		}
		args = append(args, "--seed", name)
	}
	cmd := exec.CommandContext(context.Background(), o.binary, args...) // ends in the cleanup, after the context of the test
	log := &output{}
	cmd.Stderr = log
	cmd.WaitDelay = 5 * time.Second
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	tb.Cleanup(func() {
		if err := stop(cmd); err != nil {
			tb.Errorf("tenontest: stop the server: %v", err)
		}
		if text := log.String(); tb.Failed() && text != "" {
			tb.Logf("tenontest: the server said:\n%s", text)
		}
	})
	late := time.AfterFunc(o.wait, func() { _ = cmd.Process.Kill() })
	s := &Server{}
	err = json.NewDecoder(stdout).Decode(s)
	switch {
	case !late.Stop():
		return nil, fmt.Errorf("the server is not ready after %v", o.wait)
	case errors.Is(err, io.EOF):
		_ = cmd.Wait() // it ended, and has said why
		return nil, fmt.Errorf("the server did not start: %s", bytes.TrimSpace([]byte(log.String())))
	case err != nil:
		return nil, fmt.Errorf("read what the server printed: %w", err)
	}
	return s, nil
}

// stop ends the server, which may have ended.
func stop(cmd *exec.Cmd) error {
	if cmd.ProcessState != nil {
		return nil
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	late := time.AfterFunc(10*time.Second, func() { _ = cmd.Process.Kill() })
	defer late.Stop()
	return cmd.Wait()
}

// output keeps what the server says while the test may read it.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write appends.
func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

// String returns all that was written.
func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

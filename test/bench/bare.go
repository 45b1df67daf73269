package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/cgi"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// bareServer is git's own server program behind the same sign-on, in a process of its
// own, so that what it uses can be read.
type bareServer struct {
	cmd *exec.Cmd
	url string
}

// The variables that make this program such a server.
const (
	bareRoot  = "BENCH_BARE_ROOT"
	bareToken = "BENCH_BARE_TOKEN"
)

func startBare(ctx context.Context, root, token string) (*bareServer, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	b := &bareServer{cmd: exec.CommandContext(ctx, program)}
	b.cmd.Env = append(os.Environ(), bareRoot+"="+root, bareToken+"="+token)
	b.cmd.Stderr = os.Stderr
	out, err := b.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := b.cmd.Start(); err != nil {
		return nil, err
	}
	if b.url, err = bufio.NewReader(out).ReadString('\n'); err != nil {
		b.stop()
		return nil, fmt.Errorf("git http-backend: %w", err)
	}
	b.url = strings.TrimSpace(b.url)
	return b, nil
}

func (b *bareServer) stop() {
	_ = b.cmd.Process.Kill() // it has nothing to lose
	_ = b.cmd.Wait()
}

// used is its CPU time so far, with that of the processes it has waited for.
func (b *bareServer) used() (time.Duration, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", b.cmd.Process.Pid))
	if err != nil {
		return 0, err
	}
	_, _, own, ended, ok := times(text)
	if !ok {
		return 0, errors.New("cannot read the time of a process")
	}
	return own + ended, nil
}

// serveBare runs git http-backend for every request.
func serveBare(ctx context.Context, root, token string) error {
	path, err := git(ctx, root, "--exec-path")
	if err != nil {
		return err
	}
	backend := &cgi.Handler{
		Path: filepath.Join(strings.TrimSpace(path), "git-http-backend"),
		Dir:  root,
		Env: []string{
			"GIT_PROJECT_ROOT=" + root, "GIT_HTTP_EXPORT_ALL=1", "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null", "REMOTE_USER=bench",
		},
		InheritEnv: []string{"PATH"},
	}
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	srv := &http.Server{ReadHeaderTimeout: longest, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, password, _ := r.BasicAuth(); password != token {
			w.Header().Set("WWW-Authenticate", `Basic realm="bench"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		backend.ServeHTTP(w, r)
	})}
	if _, err := fmt.Println("http://" + l.Addr().String()); err != nil {
		return err
	}
	return srv.Serve(l)
}

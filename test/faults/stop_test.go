package faults

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"tenon/test/servertest"
)

// TestStop_finishes sends SIGTERM while requests are on their way: those that the server
// has begun are answered in full, and it ends in time.
func TestStop_finishes(t *testing.T) {
	w := newWorld(t, "")
	const n = 8
	request := func(body io.Reader) (*answer, error) {
		req, err := http.NewRequestWithContext(context.Background(), http.MethodPost, fmt.Sprintf("%s/api/v4/projects/%d/issues", *w.url.Load(), w.project), body)
		if err != nil {
			return nil, err
		}
		req.Header.Set("Private-Token", w.ann)
		req.Header.Set("Content-Type", "application/json")
		return w.send(req)
	}
	// Half of each body is with the server when it is told to stop.
	var wg sync.WaitGroup
	answers, failures := make([]*answer, n), make([]error, n)
	begun, rest := make(chan struct{}, n), make(chan struct{})
	for i := range n {
		r, p := io.Pipe()
		wg.Go(func() { answers[i], failures[i] = request(r) })
		wg.Go(func() {
			_, err := io.WriteString(p, `{"title":`)
			begun <- struct{}{}
			<-rest
			_, err2 := io.WriteString(p, fmt.Sprintf(`"late %d"}`, i))
			_ = p.CloseWithError(errors.Join(err, err2))
		})
	}
	for range n {
		<-begun
	}
	w.await("the server to begin with all", func() bool { return w.metric("tenon_http_requests_in_flight") > n }) // it counts this one too
	process, err := os.FindProcess(w.s.PID())
	if err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	if err := process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	w.await("the server to say that it stops", func() bool { return strings.Contains(w.s.Log(), `"msg":"stopping"`) })
	close(rest)
	wg.Wait()
	for i, a := range answers {
		if failures[i] != nil || a.status != 201 || a.text("title") != fmt.Sprintf("late %d", i) {
			t.Errorf("request %d that was on its way: got %+v, %v; want 201", i, a, failures[i])
		}
	}
	w.s.Stop()
	if took := time.Since(start); took > 30*time.Second {
		t.Errorf("the server took %v to end, want 30 s at most", took)
	}
	w.s.Restart()
	w.moved()
	if got := len(all[found](w, "/issues")); got != n {
		t.Errorf("issues after a restart: got %d, want %d", got, n)
	}
}

// await waits until something holds.
func (w *world) await(what string, holds func() bool) {
	w.t.Helper()
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	limit := time.NewTimer(time.Minute)
	defer limit.Stop()
	for !holds() {
		select {
		case <-ticker.C:
		case <-limit.C:
			w.t.Fatalf("waited a minute for %s", what)
		}
	}
}

// TestStart_portInUse says what to do about a port that another process has.
func TestStart_portInUse(t *testing.T) {
	t.Parallel()
	var config net.ListenConfig
	l, err := config.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	data := t.TempDir()
	cmd := exec.CommandContext(t.Context(), servertest.Binary(t), "serve", "--data", data, "--http", l.Addr().String(), "--ssh", "off")
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() <= 0 {
		t.Errorf("exit: got %v, want a status of failure", err)
	}
	for _, part := range []string{l.Addr().String(), "address already in use", "--http"} {
		if !strings.Contains(string(out), part) {
			t.Errorf("got %q, want %q in it", out, part)
		}
	}
	if strings.Contains(string(out), "goroutine ") {
		t.Errorf("got a stack trace: %s", out)
	}
	if left, err := os.ReadDir(data); err != nil || len(left) != 0 {
		t.Errorf("data folder: got %v (%v), want it untouched", left, err)
	}
}

// TestSlow lets clients dawdle: many of them hold no other client up, and one that never ends its
// headers or its body is hung up on.
func TestSlow(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	address := strings.TrimPrefix(*w.url.Load(), "http://")
	const n = 150
	open := make([]net.Conn, 0, n)
	defer func() {
		for _, c := range open {
			_ = c.Close()
		}
	}()
	var dialer net.Dialer
	dial := func(text string) net.Conn {
		c, err := dialer.DialContext(t.Context(), "tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(c, text); err != nil {
			t.Fatal(err)
		}
		open = append(open, c)
		return c
	}
	stuck := map[string]net.Conn{
		"headers": dial("GET /api/v4/version HTTP/1.1\r\nHost: x\r\nX-"),
		"body": dial("POST /api/v4/projects/1/issues HTTP/1.1\r\nHost: x\r\nPrivate-Token: " + w.ann +
			"\r\nContent-Type: application/json\r\nContent-Length: 500\r\n\r\n{\"title\":"),
	}
	for i := range n {
		switch i % 3 {
		case 0:
			dial("GET /api/v4/ver")
		case 1:
			dial("POST /api/v4/projects/1/issues HTTP/1.1\r\nHost: x\r\nPrivate-Token: " + w.ann + "\r\nContent-Type: application/json\r\nContent-Length: 500\r\n\r\n{\"tit")
		case 2:
			dial("POST /team/app.git/git-receive-pack HTTP/1.1\r\nHost: x\r\nAuthorization: Basic " + basic("ann", w.ann) +
				"\r\nContent-Type: application/x-git-receive-pack-request\r\nTransfer-Encoding: chunked\r\n\r\n4\r\n00")
		}
	}
	start := time.Now()
	for i := range 20 {
		w.want(201, w.ann, "POST", fmt.Sprintf("/projects/%d/issues", w.project), fmt.Sprintf(`{"title":"quick %d"}`, i))
		w.want(200, w.ann, "GET", fmt.Sprintf("/projects/%d/repository/tree", w.project), "")
	}
	if took := time.Since(start); took > 15*time.Second {
		t.Errorf("40 requests beside %d slow clients took %v", n, took)
	}
	dir := t.TempDir()
	w.git(dir, "clone", "-q", w.remote(), "copy")
	w.git(dir+"/copy", "commit", "-q", "--allow-empty", "-m", "beside slow clients")
	// Who has many pushes under way waits for one of them; others do not.
	w.git(dir+"/copy", "push", "-q", strings.Replace(w.remote(), "ann:"+w.ann, "root:"+servertest.RootToken, 1), "HEAD:refs/heads/beside")
	for what, c := range stuck {
		if err := c.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(bufio.NewReader(c))
		if errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("a client that never ends its %s was not hung up on: got %q, %v", what, text, err)
		}
		if strings.HasPrefix(string(text), "HTTP/1.1 5") {
			t.Errorf("a client that never ends its %s reads %q, want an error of its own", what, text)
		}
	}
	if strings.Contains(w.s.Log(), `"level":"ERROR"`) {
		t.Error("slow clients are errors in the log")
	}
}

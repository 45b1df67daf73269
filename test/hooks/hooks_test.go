package hooks

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"tenon/test/servertest"
)

// output is what a command writes, read while it runs.
type output struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

// Write appends.
func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.Write(p)
}

// String is all that was written.
func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.String()
}

// until waits for what happens in another process.
func until(t *testing.T, what string, done func() bool) {
	t.Helper()
	look := time.NewTicker(20 * time.Millisecond)
	defer look.Stop()
	for end := time.Now().Add(30 * time.Second); !done(); <-look.C {
		if time.Now().After(end) {
			t.Fatalf("%s: not after 30 seconds", what)
		}
	}
}

// call makes a request as root.
func call(t *testing.T, s *servertest.Server, method, path string, body any) map[string]any {
	t.Helper()
	text, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	q, err := http.NewRequestWithContext(t.Context(), method, s.URL+"/api/v4"+path, bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	q.Header.Set("PRIVATE-TOKEN", servertest.RootToken)
	q.Header.Set("Content-Type", "application/json")
	a, err := http.DefaultClient.Do(q) //nolint:forbidigo // a test client without needs
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = a.Body.Close() }()
	answer, err := io.ReadAll(a.Body)
	if err != nil || a.StatusCode > 299 {
		t.Fatalf("%s %s: %d %s %v", method, path, a.StatusCode, answer, err)
	}
	out := map[string]any{}
	_ = json.Unmarshal(answer, &out) // lists are not wanted
	return out
}

// tenon prepares a command.
func tenon(t *testing.T, s *servertest.Server, token string, args ...string) (cmd *exec.Cmd, out, failed *output) {
	t.Helper()
	cmd = exec.CommandContext(t.Context(), servertest.Binary(t), append([]string{"hooks"}, args...)...)
	cmd.Env = append(os.Environ(), "TENON_URL="+s.URL, "TENON_TOKEN="+token, "TZ=UTC")
	out, failed = &output{}, &output{}
	cmd.Stdout, cmd.Stderr = out, failed
	return cmd, out, failed
}

// run runs a command of root and returns its exit code and what it printed.
func run(t *testing.T, s *servertest.Server, args ...string) (code int, out, failed string) {
	t.Helper()
	cmd, o, f := tenon(t, s, servertest.RootToken, args...)
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), o.String(), f.String()
}

// Root lists the hooks of a project, tests one, watches its deliveries and has them posted to a program on this computer, and sends one
// again. What goes wrong is said with what to do, and the exit code tells.
func TestCommands(t *testing.T) {
	t.Parallel()
	servertest.Each(t, func(t *testing.T, database string) {
		t.Parallel()
		s := servertest.Start(t, database)
		call(t, s, "PUT", "/application/settings", map[string]any{"allow_local_requests_from_web_hooks_and_services": true})
		call(t, s, "POST", "/projects", map[string]any{"name": "shop", "initialize_with_readme": true})
		status := http.StatusOK
		var mu sync.Mutex
		answers := func(code int) {
			mu.Lock()
			defer mu.Unlock()
			status = code
		}
		receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			mu.Lock()
			defer mu.Unlock()
			w.WriteHeader(status)
		}))
		t.Cleanup(receiver.Close)
		if code, out, failed := run(t, s, "list", "root/shop"); code != 0 || out != "" || !strings.Contains(failed, "has no hooks") {
			t.Errorf("no hooks: %d %s%s", code, out, failed)
		}
		hook := call(t, s, "POST", "/projects/root%2Fshop/hooks", map[string]any{
			"url": receiver.URL + "/{key}", "name": "mirror", "issues_events": true, "token": "s3cret", "url_variables": []map[string]any{{"key": "key", "value": "s3cret-key"}},
		})
		id := fmt.Sprint(hook["id"])

		if code, out, failed := run(t, s, "list", "root/shop"); code != 0 || !strings.Contains(out, id+"   mirror  push issues  executable") {
			t.Errorf("list: %d %s%s", code, out, failed)
		}
		var list []map[string]any
		if code, out, failed := run(t, s, "list", "root/shop", "--json"); code != 0 || json.Unmarshal([]byte(out), &list) != nil || len(list) != 1 {
			t.Errorf("list as JSON: %d %s%s", code, out, failed)
		}
		code, out, failed := run(t, s, "test", "root/shop", id)
		if code != 0 || !strings.HasPrefix(out, "delivery ") || !strings.Contains(out, ": 200 in ") || !strings.Contains(failed, "calling hook "+id) {
			t.Errorf("test: %d %s%s", code, out, failed)
		}
		if code, _, failed := run(t, s, "test", "root/shop", id, "wiki_page"); code != 1 || !strings.Contains(failed, "Ensure the wiki is enabled and has pages.") {
			t.Errorf("test without a page: %d %s", code, failed)
		}

		var forwarded []string
		program := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			mu.Lock()
			defer mu.Unlock()
			forwarded = append(forwarded, r.URL.Path+" "+r.Header.Get("X-Gitlab-Event")+" "+r.Header.Get("X-Gitlab-Token")+" "+string(body))
			w.WriteHeader(http.StatusAccepted)
		}))
		t.Cleanup(program.Close)
		_, port, _ := strings.Cut(strings.TrimPrefix(program.URL, "http://"), ":")
		listen, printed, said := tenon(t, s, servertest.RootToken, "listen", "root/shop", "--forward", port+"/in")
		if err := listen.Start(); err != nil {
			t.Fatal(err)
		}
		until(t, "listen", func() bool { return strings.Contains(said.String(), "waiting for deliveries of 1 hooks of root/shop") })
		call(t, s, "POST", "/projects/root%2Fshop/issues", map[string]any{"title": "Broken window"})
		call(t, s, "POST", "/projects/root%2Fshop/issues", map[string]any{"title": "Large", "description": strings.Repeat("<large> ", 20_000)})
		until(t, "two deliveries are printed", func() bool { return strings.Count(printed.String(), "\n") >= 2 })
		if err := listen.Process.Signal(syscall.SIGINT); err != nil {
			t.Fatal(err)
		}
		if err := listen.Wait(); err != nil {
			t.Errorf("listen: %v\n%s", err, said)
		}
		lines := strings.Split(strings.TrimSpace(printed.String()), "\n")
		if len(lines) != 2 || !strings.Contains(lines[0], "hook "+id+" (mirror)") || !strings.Contains(lines[0], "  issue_hooks  200 in ") || !strings.HasSuffix(lines[0], "forwarded: 202") {
			t.Errorf("listen printed\n%s\n%s", printed, said)
		}
		mu.Lock()
		if len(forwarded) != 2 || !strings.HasPrefix(forwarded[0], "/in Issue Hook  {") || !strings.Contains(forwarded[0], "Broken window") || len(forwarded[1]) < 160_000 {
			t.Errorf("forwarded %.300q", forwarded)
		}
		mu.Unlock()

		_, after, _ := strings.Cut(lines[0], "delivery ")
		delivery, _, _ := strings.Cut(after, " ")
		if code, out, failed := run(t, s, "resend", "root/shop", id, delivery); code != 0 || out != "the receiver answered 200\n" {
			t.Errorf("resend: %d %s%s", code, out, failed)
		}
		answers(http.StatusBadGateway)
		if code, _, failed := run(t, s, "resend", "root/shop", id, delivery); code != 1 || !strings.Contains(failed, "did not accept it: it answered 502") {
			t.Errorf("resend to a receiver that fails: %d %s", code, failed)
		}
		if code, out, failed := run(t, s, "test", "root/shop", id, "push_events"); code != 1 || !strings.Contains(out, "502 in") {
			t.Errorf("test of a receiver that fails: %d %s%s", code, out, failed)
		}
		receiver.Close()
		if code, _, failed := run(t, s, "test", "root/shop", id); code != 1 || !strings.Contains(failed, "connection refused") {
			t.Errorf("test of a receiver that does not run: %d %s", code, failed)
		}
		for _, out := range []string{printed.String(), said.String()} {
			if strings.Contains(out, "s3cret") {
				t.Errorf("a secret is printed: %s", out)
			}
		}
	})
}

// What is wrong with a call is said with what to do.
func TestCommands_refusals(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t, "")
	call(t, s, "POST", "/projects", map[string]any{"name": "shop"})
	unused := &servertest.Server{URL: "http://127.0.0.1:1"}
	for _, tt := range []struct {
		name  string
		on    *servertest.Server
		token string
		args  []string
		code  int
		says  string
	}{
		{"no token", s, "", []string{"list", "root/shop"}, 2, "set TENON_TOKEN"},
		{"a wrong token", s, "glpat-wrong", []string{"list", "root/shop"}, 1, "make another token with the scope api"},
		{"no project", s, servertest.RootToken, []string{"list", "root/none"}, 1, "the project or hook does not exist"},
		{"no hook", s, servertest.RootToken, []string{"test", "root/shop", "77"}, 1, "tenon hooks list PROJECT"},
		{"no delivery", s, servertest.RootToken, []string{"resend", "root/shop", "77", "1"}, 1, "404"},
		{"no id", s, servertest.RootToken, []string{"test", "root/shop", "mirror"}, 2, `"mirror" is not the id of a hook`},
		{"no event", s, servertest.RootToken, []string{"test", "root/shop", "77", "nothing"}, 1, "trigger"},
		{"no port", s, servertest.RootToken, []string{"listen", "root/shop", "--forward", "somewhere"}, 2, "is no port"},
		{"no project to listen to", s, servertest.RootToken, []string{"listen", "root/none"}, 1, "404"},
		{"no server", unused, servertest.RootToken, []string{"list", "root/shop"}, 1, "does the server run?"},
		{"no URL", &servertest.Server{URL: "ftp:"}, servertest.RootToken, []string{"list", "root/shop"}, 2, "is no URL of a server"},
	} {
		cmd, out, failed := tenon(t, tt.on, tt.token, tt.args...)
		_ = cmd.Run() // its exit code is compared
		if code := cmd.ProcessState.ExitCode(); code != tt.code || !strings.Contains(failed.String(), tt.says) || out.String() != "" {
			t.Errorf("%s: got %d %s%s, want %d %s", tt.name, code, out, failed, tt.code, tt.says)
		}
	}
}

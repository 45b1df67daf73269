package hook

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const (
	zeros = "0000000000000000000000000000000000000000"
	ones  = "1111111111111111111111111111111111111111"
)

// fakePush records what hooks ask and answers as told.
type fakePush struct {
	refusal  string
	verdicts []Verdict
	message  string
	err      error
	panics   bool

	checked Call
	applied []Change
}

func (f *fakePush) Check(_ context.Context, call Call) (string, error) {
	if f.panics {
		panic("boom")
	}
	f.checked = call
	return f.refusal, f.err
}

func (f *fakePush) Apply(_ context.Context, changes []Change) ([]Verdict, string, error) {
	f.applied = changes
	return f.verdicts, f.message, f.err
}

// serve starts a server and returns it with the environment of one registered push.
func serve(t *testing.T, p push) (*Server, map[string]string) {
	t.Helper()
	s, err := Listen("/bin/true", t.TempDir(), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- s.Serve(context.Background()) }()
	t.Cleanup(func() {
		if err := errors.Join(s.Close(), <-done); err != nil {
			t.Error(err)
		}
	})
	pairs, release := s.register(p)
	t.Cleanup(release)
	env := map[string]string{}
	for _, pair := range pairs {
		name, value, _ := strings.Cut(pair, "=")
		env[name] = value
	}
	return s, env
}

func run(env map[string]string, name, stdin string) (status int, stdout, stderr string) {
	var out, errOut bytes.Buffer
	c := Client{
		Stdin: strings.NewReader(stdin), Stdout: &out, Stderr: &errOut,
		Getenv: func(k string) string { return env[k] },
	}
	return c.Run(name), out.String(), errOut.String()
}

func TestPreReceive(t *testing.T) {
	push := &fakePush{}
	_, env := serve(t, push)
	env["GIT_PUSH_OPTION_COUNT"] = "2"
	env["GIT_PUSH_OPTION_0"] = "ci.skip"
	env["GIT_PUSH_OPTION_1"] = "merge_request.create"
	env["GIT_OBJECT_DIRECTORY"] = "/q"
	status, _, stderr := run(env, PreReceive, zeros+" "+ones+" refs/heads/main\n")
	if status != 0 || stderr != "" {
		t.Fatalf("status %d, stderr %q", status, stderr)
	}
	want := Call{
		Token: env[EnvToken], Hook: PreReceive, Objects: "/q", Options: []string{"ci.skip", "merge_request.create"},
		Changes: []Change{{Old: zeros, New: ones, Ref: "refs/heads/main"}},
	}
	if diff := cmp.Diff(want, push.checked); diff != "" {
		t.Errorf("call (-want +got):\n%s", diff)
	}
}

func TestPreReceive_refused(t *testing.T) {
	_, env := serve(t, &fakePush{refusal: "GitLab: no."})
	status, _, stderr := run(env, PreReceive, zeros+" "+ones+" refs/heads/main\n")
	if status != 1 || stderr != "GitLab: no.\n" {
		t.Errorf("status %d, stderr %q", status, stderr)
	}
}

// A failure of the server, even a panic, refuses the push and shows no internals.
func TestPreReceive_serverFails(t *testing.T) {
	for name, push := range map[string]*fakePush{
		"error": {err: errors.New("secret detail")}, "panic": {panics: true},
	} {
		t.Run(name, func(t *testing.T) {
			_, env := serve(t, push)
			status, _, stderr := run(env, PreReceive, zeros+" "+ones+" refs/heads/main\n")
			if status != 1 || strings.Contains(stderr, "secret") || !strings.Contains(stderr, "try again") {
				t.Errorf("status %d, stderr %q", status, stderr)
			}
		})
	}
}

func TestPreReceive_unknownToken(t *testing.T) {
	push := &fakePush{}
	_, env := serve(t, push)
	env[EnvToken] = "guess"
	if status, _, _ := run(env, PreReceive, zeros+" "+ones+" refs/heads/main\n"); status != 1 {
		t.Errorf("status %d, want 1", status)
	}
	if push.checked.Hook != "" {
		t.Error("the push was asked although the token is unknown")
	}
}

func TestProcReceive(t *testing.T) {
	push := &fakePush{
		verdicts: []Verdict{{Ref: "refs/heads/main"}, {Ref: "refs/heads/x", Reason: "moved\nmeanwhile"}},
		message:  "View it.",
	}
	_, env := serve(t, push)
	var in bytes.Buffer
	for _, line := range []string{
		"version=1\x00push-options atomic\n", "", zeros + " " + ones + " refs/heads/main\n",
		zeros + " " + ones + " refs/heads/x\n", "",
	} {
		if line == "" {
			_ = writeFlush(&in)
			continue
		}
		_ = writePacket(&in, line)
	}
	status, stdout, stderr := run(env, ProcReceive, in.String())
	if status != 0 || stderr != "View it.\n" {
		t.Fatalf("status %d, stderr %q", status, stderr)
	}
	out := bufio.NewReader(strings.NewReader(stdout))
	hello, err := readSection(out, 10)
	if err != nil || len(hello) != 1 || hello[0] != "version=1" {
		t.Fatalf("hello %q, %v", hello, err)
	}
	verdicts, err := readSection(out, 10)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"ok refs/heads/main", "ng refs/heads/x moved meanwhile"}, verdicts); diff != "" {
		t.Errorf("verdicts (-want +got):\n%s", diff)
	}
	want := []Change{{zeros, ones, "refs/heads/main"}, {zeros, ones, "refs/heads/x"}}
	if diff := cmp.Diff(want, push.applied); diff != "" {
		t.Errorf("changes (-want +got):\n%s", diff)
	}
}

func TestListen_privateFolder(t *testing.T) {
	s, _ := serve(t, &fakePush{})
	info, err := os.Stat(s.dir)
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode().Perm() != 0o700 {
		t.Errorf("mode %v, want 0700", info.Mode().Perm())
	}
	if len(s.Socket()) > 107 {
		t.Errorf("socket path %q has %d bytes, more than a unix socket may have", s.Socket(), len(s.Socket()))
	}
}

// What killed servers left goes; the folder in use stays. A parent whose path is too long
// for a socket is not used.
func TestServer_Sweep(t *testing.T) {
	parent := t.TempDir()
	if len(parent) > maxParent {
		t.Skip("the folder for temporary files has a long path")
	}
	left := filepath.Join(parent, prefix+"left")
	if err := os.MkdirAll(filepath.Join(left, "hooks"), 0o700); err != nil {
		t.Fatal(err)
	}
	s, err := Listen("/bin/true", parent, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.Sweep(parent); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(left); !os.IsNotExist(err) {
		t.Errorf("what a killed server left is there: %v", err)
	}
	if _, err := os.Stat(s.Socket()); err != nil {
		t.Error(err)
	}
	long, err := Listen("/bin/true", filepath.Join(parent, strings.Repeat("x", 100)), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	if err := long.Close(); err != nil {
		t.Error(err)
	}
}

func FuzzReadSection(f *testing.F) {
	f.Add([]byte("000bversion0000"))
	f.Add([]byte("fff0"))
	f.Fuzz(func(t *testing.T, data []byte) {
		lines, err := readSection(bufio.NewReader(bytes.NewReader(data)), 100)
		if err == nil && len(lines) > 100 {
			t.Errorf("%d lines, want at most 100", len(lines))
		}
	})
}

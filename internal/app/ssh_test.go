package app

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"io"
	"log/slog"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"

	"tenon/internal/base/config"
	"tenon/internal/core/authz"
	"tenon/internal/core/coretest"
	"tenon/internal/core/project"
	"tenon/internal/core/sshkey"
)

// newSSH starts a server that serves git over SSH, with a project root/app, and connects
// to it as root.
func newSSH(t *testing.T) (*App, *ssh.Client) {
	t.Helper()
	return newSSHOn(t, "", nil)
}

// newSSHOn is newSSH on a database address, "" for SQLite, with traces sent to otlp, nil for none.
func newSSHOn(t *testing.T, database string, otlp *url.URL) (*App, *ssh.Client) {
	t.Helper()
	data, ctx := t.TempDir(), context.WithoutCancel(t.Context()) // closing comes after its end
	if database == "" {
		database = "sqlite:" + filepath.Join(data, "tenon.db")
	}
	a, err := New(ctx, &config.Config{
		Data: data, HTTP: "127.0.0.1:0", SSH: "127.0.0.1:0", Database: database, OTLP: otlp,
		Root: config.Root{Password: rootPassword, Token: rootToken},
	}, slog.New(slog.DiscardHandler), Build{Version: "test", Revision: "unknown"})
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- a.ssh.Serve(ctx, a.sshAt) }()
	t.Cleanup(func() {
		if err := a.Close(ctx); err != nil {
			t.Error(err)
		}
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	signer, err := ssh.NewSignerFromKey(private)
	if err != nil {
		t.Fatal(err)
	}
	root, err := a.core.Accounts.ActorFor(ctx, "root")
	if err != nil {
		t.Fatal(err)
	}
	line, name := string(ssh.MarshalAuthorizedKey(signer.PublicKey())), "app"
	if _, err := a.core.Keys.Create(ctx, root, sshkey.Input{Title: "t", Key: line}); err != nil {
		t.Fatal(err)
	}
	if _, err := a.core.Projects.Create(ctx, root, project.Input{Readme: true, Changes: project.Changes{Attributes: project.Attributes{Name: &name}}}); err != nil {
		t.Fatal(err)
	}
	client, err := ssh.Dial("tcp", a.SSHAddress(), &ssh.ClientConfig{
		User: "git", Auth: []ssh.AuthMethod{ssh.PublicKeys(signer)}, HostKeyCallback: ssh.InsecureIgnoreHostKey(),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	return a, client
}

// TestSSH_httpOnly turns git over SSH off by the instance's setting.
func TestSSH_httpOnly(t *testing.T) {
	t.Parallel()
	a, client := newSSH(t)
	run := runner(t, client)
	if text, err := run("git-upload-pack 'root/app.git'"); err != nil {
		t.Fatalf("got %v %s, want an advertisement", err, text)
	}
	if err := a.core.Settings.Set(t.Context(), "enabled_git_access_protocol", "http"); err != nil {
		t.Fatal(err)
	}
	for _, command := range []string{"git-upload-pack", "git-receive-pack", "git-upload-archive"} {
		if text, err := run(command + " 'root/app.git'"); err == nil || !strings.Contains(text, "remote: ERROR: Git access over SSH is not allowed\n") {
			t.Errorf("%s: got %v %q, want the setting to refuse it", command, err, text)
		}
	}
	if err := a.core.Settings.Set(t.Context(), "enabled_git_access_protocol", "ssh"); err != nil {
		t.Fatal(err)
	}
	if text, err := run("git-receive-pack root/app"); err != nil {
		t.Errorf("got %v %s, want an advertisement", err, text)
	}
}

// TestSSH_clientGone ends git when its client goes away in the middle, be it the whole
// connection or the one channel.
func TestSSH_clientGone(t *testing.T) {
	t.Parallel()
	a, client := newSSH(t)
	if _, err := a.git.Version(t.Context()); err != nil {
		t.Fatal(err)
	}
	a.git.Trim()
	wait := func(what string, want func(n int64) bool) {
		t.Helper()
		tick, late := time.NewTicker(20*time.Millisecond), time.After(20*time.Second)
		defer tick.Stop()
		for !want(a.git.Running()) {
			select {
			case <-tick.C:
			case <-late:
				t.Fatalf("%s: %d git processes run", what, a.git.Running())
			}
		}
	}
	wait("before", func(n int64) bool { return n == 0 })
	for _, gone := range []string{"channel", "connection"} {
		session, err := client.NewSession()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := session.StdinPipe(); err != nil { // stays open
			t.Fatal(err)
		}
		out, err := session.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := session.Start("git-upload-pack 'root/app.git'"); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(out, make([]byte, 4)); err != nil {
			t.Fatal(err)
		}
		wait(gone+" is there", func(n int64) bool { return n > 0 })
		if gone == "channel" {
			_ = session.Close()
		} else {
			_ = client.Close()
		}
		wait(gone+" is gone", func(n int64) bool { return n == 0 })
	}
	if _, err := a.core.Projects.Find(t.Context(), authz.System(), "root/app"); err != nil {
		t.Error(err)
	}
}

// runner runs commands over one connection; they say on stderr why they are refused.
func runner(t *testing.T, client *ssh.Client) func(command string) (string, error) {
	return func(command string) (string, error) {
		t.Helper()
		session, err := client.NewSession()
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = session.Close() }()
		var problem bytes.Buffer
		session.Stdout, session.Stderr = io.Discard, &problem
		if !strings.HasPrefix(command, "git-lfs-") { // which reads nothing: what is sent after its end is io.EOF
			session.Stdin = strings.NewReader("0000")
		}
		err = session.Run(command)
		return problem.String(), err
	}
}

// TestMaintenance_ssh reads over SSH while maintenance mode is on, and writes nothing: neither commits nor large files.
func TestMaintenance_ssh(t *testing.T) {
	t.Parallel()
	a, client := newSSH(t)
	run := runner(t, client)
	set := func(on bool) {
		t.Helper()
		for name, value := range map[string]any{"maintenance_mode": on, "maintenance_mode_message": "back at noon"} {
			if err := a.core.Settings.Set(t.Context(), name, value); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, tt := range []struct {
		on      bool
		command string
		refused bool
	}{
		{true, "git-receive-pack 'root/app.git'", true},
		{true, "git-receive-pack 'root/made-by-push.git'", true},
		{true, "git-lfs-authenticate 'root/app.git' upload", true},
		{true, "git-lfs-authenticate 'root/app.git' download", false},
		{true, "git-upload-pack 'root/app.git'", false},
		{false, "git-receive-pack 'root/app.git'", false},
		{false, "git-lfs-authenticate 'root/app.git' upload", false},
	} {
		set(tt.on)
		if text, err := run(tt.command); (err != nil) != tt.refused || tt.refused && !strings.Contains(text, "remote: ERROR: back at noon\n") {
			t.Errorf("maintenance mode %v: %s: %v %q, want refused %v", tt.on, tt.command, err, text, tt.refused)
		}
	}
}

// TestSSH_limit runs a command more often than the settings allow.
func TestSSH_limit(t *testing.T) {
	t.Parallel()
	a, client := newSSH(t)
	a.core.Limits.Enforce()
	run := runner(t, client)
	set := coretest.Setter(t, a.core.Settings)
	set("gitlab_shell_operation_limit", 2)
	for i := range 3 {
		text, err := run("git-upload-pack 'root/app.git'")
		if refused := i == 2; (err != nil) != refused || refused && !strings.Contains(text, "remote: ERROR: This operation was done too many times.") {
			t.Errorf("fetch %d: %v %q", i+1, err, text)
		}
	}
	for _, command := range []string{"git-lfs-authenticate 'root/app.git' download", "git-receive-pack 'root/app.git'"} {
		if text, err := run(command); err != nil {
			t.Errorf("%s, which has a counter of its own: %v %s", command, err, text)
		}
	}
	set("gitlab_shell_operation_limit", 0)
	if text, err := run("git-upload-pack 'root/app.git'"); err != nil {
		t.Errorf("without a limit: %v %s", err, text)
	}
}

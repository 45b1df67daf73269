package gitssh

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"

	"tenon/internal/base/db"
	"tenon/internal/base/db/dbtest"
	"tenon/internal/base/event"
	"tenon/internal/base/secret"
	"tenon/internal/core"
	"tenon/internal/core/account"
	"tenon/internal/core/authz"
	"tenon/internal/core/limit"
	"tenon/internal/core/namespace"
	"tenon/internal/core/setting"
	"tenon/internal/core/sshkey"
	"tenon/internal/core/weburl"
)

// world is a server that greets, with people who have keys.
type world struct {
	*Server
	accounts *account.Service
	t        *testing.T
	address  string
}

// newWorld starts a server after change had a look at it.
func newWorld(t *testing.T, d *db.DB, change func(d *Deps)) *world {
	t.Helper()
	bus, policy, settings := &event.Bus{}, authz.New(d, time.Now), setting.New(d, time.Now)
	accounts := account.New(account.Deps{
		Limits: &limit.Service{}, DB: d, Policy: policy, Bus: bus, Settings: settings, Hasher: secret.NewWeakHasher(), Now: time.Now,
		Places: namespace.New(namespace.Deps{Limits: &limit.Service{}, DB: d, Policy: policy, Bus: bus, Settings: settings, Now: time.Now}),
		URLs:   weburl.New(&url.URL{Scheme: "https", Host: "tenon.example"}, ""),
	})
	deps := Deps{
		Services: &core.Services{
			Keys:     sshkey.New(sshkey.Deps{DB: d, Policy: policy, Bus: bus, Settings: settings, Accounts: accounts, Now: time.Now}),
			Settings: settings, Limits: &limit.Service{},
		},
		Log: slog.New(slog.DiscardHandler), HostKeys: t.TempDir(),
	}
	if change != nil {
		change(&deps)
	}
	s, err := New(deps)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- s.Serve(context.Background(), l) }()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		s.Shutdown(ctx)
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	return &world{Server: s, t: t, accounts: accounts, address: l.Addr().String()}
}

// person makes a user with a key.
func (w *world) person(name string) ssh.Signer {
	w.t.Helper()
	u, err := w.accounts.Create(w.t.Context(), authz.System(), account.Input{
		Email: name + "@example.com", Username: name, Name: name, ForceRandomPassword: true, SkipConfirmation: true,
	})
	if err != nil {
		w.t.Fatal(err)
	}
	signer := newSigner(w.t)
	line := string(ssh.MarshalAuthorizedKey(signer.PublicKey()))
	if _, err := w.Keys.Create(w.t.Context(), u.Actor(), sshkey.Input{Title: name, Key: line}); err != nil {
		w.t.Fatal(err)
	}
	return signer
}

func newSigner(t *testing.T) ssh.Signer {
	t.Helper()
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	signer, err := ssh.NewSignerFromKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return signer
}

func (w *world) dial(methods ...ssh.AuthMethod) (*ssh.Client, error) {
	return ssh.Dial("tcp", w.address, &ssh.ClientConfig{
		User: "git", Auth: methods, HostKeyCallback: ssh.InsecureIgnoreHostKey(), Timeout: 10 * time.Second,
	})
}

// connect is dial for those who are let in.
func (w *world) connect(signers ...ssh.Signer) *ssh.Client {
	w.t.Helper()
	client, err := w.dial(ssh.PublicKeys(signers...))
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = client.Close() })
	return client
}

// greeting asks a connection who it is.
func greeting(client *ssh.Client) (string, error) {
	session, err := client.NewSession()
	if err != nil {
		return "", err
	}
	defer func() { _ = session.Close() }()
	var out, problem bytes.Buffer
	session.Stdout, session.Stderr = &out, &problem
	if err := session.Shell(); err != nil {
		return "", err
	}
	if err := session.Wait(); err != nil {
		return "", errors.Join(err, errors.New(problem.String()))
	}
	return strings.TrimSpace(out.String()), nil
}

// mask is a key that shows a victim's public key when the client asks whether it would be
// taken, and the attacker's own from the proof on.
type mask struct {
	ssh.Signer
	victim ssh.PublicKey
	shown  int
}

// PublicKey returns the changing key.
func (m *mask) PublicKey() ssh.PublicKey { return maskedKey{m.Signer.PublicKey(), m} }

type maskedKey struct {
	ssh.PublicKey
	m *mask
}

// Marshal returns the victim's key for the question and for the look at its answer.
func (k maskedKey) Marshal() []byte {
	if k.m.shown++; k.m.shown <= 2 {
		return k.m.victim.Marshal()
	}
	return k.PublicKey.Marshal()
}

// TestServer_offeredKey is CVE-2024-45337: a client may ask about any key before it proves
// one. A caller who shows the key of a victim first must not become the victim.
func TestServer_offeredKey(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		w := newWorld(t, d, nil)
		victim, attacker := w.person("victim"), w.person("attacker")
		m := &mask{Signer: attacker, victim: victim.PublicKey()}
		if got, err := greeting(w.connect(m)); err != nil || got != "Welcome to GitLab, @attacker!" {
			t.Errorf("got %q, %v, want the attacker's own name", got, err)
		}
		if m.shown < 3 {
			t.Errorf("the key was shown %d times, want the victim's twice and then the proof's", m.shown)
		}
		nobody := &mask{Signer: newSigner(t), victim: victim.PublicKey()}
		if client, err := w.dial(ssh.PublicKeys(nobody)); err == nil {
			_ = client.Close()
			t.Error("got in with a key that nobody has, after showing one that somebody has")
		}
		if got, err := greeting(w.connect(newSigner(t), attacker, victim)); err != nil || got != "Welcome to GitLab, @attacker!" {
			t.Errorf("got %q, %v, want the one whose key came first", got, err)
		}
	})
}

func TestServer_signOn(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		w := newWorld(t, d, nil)
		ann := w.person("ann")
		for name, methods := range map[string][]ssh.AuthMethod{
			"unknown key": {ssh.PublicKeys(newSigner(t))},
			"password":    {ssh.Password("Staple-battery-77")},
			"keyboard": {ssh.KeyboardInteractive(func(string, string, []string, []bool) ([]string, error) {
				return []string{"Staple-battery-77"}, nil
			})},
			"nothing": nil,
		} {
			client, err := w.dial(methods...)
			if err == nil {
				_ = client.Close()
				t.Errorf("%s: got in", name)
			} else if strings.Contains(err.Error(), "password") || strings.Contains(err.Error(), "keyboard") {
				t.Errorf("%s: got %v, want no other method than publickey tried", name, err)
			}
		}
		// Too many keys: the connection ends before the right one is looked at.
		var many []ssh.Signer
		for range 6 {
			many = append(many, newSigner(t))
		}
		if client, err := w.dial(ssh.PublicKeys(append(many, ann)...)); err == nil {
			_ = client.Close()
			t.Error("got in with the seventh key")
		}

		// One connection outlives the block of its user, and then does nothing any more.
		client := w.connect(ann)
		if got, err := greeting(client); err != nil || got != "Welcome to GitLab, @ann!" {
			t.Fatalf("got %q, %v", got, err)
		}
		as, err := w.accounts.ActorFor(t.Context(), "ann")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.accounts.Block(t.Context(), authz.System(), as.UserID); err != nil {
			t.Fatal(err)
		}
		if got, err := greeting(client); err == nil || !strings.Contains(err.Error(), "remote: ERROR: Your account has been blocked.") {
			t.Errorf("got %q, %v, want the block to hold at once", got, err)
		}
	})
}

func TestServer_sessions(t *testing.T) {
	t.Parallel()
	w := newWorld(t, dbtest.Open(t, false), nil)
	client := w.connect(w.person("ann"))
	for _, kind := range []string{"direct-tcpip", "x11", "forwarded-tcpip", "auth-agent@openssh.com"} {
		if _, _, err := client.OpenChannel(kind, nil); err == nil {
			t.Errorf("a channel of type %s was opened", kind)
		}
	}
	if ok, _, err := client.SendRequest("tcpip-forward", true, ssh.Marshal(struct {
		Address string
		Port    uint32
	}{"127.0.0.1", 0})); err != nil || ok {
		t.Errorf("forwarding: got %v, %v, want a refusal", ok, err)
	}
	channel, requests, err := client.OpenChannel("session", nil)
	if err != nil {
		t.Fatal(err)
	}
	go ssh.DiscardRequests(requests)
	for _, r := range []struct {
		kind    string
		payload []byte
		want    bool
	}{
		{"pty-req", nil, false},
		{"x11-req", nil, false},
		{"auth-agent-req@openssh.com", nil, false},
		{"subsystem", ssh.Marshal(struct{ Name string }{"sftp"}), false},
		{"env", ssh.Marshal(struct{ Name, Value string }{"LD_PRELOAD", "/tmp/x.so"}), false},
		{"env", ssh.Marshal(struct{ Name, Value string }{"GIT_PROTOCOL", "version=2"}), true},
		{"env", []byte{1}, false},
		{"exec", []byte{1}, false},
		{"exec", ssh.Marshal(struct{ Command string }{"discover"}), true},
	} {
		if ok, err := channel.SendRequest(r.kind, true, r.payload); err != nil || ok != r.want {
			t.Errorf("%s: got %v, %v, want %v", r.kind, ok, err, r.want)
		}
	}
	if out, err := io.ReadAll(channel); err != nil || string(out) != "Welcome to GitLab, @ann!\n" {
		t.Errorf("got %q, %v", out, err)
	}
}

func TestServer_perAddress(t *testing.T) {
	t.Parallel()
	w := newWorld(t, dbtest.Open(t, false), func(d *Deps) { d.PerAddress = 2 })
	ann := w.person("ann")
	first, second := w.connect(ann), w.connect(ann)
	if client, err := w.dial(ssh.PublicKeys(ann)); err == nil {
		_ = client.Close()
		t.Error("a third connection was let in")
	}
	if _, err := greeting(second); err != nil {
		t.Errorf("those who are in: %v", err)
	}
	_ = first.Close()
	deadline := time.Now().Add(10 * time.Second)
	for {
		client, err := w.dial(ssh.PublicKeys(ann))
		if err == nil {
			_ = client.Close()
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("no place became free: %v", err)
		}
	}
}

func TestServer_silence(t *testing.T) {
	t.Parallel()
	w := newWorld(t, dbtest.Open(t, false), func(d *Deps) { d.SignOnTime = 100 * time.Millisecond })
	silent, err := net.Dial("tcp", w.address)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = silent.Close() }()
	if err := silent.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadAll(silent); err != nil { // the server's version, then the end
		t.Errorf("a connection that says nothing: got %v, want it closed", err)
	}
	w = newWorld(t, dbtest.Open(t, false), func(d *Deps) { d.RestingTime = 100 * time.Millisecond })
	client := w.connect(w.person("ann"))
	done := make(chan error, 1)
	go func() { done <- client.Wait() }()
	select {
	case <-done:
	case <-time.After(time.Minute):
		t.Error("a connection that does nothing stays")
	}
}

func TestServer_Shutdown(t *testing.T) {
	t.Parallel()
	begun, release := make(chan struct{}), make(chan struct{})
	w := newWorld(t, dbtest.Open(t, false), func(d *Deps) {
		d.Busy = func() func() {
			close(begun)
			<-release
			return func() {}
		}
	})
	ann := w.person("ann")
	client, idle := w.connect(ann), w.connect(ann)
	answer := make(chan string, 1)
	go func() {
		got, err := greeting(client)
		answer <- got
		if err != nil {
			t.Error(err)
		}
		_ = client.Close()
	}()
	<-begun
	stopped := make(chan struct{})
	go func() {
		w.Shutdown(context.Background())
		close(stopped)
	}()
	_ = idle.Wait() // those that run nothing are sent away
	if client, err := w.dial(ssh.PublicKeys(ann)); err == nil {
		_ = client.Close()
		t.Error("a connection was let in after the end began")
	}
	select {
	case <-stopped:
		t.Error("the server stopped although a command runs")
	default:
	}
	close(release)
	if got := <-answer; got != "Welcome to GitLab, @ann!" {
		t.Errorf("got %q, want the command finished", got)
	}
	<-stopped
}

func TestHostKeys(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first, late, err := hostKeys(dir)
	if err != nil || len(first) != 2 || !late {
		t.Fatalf("got %d keys, late %v, %v, want two at once", len(first), late, err)
	}
	if _, err := makeHostKey(dir, keyRSA); err != nil {
		t.Fatal(err)
	}
	second, late, err := hostKeys(dir)
	if err != nil || len(second) != 3 || late {
		t.Fatalf("got %d keys, late %v, %v, want three", len(second), late, err)
	}
	for i, signer := range first {
		if ssh.FingerprintSHA256(signer.PublicKey()) != ssh.FingerprintSHA256(second[i].PublicKey()) {
			t.Errorf("key %d is another one after a restart", i)
		}
	}
	for _, kind := range []string{keyED25519, keyECDSA, keyRSA} {
		info, err := os.Stat(hostKeyFile(dir, kind))
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: got %v, %v, want mode 0600", kind, info, err)
		}
	}
	if err := os.WriteFile(hostKeyFile(dir, keyECDSA), []byte("rubbish"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := hostKeys(dir); err == nil || !strings.Contains(err.Error(), "ssh_host_ecdsa_key") {
		t.Errorf("got %v, want the file named that is broken", err)
	}
}

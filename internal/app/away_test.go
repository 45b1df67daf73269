package app

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"database/sql"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/crypto/ssh"

	"tenon/internal/base/db/dbtest"
	"tenon/internal/core/session"
	"tenon/internal/transport/httpkit"
	"tenon/internal/transport/rest/api"
)

// knock asks a server in every way that needs its database; each answer is a status, what
// it says and how long to wait.
type knock struct {
	name, method, path, body string
	header                   map[string]string
}

func knocks() []knock {
	basic := map[string]string{"Authorization": basicAuth("root", rootToken)}
	lfs := map[string]string{"Authorization": basicAuth("root", rootToken), "Content-Type": "application/vnd.git-lfs+json"}
	private := map[string]string{"Private-Token": rootToken}
	return []knock{
		{"list", "GET", api.Prefix + "/projects", "", private},
		{"list, nobody signed in", "GET", api.Prefix + "/projects", "", nil},
		{"one project", "GET", api.Prefix + "/projects/root%2Fapp", "", private},
		{"a file", "GET", api.Prefix + "/projects/root%2Fapp/repository/files/README.md/raw?ref=main", "", private},
		{"clone", "GET", "/root/app.git/info/refs?service=git-upload-pack", "", basic},
		{"clone, nobody signed in", "GET", "/root/app.git/info/refs?service=git-upload-pack", "", nil},
		{"push", "GET", "/root/app.git/info/refs?service=git-receive-pack", "", basic},
		{"LFS", "POST", "/root/app.git/info/lfs/objects/batch", `{"operation":"download","objects":[{"oid":"` + strings.Repeat("a", 64) + `","size":1}]}`, lfs},
		{"page", "GET", "/root/app", "", private},
	}
}

func basicAuth(user, password string) string {
	r := &http.Request{Header: http.Header{}}
	r.SetBasicAuth(user, password)
	return r.Header.Get("Authorization")
}

func (k knock) on(ctx context.Context, h http.Handler) *httptest.ResponseRecorder {
	r := httptest.NewRequestWithContext(ctx, k.method, k.path, strings.NewReader(k.body))
	for name, value := range k.header {
		r.Header.Set(name, value)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// away checks that an answer says that the database is not available, and nothing of why.
func away(t *testing.T, name string, w *httptest.ResponseRecorder) {
	t.Helper()
	if w.Code != http.StatusServiceUnavailable || w.Header().Get("Retry-After") == "" {
		t.Errorf("%s: got %d, Retry-After %q, %.300s; want 503 that says when to try again", name, w.Code, w.Header().Get("Retry-After"), w.Body)
	}
	for _, secret := range []string{"127.0.0.1", "SQLITE", "pgx", "dial", "EOF", "postgres"} {
		if strings.Contains(w.Body.String(), secret) {
			t.Errorf("%s: the answer says %q: %s", name, secret, w.Body)
		}
	}
}

// TestAway_postgres takes the database away from a server and brings it back.
func TestAway_postgres(t *testing.T) {
	t.Parallel()
	proxy := dbtest.NewProxy(t, dbtest.PostgresURL(t))
	a, client := newSSHOn(t, proxy.URL, nil)
	key, _, err := a.core.Sessions.SignOn(t.Context(), "root", rootPassword, session.Client{Address: "192.0.2.1"})
	if err != nil {
		t.Fatal(err)
	}
	cookie := map[string]string{"Cookie": httpkit.SessionCookie + "=" + key}
	all := append(knocks(),
		knock{"page of a session", "GET", "/-/profile", "", cookie},
		knock{"API with a session", "GET", api.Prefix + "/user", "", cookie},
		knock{"page without data, of a session", "GET", "/help", "", cookie},
		knock{"page without data, of a token", "GET", "/help", "", map[string]string{"Private-Token": rootToken + "x"}},
	)
	for _, k := range all {
		if w := k.on(t.Context(), a.http.Handler); w.Code != http.StatusOK && (k.name != "clone, nobody signed in" || w.Code != http.StatusUnauthorized) {
			t.Fatalf("%s before: got %d %.300s", k.name, w.Code, w.Body)
		}
	}
	proxy.Cut()
	for _, k := range all {
		away(t, k.name, k.on(t.Context(), a.http.Handler))
	}
	write := knock{"write", "POST", api.Prefix + "/projects", "name=more", map[string]string{"Private-Token": rootToken, "Content-Type": "application/x-www-form-urlencoded"}}
	away(t, write.name, write.on(t.Context(), a.http.Handler))
	if said := overSSH(t, client); !strings.Contains(said, "database is not available") {
		t.Errorf("git over SSH: the client is told %q", said)
	}
	if said := banner(t, a.SSHAddress()); !strings.Contains(said, "database is not available") {
		t.Errorf("a new connection of git over SSH: the client is told %q", said)
	}
	ready := knock{"readiness", "GET", "/-/readiness", "", nil}
	if w := ready.on(t.Context(), a.http.Handler); w.Code != http.StatusServiceUnavailable {
		t.Errorf("readiness: got %d, want 503", w.Code)
	}
	each := knock{"readiness", "GET", "/-/readiness?all=1", "", nil}
	if w := each.on(t.Context(), a.http.Handler); w.Code != http.StatusServiceUnavailable || strings.TrimSpace(w.Body.String()) !=
		`{"data_check":[{"status":"ok"}],"db_check":[{"status":"failed"}],"master_check":[{"status":"failed"}],"queues_check":[{"status":"failed"}],"status":"failed"}` {
		t.Errorf("readiness: got %d %s", w.Code, w.Body)
	}

	proxy.Restore()
	for _, k := range append(all, ready) {
		if w := k.on(t.Context(), a.http.Handler); w.Code != http.StatusOK && (k.name != "clone, nobody signed in" || w.Code != http.StatusUnauthorized) {
			t.Errorf("%s after: got %d %.300s", k.name, w.Code, w.Body)
		}
	}
	if w := write.on(t.Context(), a.http.Handler); w.Code != http.StatusCreated {
		t.Errorf("write after: got %d %.300s", w.Code, w.Body)
	}
	if said := overSSH(t, client); said != "" {
		t.Errorf("git over SSH after: the client is told %q", said)
	}
}

// overSSH asks for the references of a project and returns what the client is told beside them.
func overSSH(t *testing.T, client *ssh.Client) string {
	t.Helper()
	run, err := client.NewSession()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = run.Close() }()
	var said bytes.Buffer
	run.Stdin, run.Stdout, run.Stderr = strings.NewReader("0000"), io.Discard, &said
	if err := run.Run("git-upload-pack 'root/app.git'"); err != nil && said.Len() == 0 {
		t.Errorf("git over SSH: %v, and nothing was said", err)
	}
	return said.String()
}

// banner returns what a client is told that cannot sign on.
func banner(t *testing.T, address string) string {
	t.Helper()
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	signer, err := ssh.NewSignerFromKey(private)
	if err != nil {
		t.Fatal(err)
	}
	said := ""
	client, err := ssh.Dial("tcp", address, &ssh.ClientConfig{
		User: "git", Auth: []ssh.AuthMethod{ssh.PublicKeys(signer)}, HostKeyCallback: ssh.InsecureIgnoreHostKey(),
		BannerCallback: func(message string) error { said += message; return nil },
	})
	if err == nil {
		_ = client.Close()
		t.Error("a key that nobody knows signs on")
	}
	return said
}

// TestAway_locked has another program lock the file of SQLite: who writes is told to come
// again, who reads is served.
func TestAway_locked(t *testing.T) {
	t.Parallel()
	s := newServer(t, "")
	s.do("admin", "POST", "/projects", map[string]any{"name": "app"})
	other, err := sql.Open("sqlite", "file:"+filepath.Join(s.data, "tenon.db")+"?_txlock=exclusive")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = other.Close() })
	lock, err := other.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	write := request{as: "admin", method: "POST", path: "/projects", body: map[string]any{"name": "more"}}
	away(t, "write", s.send(t.Context(), write))
	if w := s.send(t.Context(), request{as: "admin", method: "GET", path: "/projects/root%2Fapp"}); w.Code != http.StatusOK {
		t.Errorf("read: got %d %s", w.Code, w.Body)
	}
	if err := lock.Rollback(); err != nil {
		t.Fatal(err)
	}
	if w := s.send(t.Context(), write); w.Code != http.StatusCreated {
		t.Errorf("write after: got %d %s", w.Code, w.Body)
	}
}

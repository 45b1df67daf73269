// Package deploy tries what is in the folder deploy with the programs that it is for.
package deploy

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"tenon/test/form"
	"tenon/test/servertest"
)

// needs skips the test where a program is missing.
func needs(t *testing.T, programs ...string) {
	t.Helper()
	for _, program := range programs {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("%s: skipped (not installed)", program)
		}
	}
}

// site returns a file of the folder deploy with some texts replaced, that must all occur.
func site(t *testing.T, name string, pairs ...string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("../../deploy", name))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(pairs); i += 2 {
		if !strings.Contains(string(text), pairs[i]) {
			t.Fatalf("%s does not say %q", name, pairs[i])
		}
	}
	return strings.NewReplacer(pairs...).Replace(string(text))
}

func write(t *testing.T, name, text string) string {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// background runs a program until the test ends.
func background(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	var log bytes.Buffer
	cmd.Stdout, cmd.Stderr = &log, &log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
			t.Error(err)
		}
		_ = cmd.Wait() // it was told to end
		if t.Failed() {
			t.Logf("%s said:\n%s", cmd.Path, log.String())
		}
	})
}

// free returns an address that was free a moment ago.
func free(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	return l.Addr().String()
}

// certificate makes one for 127.0.0.1 that signs itself.
func certificate(t *testing.T, dir string) (cert, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	form := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "127.0.0.1"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
	}
	public, err := x509.CreateCertificate(rand.Reader, form, form, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	encode := func(kind string, b []byte) string {
		return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: b}))
	}
	return write(t, filepath.Join(dir, "cert.pem"), encode("CERTIFICATE", public)), write(t, filepath.Join(dir, "key.pem"), encode("PRIVATE KEY", secret))
}

// upstream starts a server that users reach by another address, and returns its own.
func upstream(t *testing.T, external string) string {
	t.Helper()
	s := servertest.Start(t, "", "--external-url", external, "--trusted-proxies", "127.0.0.1/32")
	return strings.TrimPrefix(s.URL, "http://")
}

// TestNginx runs deploy/nginx.conf with TLS on free ports.
func TestNginx(t *testing.T) {
	t.Parallel()
	needs(t, "nginx", "git")
	dir := t.TempDir()
	plainAt, at := free(t), free(t)
	cert, key := certificate(t, dir)
	write(t, filepath.Join(dir, "site.conf"), site(t, "nginx.conf",
		"    listen 80;\n", "    listen "+plainAt+";\n", "    listen [::]:80;\n", "",
		"    listen 443 ssl;\n", "    listen "+at+" ssl;\n", "    listen [::]:443 ssl;\n", "",
		"/etc/ssl/tenon/fullchain.pem", cert, "/etc/ssl/tenon/key.pem", key,
		"127.0.0.1:8080;", upstream(t, "https://"+at)+";"))
	var temporary strings.Builder
	for _, kind := range []string{"client_body", "proxy", "fastcgi", "uwsgi", "scgi"} {
		fmt.Fprintf(&temporary, "%s_temp_path %s/%s;\n", kind, dir, kind)
	}
	conf := write(t, filepath.Join(dir, "nginx.conf"), "daemon off;\nmaster_process off;\npid "+dir+"/pid;\nerror_log stderr;\nevents {}\nhttp {\naccess_log off;\n"+
		temporary.String()+"include "+dir+"/site.conf;\n}\n")
	cmd := exec.Command("nginx", "-p", dir, "-e", "stderr", "-c", conf)
	background(t, cmd)

	roots := x509.NewCertPool()
	text, err := os.ReadFile(cert)
	if err != nil || !roots.AppendCertsFromPEM(text) {
		t.Fatalf("read certificate: %v", err)
	}
	p := &proxied{
		T: t, url: "https://" + at, env: []string{"GIT_SSL_CAINFO=" + cert},
		client: &http.Client{Timeout: time.Minute, Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}, ForceAttemptHTTP2: true}},
	}
	p.answers(at)
	p.check()
	redirect := &http.Client{Timeout: time.Minute, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	res, err := redirect.Get("http://" + plainAt + "/root/app%2Fb?x=%2F")
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	if got, want := res.Header.Get("Location"), "https://code.example.com/root/app%2Fb?x=%2F"; got != want {
		t.Errorf("plain HTTP leads to %q, want %q", got, want)
	}
}

// TestCaddy runs deploy/Caddyfile without TLS, for which Caddy would need a name.
func TestCaddy(t *testing.T) {
	t.Parallel()
	needs(t, "caddy", "git")
	dir := t.TempDir()
	at := free(t)
	name := write(t, filepath.Join(dir, "Caddyfile"), site(t, "Caddyfile",
		"{\n\tservers", "{\n\tadmin off\n\tservers", "\ncode.example.com {", "\nhttp://"+at+" {", "127.0.0.1:8080 {", upstream(t, "http://"+at)+" {"))
	cmd := exec.Command("caddy", "run", "--config", name, "--adapter", "caddyfile")
	cmd.Env = append(os.Environ(), "HOME="+dir, "XDG_DATA_HOME="+dir, "XDG_CONFIG_HOME="+dir)
	background(t, cmd)
	p := &proxied{T: t, url: "http://" + at, client: &http.Client{Timeout: time.Minute}}
	p.answers(at)
	p.check()
}

// proxied is a server behind a proxy.
type proxied struct {
	*testing.T
	url    string
	env    []string // of git
	client *http.Client
}

// answers waits until the port is open.
func (p *proxied) answers(address string) {
	p.Helper()
	ticks := time.NewTicker(10 * time.Millisecond)
	defer ticks.Stop()
	for range 3000 {
		if conn, err := net.Dial("tcp", address); err == nil {
			_ = conn.Close()
			return
		}
		<-ticks.C
	}
	p.Fatalf("nothing answers on %s", address)
}

// ask sends a request as root and returns the status and the answer.
func (p *proxied) ask(method, path, kind string, body io.Reader) (int, string) {
	p.Helper()
	req, err := http.NewRequestWithContext(p.Context(), method, p.url+path, body)
	if err != nil {
		p.Fatal(err)
	}
	req.Header.Set("Private-Token", servertest.RootToken)
	if kind != "" {
		req.Header.Set("Content-Type", kind)
	}
	res, err := p.client.Do(req)
	if err != nil {
		p.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		p.Fatalf("%s %s: %v", method, path, err)
	}
	return res.StatusCode, string(text)
}

func (p *proxied) run(dir string, args ...string) string {
	p.Helper()
	ctx, cancel := context.WithTimeout(p.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.WaitDelay = time.Second // for the helpers of git, which outlive it
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "HOME="+dir, "GIT_CONFIG_NOSYSTEM=1", "GIT_TERMINAL_PROMPT=0")
	cmd.Env = append(cmd.Env, p.env...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		p.Fatalf("git %q: %v\n%s", args, err, out)
	}
	return string(out)
}

// check does what proxies get wrong by default: a large push, a clone, paths with an
// encoded slash, an upload, and the page of metrics.
func (p *proxied) check() {
	p.Helper()
	status, text := p.ask("POST", "/api/v4/projects?name=app&visibility=public", "", nil)
	if want := `"http_url_to_repo":"` + p.url + `/root/app.git"`; status != http.StatusCreated || !strings.Contains(text, want) {
		p.Fatalf("make a project: %d %s, want 201 and %s", status, text, want)
	}
	big := make([]byte, 3<<20)
	_, _ = rand.Read(big)
	work := filepath.Join(p.TempDir(), "work")
	p.run(p.TempDir(), "init", "-q", "-b", "main", work)
	if err := os.Mkdir(filepath.Join(work, "dir"), 0o700); err != nil {
		p.Fatal(err)
	}
	write(p.T, filepath.Join(work, "dir", "big"), string(big))
	p.run(work, "add", ".")
	p.run(work, "-c", "user.name=Root", "-c", "user.email=admin@example.com", "commit", "-qm", "Three megabytes")
	p.run(work, "push", "-q", strings.Replace(p.url, "://", "://root:"+servertest.RootToken+"@", 1)+"/root/app.git", "main")

	clone := filepath.Join(p.TempDir(), "clone")
	p.run(p.TempDir(), "clone", "-q", p.url+"/root/app.git", clone)
	if got, err := os.ReadFile(filepath.Join(clone, "dir", "big")); err != nil || !bytes.Equal(got, big) {
		p.Errorf("the clone has %d bytes, %v, want the %d that were pushed", len(got), err, len(big))
	}
	if status, text := p.ask("GET", "/api/v4/projects/root%2Fapp", "", nil); status != http.StatusOK || !strings.Contains(text, `"path_with_namespace":"root/app"`) {
		p.Errorf("an encoded path: %d %s, want the project", status, text)
	}
	if status, text := p.ask("GET", "/api/v4/projects/root%2Fapp/repository/files/dir%2Fbig/raw?ref=main", "", nil); status != http.StatusOK || text != string(big) {
		p.Errorf("a file by its encoded path: %d and %d bytes, want 200 and %d", status, len(text), len(big))
	}

	body, kind := form.File(p, "file", "big.bin", big)
	if status, text := p.ask("POST", "/api/v4/projects/root%2Fapp/uploads", kind, bytes.NewReader(body)); status != http.StatusCreated || !strings.Contains(text, "big.bin") {
		p.Errorf("an upload: %d %s, want 201", status, text)
	}
	for _, path := range []string{"/-/metrics", "/-/metrics/", "/-//metrics", "//-/metrics", "/-/%6detrics", "/x/../-/metrics"} {
		if status, text := p.ask("GET", path, "", nil); status == http.StatusOK || strings.Contains(text, "tenon_") {
			p.Errorf("GET %s: %d with %d bytes, want it refused", path, status, len(text))
		}
	}
	if status, text := p.ask("GET", "/-/liveness", "", nil); status != http.StatusOK {
		p.Errorf("GET /-/liveness: %d %s, want 200", status, text)
	}
}

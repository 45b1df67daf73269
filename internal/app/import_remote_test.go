package app

import (
	"crypto/x509"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/minio/minio-go/v7/pkg/signer"

	"tenon/internal/base/config"
	"tenon/internal/core"
	"tenon/internal/core/importexport"
)

// archiveServer is another server, by TLS, which has an archive at /a.tar.gz and misbehaves elsewhere.
func archiveServer(t *testing.T, s *server, archive string) *httptest.Server {
	t.Helper()
	far, _ := waitingServer(t, s, archive)
	return far
}

// waitingServer is archiveServer with a channel that gets a word when /waits is asked for, and another one when its client has gone away.
func waitingServer(t *testing.T, s *server, archive string) (*httptest.Server, <-chan struct{}) {
	t.Helper()
	waits := make(chan struct{}, 2)
	far := httptest.NewTLSServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		send := func(kind string, length int) {
			rw.Header().Set("Content-Type", kind)
			rw.Header().Set("Content-Length", strconv.Itoa(length))
		}
		switch r.URL.Path {
		case "/a.tar.gz":
			send("application/gzip", len(archive))
			_, _ = rw.Write([]byte(archive))
		case "/x-gzip":
			send("application/x-gzip", len(archive))
			_, _ = rw.Write([]byte(archive))
		case "/page":
			send("text/html; charset=utf-8", 5)
		case "/empty":
			send("application/gzip", 0)
		case "/huge":
			send("application/gzip", 11<<30)
		case "/no-length":
			rw.Header().Set("Content-Type", "application/gzip")
			rw.(http.Flusher).Flush()
		case "/signed": // addresses that S3 has signed refuse HEAD
			if r.Method == http.MethodHead {
				rw.Header().Set("Server", "AmazonS3")
				rw.Header().Set("X-Amz-Request-Id", "1")
				rw.WriteHeader(http.StatusForbidden)
				return
			}
			_, _ = rw.Write([]byte(archive))
		case "/there":
			http.Redirect(rw, r, "/a.tar.gz", http.StatusFound)
		case "/plain":
			http.Redirect(rw, r, "http://127.0.0.1:1/a.tar.gz", http.StatusFound)
		case "/metadata":
			http.Redirect(rw, r, "https://169.254.169.254/a.tar.gz", http.StatusTemporaryRedirect)
		case "/breaks-off":
			send("application/gzip", len(archive)+10)
			_, _ = rw.Write([]byte(archive))
		case "/grows":
			if r.Method == http.MethodHead {
				send("application/gzip", 10)
				return
			}
			send("application/gzip", 3<<20)
			_, _ = rw.Write([]byte(strings.Repeat("x", 3<<20)))
		case "/waits":
			send("application/gzip", 10)
			if r.Method == http.MethodGet {
				rw.(http.Flusher).Flush()
				waits <- struct{}{}
				<-r.Context().Done()
				waits <- struct{}{}
			}
		case "/goes-away":
			if r.Method == http.MethodHead {
				send("application/gzip", 10)
				return
			}
			rw.WriteHeader(http.StatusServiceUnavailable)
		default:
			rw.WriteHeader(http.StatusNotFound)
		}
	}))
	t.Cleanup(far.Close)
	roots := x509.NewCertPool()
	roots.AddCert(far.Certificate())
	core.Part[*importexport.Service](s.core).Outbound.Roots = roots
	return far, waits
}

// An import ends with what it does at the moment when its project is deleted.
func TestImport_deleted(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, s *server) {
		s.once()
		s.set(obj{"allow_local_requests_from_web_hooks_and_services": true})
		far, waits := waitingServer(t, s, "")
		made := s.do("admin", "POST", "/projects/remote-import", obj{"path": "waits", "url": far.URL + "/waits"})
		drained := make(chan error, 1)
		go func() { drained <- s.jobs.Drain(t.Context()) }()
		<-waits
		if a := s.send(t.Context(), request{as: "admin", method: http.MethodDelete, path: "/projects/" + number(made, "id")}); a.Code != http.StatusAccepted {
			t.Fatalf("delete: %d %s", a.Code, a.Body)
		}
		<-waits // the client of the other server has gone away
		if err := <-drained; err != nil {
			t.Error(err)
		}
		if status := s.rows("SELECT import_status || ' ' || COALESCE(import_error, '') FROM projects WHERE id = " + number(made, "id")); len(status) > 0 &&
			status[0] != "failed The import was cancelled because the project is being deleted." {
			t.Errorf("status: %q", status)
		}
	})
}

// An archive on another server is imported once its headers are right. Each hop is within the rules of outbound requests; the address
// may hold a secret, and is stored sealed and forgotten (B1, B9, B16, A7 for the source of an import).
func TestImport_remote(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, s *server) {
		archive := pack(t, member("tree/project.json", `{"description":"Far"}`), member("tree/project/labels.ndjson", `{"title":"bug","color":"#5843AD"}`))
		far := archiveServer(t, s, archive)
		post := func(path, address string) *httptest.ResponseRecorder {
			return s.send(t.Context(), request{as: "admin", method: http.MethodPost, path: "/projects/remote-import", body: obj{"path": path, "url": address}})
		}
		if got := post("local", far.URL+"/a.tar.gz"); got.Code != 400 || !strings.Contains(got.Body.String(), "File url is blocked: Requests to loopback addresses are not allowed") {
			t.Errorf("a local address: %d %s", got.Code, got.Body)
		}
		s.set(obj{"allow_local_requests_from_web_hooks_and_services": true})
		for i, name := range []string{"/a.tar.gz?secret=s3cr3t", "/x-gzip", "/signed", "/there"} {
			made := s.do("admin", "POST", "/projects/remote-import", obj{"path": fmt.Sprint("p", i), "url": far.URL + name, "override_params": obj{"issues_enabled": false}})
			if made["import_status"] != "scheduled" || made["import_type"] != "gitlab_project" {
				t.Errorf("%s: %v", name, made)
			}
			if got := s.one("SELECT source FROM file_imports ORDER BY id DESC LIMIT 1"); got == "" || strings.Contains(got, "s3cr3t") || strings.Contains(got, "127.0.0.1") {
				t.Errorf("%s: the address is stored as %q", name, got)
			}
			_ = s.jobs.Drain(t.Context())
			status := s.do("admin", "GET", "/projects/"+number(made, "id")+"/import", nil)
			if status["import_status"] != "finished" || status["description"] != "Far" {
				t.Errorf("%s: %v\n%s", name, status, s.logs.last())
			}
		}
		if n := s.count("SELECT count(*) FROM file_imports WHERE source <> '' OR object <> ''"); n != 0 || strings.Contains(s.logs.String(), "s3cr3t") {
			t.Errorf("%d addresses are kept", n)
		}
		for name, want := range map[string]string{
			"/nowhere":   "Failed to retrieve headers: the server answered 404",
			"/page":      "Content type 'text/html; charset=utf-8' not allowed. (Allowed: application/gzip, application/x-tar, application/x-gzip)",
			"/empty":     "Content length is too small (should be at least 1 Byte)",
			"/no-length": "Content length is too small (should be at least 1 Byte)",
			"/huge":      "Content length is too big (should be at most 10 GiB)",
			"/plain":     "File url is blocked: Only allowed schemes are http, https",
			"/metadata":  "File url is blocked: Requests to the link local network are not allowed",
		} {
			if got := post("refused", far.URL+name); got.Code != 400 || !strings.Contains(got.Body.String(), want) {
				t.Errorf("%s: %d %s, want %s", name, got.Code, got.Body, want)
			}
		}
		for address, want := range map[string]string{
			"http://example.com/a.gz":      "File url is blocked: Only allowed schemes are https",
			"file:///etc/passwd":           "File url is blocked: Only allowed schemes are https",
			"https://169.254.169.254/a":    "File url is blocked: Requests to the link local network are not allowed",
			"https://127.1/a":              "File url is blocked: Hostname or IP address invalid",
			"https://":                     "File url is blocked: URI is invalid",
			"https://127.0.0.1:1/a.tar.gz": "Failed to retrieve headers: ",
		} {
			if got := post("refused", address); got.Code != 400 || !strings.Contains(got.Body.String(), want) {
				t.Errorf("%s: %d %s, want %s", address, got.Code, got.Body, want)
			}
		}
		if n := s.count("SELECT count(*) FROM projects WHERE path = 'refused'"); n != 0 {
			t.Error("a project was made for an import that was refused")
		}
		s.set(obj{"max_import_remote_file_size": 1})
		for name, want := range map[string]string{
			"/breaks-off": "The archive could not be fetched: ",
			"/grows":      "The archive is too big (should be at most 1 MiB)",
			"/goes-away":  "The archive could not be fetched: the server answered 503",
		} {
			made := s.do("admin", "POST", "/projects/remote-import", obj{"path": name[1:], "url": far.URL + name})
			_ = s.jobs.Drain(t.Context())
			status := s.do("admin", "GET", "/projects/"+number(made, "id")+"/import", nil)
			if text, _ := status["import_error"].(string); status["import_status"] != "failed" || !strings.HasPrefix(text, want) {
				t.Errorf("%s: %v %v, want %s", name, status["import_status"], status["import_error"], want)
			}
		}
		s.set(obj{"import_sources": []string{"git"}})
		if got := post("off", far.URL+"/a.tar.gz"); got.Code != 403 || strings.TrimSpace(got.Body.String()) != `{"message":"403 Forbidden"}` {
			t.Errorf("where imports of archives are off: %d %s", got.Code, got.Body)
		}
	})
}

// The configuration turns both routes off.
func TestImport_remote_off(t *testing.T) {
	t.Parallel()
	s := newServer(t, "", func(c *config.Config) { c.Features = config.Features{NoRemoteImport: true, NoRemoteImportS3: true} })
	s.once()
	for path, body := range map[string]obj{
		"/projects/remote-import": {"path": "a", "url": "https://example.com/a.gz"},
		"/projects/remote-import-s3": {
			"path": "a", "region": "eu-west-1", "bucket_name": "moves", "file_key": "a.gz", "access_key_id": "a", "secret_access_key": "b",
		},
	} {
		for as, want := range map[string]int{"admin": 404, "": 401} {
			if got := s.send(t.Context(), request{as: as, method: http.MethodPost, path: path, body: body}); got.Code != want {
				t.Errorf("%s as %q: %d, want %d", path, as, got.Code, want)
			}
		}
	}
}

// An archive in a bucket is read with a signed request; the credentials are sealed and forgotten.
func TestImport_bucket(t *testing.T) {
	t.Parallel()
	s := newServer(t, "")
	s.once()
	archive := pack(t, member("tree/project.json", `{"description":"From a bucket"}`))
	var signed atomic.Int64
	store := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		again := r.Clone(r.Context())
		again.Header = http.Header{}
		for _, name := range strings.Split(between(r.Header.Get("Authorization"), "SignedHeaders=", ","), ";") {
			if name != "host" {
				again.Header[http.CanonicalHeaderKey(name)] = r.Header.Values(name)
			}
		}
		again.URL.Host, again.URL.Scheme = r.Host, "http"
		want := signer.SignV4(*again, "AKIA", "s3cr3t", "", "eu-west-1")
		if want.Header.Get("X-Amz-Date") != r.Header.Get("X-Amz-Date") { // the second has passed: the client asks again
			rw.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		if got := r.Header.Get("Authorization"); got == "" || got != want.Header.Get("Authorization") {
			rw.WriteHeader(http.StatusForbidden)
			return
		}
		signed.Add(1)
		if r.URL.Path != "/moves/one.tar.gz" {
			rw.WriteHeader(http.StatusNotFound)
			return
		}
		rw.Header().Set("Content-Type", "application/gzip")
		rw.Header().Set("Content-Length", strconv.Itoa(len(archive)))
		rw.Header().Set("Last-Modified", "Mon, 02 Jan 2023 03:04:05 GMT")
		rw.Header().Set("ETag", `"x"`)
		_, _ = rw.Write([]byte(archive))
	}))
	t.Cleanup(store.Close)
	at, err := url.Parse(store.URL)
	if err != nil {
		t.Fatal(err)
	}
	core.Part[*importexport.Service](s.core).Remote.Buckets = at
	body := func(path, key, secret string) obj {
		return obj{"path": path, "region": "eu-west-1", "bucket_name": "moves", "file_key": key, "access_key_id": "AKIA", "secret_access_key": secret}
	}
	post := func(b obj) string {
		a := s.send(t.Context(), request{as: "admin", method: http.MethodPost, path: "/projects/remote-import-s3", body: b})
		return strconv.Itoa(a.Code) + " " + strings.TrimSpace(a.Body.String())
	}
	if got := post(body("a", "one.tar.gz", "s3cr3t")); !strings.Contains(got, "Failed to open 'one.tar.gz' in 'moves': is blocked: Requests to loopback addresses are not allowed") {
		t.Errorf("a local store: %s", got)
	}
	s.set(obj{"allow_local_requests_from_web_hooks_and_services": true})
	made := s.do("admin", "POST", "/projects/remote-import-s3", body("a", "one.tar.gz", "s3cr3t"))
	if source := s.one("SELECT source FROM file_imports"); source == "" || strings.Contains(source, "s3cr3t") {
		t.Errorf("stored as %q", source)
	}
	_ = s.jobs.Drain(t.Context())
	if status := s.do("admin", "GET", "/projects/"+number(made, "id")+"/import", nil); status["import_status"] != "finished" || status["description"] != "From a bucket" {
		t.Errorf("status: %v\n%s", status, s.logs.last())
	}
	if signed.Load() < 2 || strings.Contains(s.logs.String(), "s3cr3t") {
		t.Errorf("%d signed requests", signed.Load())
	}
	if got := post(body("b", "two.tar.gz", "s3cr3t")); got != `400 {"message":"File not found 'two.tar.gz' in 'moves'"}` {
		t.Errorf("no such object: %s", got)
	}
	if got := post(body("b", "one.tar.gz", "another")); !strings.HasPrefix(got, `400 {"message":"Failed to open 'one.tar.gz' in 'moves': `) || strings.Contains(got, "another") {
		t.Errorf("another secret: %s", got)
	}
	for field, value := range map[string]string{"region": "evil.example/", "bucket_name": "../x", "file_key": strings.Repeat("k", 1025), "access_key_id": ""} {
		b := body("b", "one.tar.gz", "s3cr3t")
		b[field] = value
		if got := post(b); !strings.HasPrefix(got, "400 ") {
			t.Errorf("%s %q: %s", field, value, got)
		}
	}
}

// between is the part of a text after one word and before another.
func between(text, from, to string) string {
	_, text, _ = strings.Cut(text, from)
	text, _, _ = strings.Cut(text, to)
	return text
}

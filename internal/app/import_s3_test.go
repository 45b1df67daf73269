package app

import (
	"bytes"
	"context"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"

	"tenon/internal/core"
	"tenon/internal/core/importexport"
)

// bucketServer starts versitygw, a server of S3, with an empty bucket, and returns its address and a client. test/setup.sh builds it.
func bucketServer(t *testing.T, bucket string) (*url.URL, *minio.Client) {
	t.Helper()
	program, err := filepath.Abs("../../.tools/versitygw-v1.8.0/versitygw")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(program); err != nil {
		if os.Getenv("TENON_TEST_CLIENTS") == "must" {
			t.Fatal("versitygw: not installed, and the tests of .ci/run need it: make setup builds it")
		}
		t.Skip("versitygw: skipped (not installed; make setup builds it)")
	}
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	data, aside := t.TempDir(), t.TempDir()
	var log bytes.Buffer
	c := exec.Command(program, "--access", "AKIA", "--secret", "s3cr3t", "--region", "eu-west-1", "--port", address, "posix", "--sidecar", aside, data)
	c.Dir, c.Stdout, c.Stderr = t.TempDir(), &log, &log
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = c.Process.Kill()
		_ = c.Wait()
		if t.Failed() {
			t.Logf("versitygw: %.2000s", log.String())
		}
	})
	client, err := minio.New(address, &minio.Options{Creds: credentials.NewStaticV4("AKIA", "s3cr3t", ""), Region: "eu-west-1", MaxRetries: 1})
	if err != nil {
		t.Fatal(err)
	}
	limited, end := context.WithTimeout(t.Context(), 30*time.Second)
	defer end()
	for every := time.NewTicker(50 * time.Millisecond); ; {
		if err = client.MakeBucket(limited, bucket, minio.MakeBucketOptions{Region: "eu-west-1"}); err == nil {
			return &url.URL{Scheme: "http", Host: address}, client
		}
		select {
		case <-limited.Done():
			t.Fatalf("versitygw does not answer: %v", err)
		case <-every.C:
		}
	}
}

// An archive goes to a bucket by an address that is signed for it, and comes from there by remote-import-s3. A signature that is not right ends
// either with the reason.
func TestImport_versitygw(t *testing.T) {
	t.Parallel()
	at, client := bucketServer(t, "moves")
	s := newServer(t, "")
	s.once()
	s.set(obj{"allow_local_requests_from_web_hooks_and_services": true})
	core.Part[*importexport.Service](s.core).Remote.Buckets = at
	project := number(s.do("admin", "POST", "/projects", obj{"name": "app", "initialize_with_readme": true, "description": "To a bucket"}), "id")
	s.do("admin", "POST", "/projects/"+project+"/labels", obj{"name": "bug", "color": "#ff0000"})
	signed, err := client.PresignedPutObject(t.Context(), "moves", "group/one.tar.gz", time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	upload := func(address string) {
		t.Helper()
		s.do("admin", "POST", "/projects/"+project+"/export", obj{"upload": obj{"url": address}})
		if err := s.jobs.Drain(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	upload(signed.String())
	there, err := client.StatObject(t.Context(), "moves", "group/one.tar.gz", minio.StatObjectOptions{})
	if err != nil || there.ContentType != "application/gzip" || there.Size == 0 {
		t.Fatalf("the object: %+v %v\n%s", there, err, s.logs.last())
	}
	if got := s.do("admin", "GET", "/projects/"+project+"/export", nil)["export_status"]; got != "finished" {
		t.Errorf("export: %v", got)
	}
	body := func(path, key, secret string) obj {
		return obj{"path": path, "region": "eu-west-1", "bucket_name": "moves", "file_key": key, "access_key_id": "AKIA", "secret_access_key": secret}
	}
	made := s.do("admin", "POST", "/projects/remote-import-s3", body("back", "group/one.tar.gz", "s3cr3t"))
	if err := s.jobs.Drain(t.Context()); err != nil {
		t.Fatal(err)
	}
	status := s.do("admin", "GET", "/projects/"+number(made, "id")+"/import", nil)
	if status["import_status"] != "finished" || status["description"] != "To a bucket" || len(s.list("admin", "/projects/"+number(made, "id")+"/labels")) != 1 {
		t.Errorf("import: %v\n%s", status, s.logs.last())
	}
	for key, tt := range map[string]struct{ secret, want string }{
		"group/two.tar.gz": {"s3cr3t", "File not found 'group/two.tar.gz' in 'moves'"}, "group/one.tar.gz": {"an0ther", "Failed to open 'group/one.tar.gz' in 'moves': "},
	} {
		a := s.send(t.Context(), request{as: "admin", method: http.MethodPost, path: "/projects/remote-import-s3", body: body("refused", key, tt.secret)})
		if a.Code != http.StatusBadRequest || !strings.Contains(a.Body.String(), tt.want) || strings.Contains(a.Body.String(), tt.secret) {
			t.Errorf("%s with %s: %d %s", key, tt.secret, a.Code, a.Body)
		}
	}
	wrong := *signed
	wrong.Path = "/moves/group/three.tar.gz" // another object than what the address is signed for
	upload(wrong.String())
	if got := s.one("SELECT error FROM exports WHERE status = 'failed'"); !strings.HasPrefix(got, "Error uploading the project. Code 403") {
		t.Errorf("with a wrong signature: %q", got)
	}
	if strings.Contains(s.logs.String(), "s3cr3t") || strings.Contains(s.logs.String(), "X-Amz-Signature=") {
		t.Error("a secret is in the log")
	}
}

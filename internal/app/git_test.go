package app

import (
	"bytes"
	"compress/gzip"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestGit_garbage sends bodies that no git client sends: they are the client's fault, so
// the answer is 400, the log holds no error, and the server goes on.
func TestGit_garbage(t *testing.T) {
	t.Parallel()
	s := newServer(t, "")
	s.do("admin", "POST", "/projects", obj{"name": "Shop", "visibility": "public", "initialize_with_readme": true})
	var packed bytes.Buffer
	zip := gzip.NewWriter(&packed)
	if _, err := zip.Write(bytes.Repeat([]byte("0032want "), 1000)); err != nil {
		t.Fatal(err)
	}
	if err := zip.Close(); err != nil {
		t.Fatal(err)
	}
	ask := func(service, protocol, encoding, body string) *httptest.ResponseRecorder {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/root/shop.git/git-"+service, strings.NewReader(body))
		r.SetBasicAuth("root", rootToken)
		r.Header.Set("Content-Type", "application/x-git-"+service+"-request")
		r.Header.Set("Content-Encoding", encoding)
		r.Header.Set("Git-Protocol", protocol)
		w := httptest.NewRecorder()
		s.http.Handler.ServeHTTP(w, r)
		return w
	}
	for _, tt := range []struct {
		name, service, protocol, encoding, body string
	}{
		{"words to upload-pack", "upload-pack", "", "", "garbage"},
		{"words to receive-pack", "receive-pack", "", "", "garbage"},
		{"words to version 2", "upload-pack", "version=2", "", "garbage"},
		{"nothing to upload-pack", "upload-pack", "", "", ""},
		{"nothing to receive-pack", "receive-pack", "", "", ""},
		{"half a line", "receive-pack", "", "", "0010"},
		{"a command that is none", "upload-pack", "version=2", "", "0013command=nosuch0000"},
		{"words for gzip", "upload-pack", "", "gzip", "garbage"},
		{"half a gzip", "upload-pack", "", "gzip", packed.String()[:packed.Len()-12]},
		{"an encoding that is none", "upload-pack", "", "zap", "0000"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := ask(tt.service, tt.protocol, tt.encoding, tt.body); got.Code != http.StatusBadRequest {
				t.Errorf("got %d %q, want 400", got.Code, got.Body)
			}
		})
	}
	t.Cleanup(func() {
		if said := s.logs.last(); said != "" {
			t.Errorf("logged an error: %s", said)
		}
	})
}

// TestProject_readme makes a project with a README: the answer already names it.
func TestProject_readme(t *testing.T) {
	t.Parallel()
	s := newServer(t, "")
	made := s.do("admin", "POST", "/projects", obj{"name": "Shop", "initialize_with_readme": true})
	if got, _ := made["readme_url"].(string); !strings.HasSuffix(got, "/root/shop/-/blob/main/README.md") {
		t.Errorf("readme_url of the new project is %q, want the address of its README.md", got)
	}
}

// Programs in a job sign in to git under the name of jobs with whatever token they were given.
func TestGit_jobUser(t *testing.T) {
	t.Parallel()
	s := newServer(t, "")
	s.do("admin", "POST", "/projects", obj{"name": "Shop", "initialize_with_readme": true})
	for _, tt := range []struct {
		service, name, password string
		want                    int
	}{
		{"upload-pack", "gitlab-ci-token", rootToken, http.StatusOK},
		{"receive-pack", "gitlab-ci-token", rootToken, http.StatusOK},
		{"upload-pack", "root", rootToken, http.StatusOK},
		{"upload-pack", "gitlab-ci-token", "glpat-wrong", http.StatusUnauthorized},
		{"upload-pack", "gitlab-ci-token", "glcbt-wrong", http.StatusUnauthorized},
	} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/root/shop.git/info/refs?service=git-"+tt.service, nil)
		r.SetBasicAuth(tt.name, tt.password)
		w := httptest.NewRecorder()
		s.http.Handler.ServeHTTP(w, r)
		if w.Code != tt.want {
			t.Errorf("%s as %s with %s: got %d, want %d", tt.service, tt.name, tt.password, w.Code, tt.want)
		}
	}
}

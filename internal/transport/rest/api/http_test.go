package api_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"tenon/internal/core/authz"
	"tenon/internal/transport/rest/api"
)

func TestKit_headers(t *testing.T) {
	k := (&toy{}).kit()
	etag := regexp.MustCompile(`^W/"[0-9a-f]{32}"$`)
	got := call(t, k, "GET /version\nX-Request-Id: abc-1")
	want := map[string]string{
		"Content-Type": "application/json", "Cache-Control": "max-age=0, private, must-revalidate", "Vary": "Origin",
		"X-Frame-Options": "SAMEORIGIN", "X-Content-Type-Options": "nosniff", "X-Request-Id": "abc-1",
		"X-Gitlab-Meta": `{"correlation_id":"abc-1","version":"1"}`, "Content-Length": fmt.Sprint(got.Body.Len()),
		"Access-Control-Allow-Origin": "",
	}
	for name, value := range want {
		if h := got.Header().Get(name); h != value {
			t.Errorf("%s is %q, want %q", name, h, value)
		}
	}
	if h := got.Header().Get("ETag"); !etag.MatchString(h) {
		t.Errorf("ETag is %q", h)
	}
	if h := got.Header().Get("X-Runtime"); !regexp.MustCompile(`^0\.\d{6}$`).MatchString(h) {
		t.Errorf("X-Runtime is %q", h)
	}
	for _, request := range []string{"GET /nothing", "GET /user", "PUT /version", "GET /things/unknown/fail", "OPTIONS /version"} {
		got := call(t, k, request)
		for _, name := range []string{"X-Frame-Options", "X-Content-Type-Options", "Vary", "X-Request-Id", "X-Gitlab-Meta", "X-Runtime"} {
			if got.Header().Get(name) == "" {
				t.Errorf("%s: no %s", request, name)
			}
		}
		if h := got.Header().Get("ETag"); h != "" {
			t.Errorf("%s: an error has the ETag %s", request, h)
		}
	}
}

func TestKit_requestID(t *testing.T) {
	k := (&toy{}).kit()
	for given, kept := range map[string]bool{
		"01HX_a.b-c": true, "": false, "a b": false, `a"b`: false, "ä": false, strings.Repeat("a", 129): false, strings.Repeat("a", 128): true,
	} {
		got := call(t, k, "GET /version\nX-Request-Id: "+given).Header().Get("X-Request-Id")
		if kept != (got == given) || got == "" {
			t.Errorf("%q gives %q, want it kept: %t", given, got, kept)
		}
	}
}

func TestKit_conditional(t *testing.T) {
	k := (&toy{}).kit()
	tag := call(t, k, "GET /version").Header().Get("ETag")
	other := call(t, k, "GET /things/1").Header().Get("ETag")
	if other == tag {
		t.Errorf("two bodies have the same tag %s", tag)
	}
	tests := []struct {
		header string
		status int
	}{
		{tag, 304},
		{strings.TrimPrefix(tag, "W/"), 304},
		{"*", 304},
		{`"x", ` + tag + `, "y"`, 304},
		{other, 200},
		{`"x"`, 200},
	}
	for _, tt := range tests {
		for _, method := range []string{"GET", "HEAD"} {
			got := call(t, k, method+" /version\nIf-None-Match: "+tt.header)
			if got.Code != tt.status {
				t.Errorf("%s with %s: got %d, want %d", method, tt.header, got.Code, tt.status)
			}
			if got.Header().Get("ETag") != tag {
				t.Errorf("%s with %s: ETag is %q, want %q", method, tt.header, got.Header().Get("ETag"), tag)
			}
			if got.Code == 304 && got.Body.Len() > 0 {
				t.Errorf("%s with %s: 304 has the body %s", method, tt.header, got.Body)
			}
		}
	}
	got := call(t, k, "POST /things\nPRIVATE-TOKEN: ann\nIf-None-Match: *\nContent-Type: application/json\n\n{\"name\":\"a\"}")
	if got.Code != 201 || got.Header().Get("ETag") == "" {
		t.Errorf("POST: got %d with ETag %q, want 201 with one", got.Code, got.Header().Get("ETag"))
	}
}

func TestKit_verbs(t *testing.T) {
	k := (&toy{}).kit()
	for _, tt := range []struct {
		request, allow string
		status         int
	}{
		{"OPTIONS /version", "OPTIONS, GET, HEAD", 204},
		{"OPTIONS /things/1", "OPTIONS, GET, HEAD, PUT, DELETE", 204},
		{"OPTIONS /things/1/fail", "OPTIONS, GET, HEAD, POST", 204},
		{"POST /version", "OPTIONS, GET, HEAD", 405},
		{"HEAD /limited", "OPTIONS, POST", 405},
		{"TRACE /version", "OPTIONS, GET, HEAD", 405},
		{"OPTIONS /nothing", "", 404},
	} {
		got := call(t, k, tt.request)
		if got.Code != tt.status || got.Header().Get("Allow") != tt.allow {
			t.Errorf("%s: got %d with Allow %q, want %d %q", tt.request, got.Code, got.Header().Get("Allow"), tt.status, tt.allow)
		}
	}
	get, head := call(t, k, "GET /version"), call(t, k, "HEAD /version")
	if head.Code != 200 || head.Body.Len() > 0 {
		t.Errorf("HEAD: got %d %s, want 200 without a body", head.Code, head.Body)
	}
	for _, name := range []string{"Content-Length", "ETag", "Content-Type"} {
		if head.Header().Get(name) != get.Header().Get(name) {
			t.Errorf("HEAD: %s is %q, GET has %q", name, head.Header().Get(name), get.Header().Get(name))
		}
	}
	got := call(t, k, "DELETE /things/1\nPRIVATE-TOKEN: ann")
	if got.Code != 204 || got.Body.Len() > 0 || got.Header().Get("Content-Type") != "" {
		t.Errorf("DELETE: got %d %q with Content-Type %q", got.Code, got.Body, got.Header().Get("Content-Type"))
	}
	patch := kitOf(api.Patch("/p", nothing[struct{}]).Status(202).Deprecated())
	if got := call(t, patch, "PATCH /p"); got.Code != 202 || !patch.Routes()[0].Deprecated {
		t.Errorf("PATCH: got %d, want 202 of a deprecated route", got.Code)
	}
	got = call(t, k, "GET /self\nPRIVATE-TOKEN: ann")
	if got.Code != 202 || got.Header().Get("X-Own") != "1" {
		t.Errorf("Reply: got %d with X-Own %q", got.Code, got.Header().Get("X-Own"))
	}
}

func TestKit_cors(t *testing.T) {
	k := (&toy{}).kit()
	got := call(t, k, "GET /version\nOrigin: https://example.org")
	for name, want := range map[string]string{
		"Access-Control-Allow-Origin": "*", "Access-Control-Allow-Credentials": "",
		"Access-Control-Expose-Headers": "Link, X-Total, X-Total-Pages, X-Per-Page, X-Page, X-Next-Page, X-Prev-Page, X-Gitlab-Blob-Id, X-Gitlab-Commit-Id, X-Gitlab-Content-Sha256, X-Gitlab-Encoding, X-Gitlab-File-Name, X-Gitlab-File-Path, X-Gitlab-Last-Commit-Id, X-Gitlab-Ref, X-Gitlab-Size, X-Request-Id, ETag",
	} {
		if h := got.Header().Get(name); h != want {
			t.Errorf("%s is %q, want %q", name, h, want)
		}
	}
	for _, path := range []string{"/user", "/nothing"} {
		got := call(t, k, "OPTIONS "+path+"\nOrigin: https://example.org\nAccess-Control-Request-Method: PUT\nAccess-Control-Request-Headers: private-token, x-y")
		if got.Code != 200 || got.Body.Len() > 0 {
			t.Errorf("preflight of %s: got %d %s", path, got.Code, got.Body)
		}
		if h := got.Header().Get("Access-Control-Allow-Headers"); h != "private-token, x-y" {
			t.Errorf("preflight of %s allows the headers %q", path, h)
		}
		if h := got.Header().Get("Access-Control-Allow-Methods"); !strings.Contains(h, "PUT") {
			t.Errorf("preflight of %s allows the methods %q", path, h)
		}
	}
}

func TestKit_unmodifiedSince(t *testing.T) {
	k := (&toy{}).kit()
	for header, want := range map[string]int{
		"":                              204,
		"nonsense":                      204,
		"Mon, 22 May 2023 10:11:12 GMT": 204,
		"Mon, 22 May 2023 10:11:11 GMT": 412,
		"2023-05-22T10:11:12.345Z":      204,
		"2023-05-22T10:11:12.344Z":      412,
		"2023-05-22":                    412,
		"2023-05-23":                    204,
	} {
		got := call(t, k, "DELETE /things/1\nPRIVATE-TOKEN: ann\nIf-Unmodified-Since: "+header)
		if got.Code != want {
			t.Errorf("%q: got %d %s, want %d", header, got.Code, got.Body, want)
		}
		if body := `{"message":"412 Precondition Failed"}`; want == 412 && got.Body.String() != body {
			t.Errorf("%q: got %s, want %s", header, got.Body, body)
		}
	}
}

func TestKit_observe(t *testing.T) {
	s := &toy{}
	k := s.kit()
	call(t, k, "GET /things/1")
	call(t, k, "GET /nothing")
	if len(s.seen) != 2 || s.seen[0].Route != "/things/:id" || s.seen[0].Status != 200 || s.seen[1].Route != "" || s.seen[1].Status != 404 {
		t.Errorf("observed %+v", s.seen)
	}
	if s.seen[0].Duration <= 0 || s.seen[0].Duration > time.Minute {
		t.Errorf("it took %v", s.seen[0].Duration)
	}
}

// breaking is a stream that fails after a few bytes.
type breaking struct{ sent bool }

func (b *breaking) Read(p []byte) (int, error) {
	if b.sent {
		return 0, errors.New("disk on fire")
	}
	b.sent = true
	return copy(p, "half"), nil
}

func (b *breaking) Close() error { return nil }

func TestKit_brokenStream(t *testing.T) {
	k := kitOf(api.Get("/p", func(context.Context, authz.Actor, struct{}) (api.Raw, error) {
		return api.Raw{Stream: &breaking{}}, nil
	}))
	server := httptest.NewServer(k)
	defer server.Close()
	got, err := server.Client().Get(server.URL + "/api/v4/p")
	if err == nil {
		_, err = io.ReadAll(got.Body)
		got.Body.Close()
	}
	if err == nil {
		t.Error("a broken stream looks like a whole one")
	}
}

func TestKit_clientGone(t *testing.T) {
	s := &toy{}
	k := s.kit()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r := httptest.NewRequest("GET", "/api/v4/things/cancelled/fail", nil).WithContext(ctx)
	k.ServeHTTP(httptest.NewRecorder(), r)
	if log := s.log.String(); strings.Contains(log, "ERROR") || !strings.Contains(log, `"status":499`) {
		t.Errorf("a client that went away is logged as\n%s", log)
	}
}

func TestKit_overTheWire(t *testing.T) {
	server := httptest.NewServer((&toy{}).kit())
	defer server.Close()
	got, err := server.Client().Get(server.URL + "/api/v4/things/a%2Fb%252e")
	if err != nil {
		t.Fatal(err)
	}
	defer got.Body.Close()
	body, err := io.ReadAll(got.Body)
	if want := `{"as":"","param":"a/b%2e"}`; err != nil || string(body) != want || got.ContentLength != int64(len(want)) {
		t.Errorf("got %s with length %d, %v, want %s", body, got.ContentLength, err, want)
	}
}

package api_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"tenon/internal/core/limit"
	"tenon/internal/core/setting"
	"tenon/internal/transport/rest/api"
)

// limitedKit has the limits that settings have by default, at a time that stands.
func limitedKit() *api.Kit { return (&toy{limits: standingLimits()}).kit() }

func standingLimits() *limit.Service {
	now := func() time.Time { return time.Date(2026, 11, 22, 10, 0, 30, 0, time.UTC) }
	return limit.New(limit.Deps{Settings: setting.New(nil, now), Now: now})
}

const tooMany = `{"message":{"error":"This endpoint has been requested too many times. Try again later."}}`

func wantHeaders(t *testing.T, h http.Header, want map[string]string) {
	t.Helper()
	for name, value := range want {
		if h.Get(name) != value {
			t.Errorf("%s is %q, want %q", name, h.Get(name), value)
		}
	}
}

func TestKit_limited(t *testing.T) {
	k := limitedKit()
	for i := range 300 {
		if got := call(t, k, "POST /limited\nPRIVATE-TOKEN: ann"); got.Code != 201 {
			t.Fatalf("call %d: got %d %s", i+1, got.Code, got.Body)
		}
	}
	got := call(t, k, "POST /limited\nPRIVATE-TOKEN: ann")
	if got.Code != 429 || got.Body.String() != tooMany {
		t.Errorf("one too many: got %d %s", got.Code, got.Body)
	}
	wantHeaders(t, got.Header(), map[string]string{
		"Content-Type": "application/json", "Retry-After": "60", "RateLimit-Name": "notes_create", "RateLimit-Limit": "300",
		"RateLimit-Observed": "301", "RateLimit-Remaining": "0", "RateLimit-Reset": "1795341660",
		"RateLimit-ResetTime": "Sun, 22 Nov 2026 10:01:00 GMT",
	})
	if got := call(t, k, "POST /limited\nPRIVATE-TOKEN: root"); got.Code != 201 {
		t.Errorf("another user: got %d %s", got.Code, got.Body)
	}
}

// A body that announces its size is refused before a byte of it is read; one that does
// not is counted when it has come.
func TestKit_limitedByBody(t *testing.T) {
	k := limitedKit()
	send := func(size int, announced bool, read *int) int {
		body := &counted{strings.NewReader(`{"text":"` + strings.Repeat("x", size) + `"}`), read}
		r := httptest.NewRequest(http.MethodPost, "/api/v4/large", body)
		r.ContentLength = -1
		if announced {
			r.ContentLength = int64(size + 11)
		}
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Private-Token", "ann")
		w := httptest.NewRecorder()
		k.ServeHTTP(w, r)
		return w.Code
	}
	var read int
	for i := range 5 {
		if got := send(1000, i%2 == 0, &read); got != 201 {
			t.Errorf("a small body: got %d", got)
		}
	}
	for i, announced := range []bool{true, false, true} {
		if got := send(limit.LargeBody, announced, &read); got != 201 {
			t.Errorf("large body %d: got %d", i+1, got)
		}
	}
	if got := send(limit.LargeBody, false, &read); got != 429 {
		t.Errorf("the fourth: got %d, want 429", got)
	}
	read = 0
	if got := send(limit.LargeBody, true, &read); got != 429 || read != 0 {
		t.Errorf("the fifth: got %d after %d bytes, want 429 after none", got, read)
	}
	if got := send(1000, true, &read); got != 201 {
		t.Errorf("a small body afterwards: got %d", got)
	}
}

type counted struct {
	io.Reader
	n *int
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	*c.n += n
	return n, err
}
